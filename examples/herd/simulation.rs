//! The model: a fleet of clients, a real [`RetryMachine`] for each of their calls, and a service that fails.
//!
//! # What happens
//!
//! At 0 s the service fails and the call that every client has open is answered 503, in the same instant, as by a gateway
//! that loses what is behind it. These attempts were made before, and are not counted; the budgets of their calls start
//! here. For 30 s every further attempt is answered 503 too. Then the service is back and answers a fixed number of
//! requests a second, one after the other. It lets a second's worth of work queue up; what comes on top of that is
//! answered 503. A client whose call ends, well or badly, pauses for a random time of up to a minute and makes the next
//! one: the usual load is a third of what the service can answer.
//!
//! # What is the same in all scenes
//!
//! Clients, service, seed and a patient policy: as many retries as a budget of 90 s has room for. With the default of two
//! retries, whatever their jitter, every call open at 0 s is lost within 1.5 s, and no herd is left to come back. The
//! rest of the policy is the default but for what a scene names. Retries without jitter come after 0.5, 1, 2, 4 and then
//! every 5 s. The jitter of 0.5 on a requested delay was chosen to fit: it spreads the fleet over the 10 s that the service
//! needs for it. Where it is smaller the load passes the capacity for a while. The quota is one of the default capacity for
//! each process of 1,000 clients.
//!
//! # What the model leaves out
//!
//! - The network. It adds some noise to every attempt, too little to matter here. But a failure that reaches the clients
//!   over 5 s, say, and not in an instant, finds a fleet that is spread already: then jitter gains nothing.
//! - The cost of a refusal. Here it is free, so that load in the outage does no harm and cannot prolong it. Where refusing
//!   costs the service something, scenes with many attempts do worse than shown, and a quota is worth more.
//! - Timeouts and half-failures. A service in trouble is often slow first, and attempts that time out have cost it work.
//! - A slow start. The service is back at full capacity at once, with no cold caches.
//! - Users. Nobody reloads a page because a call was lost, and nobody stays away.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use retry_machine::rand_core::Rng;
use retry_machine::{
    Decision, Event, PolicyError, RetryHeaders, RetryMachine, RetryOptions, RetryPolicy, RetryQuota, SeededRng,
};

/// One way for the fleet to retry.
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    /// What is to be seen, in one line.
    pub(crate) point: &'static str,
    policy: RetryPolicy,
    /// The `Retry-After` of every refusal.
    retry_after: Option<&'static str>,
    has_quota: bool,
}

impl Scene {
    /// The five scenes. Each differs from an earlier one in a single thing.
    pub(crate) fn all() -> Result<[Self; 5], PolicyError> {
        let patient = RetryOptions::default().max_retries(u32::MAX).budget(3 * OUTAGE);
        let jitter = RetryPolicy::new(patient)?;
        let no_jitter = jitter.merge(RetryOptions::default().backoff_jitter(0.0))?;
        let retry_after_jitter = jitter.merge(RetryOptions::default().retry_after_jitter(0.5))?;
        Ok([
            Self {
                name: "No jitter",
                point: "The fleet stays in step: the service is back, swamped for a moment and idle for seconds.",
                policy: no_jitter,
                retry_after: None,
                has_quota: false,
            },
            Self {
                name: "Default jitter",
                point: "The first waves are as high, but each retry flattens them: done in a third of the time.",
                policy: jitter.clone(),
                retry_after: None,
                has_quota: false,
            },
            Self {
                name: "Retry-After: 20",
                point: "Fewer attempts, but now the server keeps the fleet in step, and most calls run out of time.",
                policy: jitter.clone(),
                retry_after: Some("20"),
                has_quota: false,
            },
            Self {
                name: "Retry-After: 20, with retry_after_jitter",
                point: "Spread over 20 to 30 s, the fleet comes back about as fast as the service can answer.",
                policy: retry_after_jitter,
                retry_after: Some("20"),
                has_quota: false,
            },
            Self {
                name: "Default jitter, with a shared quota",
                point: "Nothing succeeds, so retries stop: no waves and nothing to recover from, at the price of lost calls.",
                policy: jitter,
                retry_after: None,
                has_quota: true,
            },
        ])
    }

    /// What comes of it for a fleet of `clients`, ten or more. Every draw follows from `seed`; `start` is when the outage
    /// begins, and any will do.
    pub(crate) fn run(&self, clients: u32, seed: u64, start: Instant) -> Outcome {
        let mut simulation = Simulation::new(self, clients, seed, start);
        while let Some(Reverse(entry)) = simulation.agenda.pop() {
            if entry.at >= LENGTH {
                break;
            }
            simulation.step(entry);
        }
        simulation.outcome
    }
}

/// What a scene comes to.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// The attempts made in each second, whatever they give.
    pub(crate) attempts: Vec<u32>,
    /// The attempts that succeed, by the second in which they are answered.
    pub(crate) answers: Vec<u32>,
    /// The calls that end in failure.
    pub(crate) calls_lost: u32,
    /// When the last attempt was made that is a retry or is refused.
    last_trouble: Duration,
}

impl Outcome {
    /// The attempts of the busiest second in the outage.
    pub(crate) fn peak_in_outage(&self) -> u32 {
        peak(&self.attempts[..OUTAGE.as_secs() as usize])
    }

    /// The attempts of the busiest second after the outage.
    pub(crate) fn peak_after_outage(&self) -> u32 {
        peak(&self.attempts[OUTAGE.as_secs() as usize..])
    }

    pub(crate) fn total_attempts(&self) -> u32 {
        self.attempts.iter().sum()
    }

    pub(crate) fn total_answers(&self) -> u32 {
        self.answers.iter().sum()
    }

    /// From the end of the outage to the last attempt that is a retry or is refused: from there on every call succeeds
    /// at once.
    pub(crate) fn time_to_recovery(&self) -> Duration {
        self.last_trouble.saturating_sub(OUTAGE)
    }
}

struct Simulation<'a> {
    scene: &'a Scene,
    start: Instant,
    rng: SeededRng,
    service: Service,
    /// One for each process; none in a scene without.
    quotas: Vec<Arc<RetryQuota>>,
    /// The current or latest call of each client.
    calls: Vec<RetryMachine>,
    agenda: BinaryHeap<Reverse<Entry>>,
    outcome: Outcome,
}

/// What a client does or is told next. A client has one entry at a time, so no two entries are equal.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Duration,
    client: usize,
    step: Step,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    StartCall,
    Attempt,
    Answer { status: u16 },
}

impl<'a> Simulation<'a> {
    /// The moment of the failure.
    fn new(scene: &'a Scene, clients: u32, seed: u64, start: Instant) -> Self {
        let processes = if scene.has_quota { clients.div_ceil(CLIENTS_PER_PROCESS) } else { 0 };
        let seconds = LENGTH.as_secs() as usize;
        let mut simulation = Self {
            scene,
            start,
            rng: SeededRng::new(seed),
            service: Service { capacity: capacity(clients), busy_until: Duration::ZERO },
            quotas: (0..processes).map(|_| Arc::default()).collect(),
            calls: Vec::new(),
            agenda: BinaryHeap::new(),
            outcome: Outcome { attempts: vec![0; seconds], answers: vec![0; seconds], ..Outcome::default() },
        };
        for client in 0..clients as usize {
            let call = simulation.new_call(client, Duration::ZERO);
            simulation.calls.push(call);
            simulation.plan(Duration::ZERO, client, Step::Answer { status: UNAVAILABLE });
        }
        simulation
    }

    fn step(&mut self, Entry { at, client, step }: Entry) {
        match step {
            Step::StartCall => {
                self.calls[client] = self.new_call(client, at);
                self.attempt(client, at);
            }
            Step::Attempt => self.attempt(client, at),
            Step::Answer { status } => self.answer(client, status, at),
        }
    }

    fn attempt(&mut self, client: usize, at: Duration) {
        let answer = self.service.accept(at);
        let is_retry = self.calls[client].retry_count() > 0;
        self.outcome.attempts[at.as_secs() as usize] += 1;
        if is_retry || answer.is_none() {
            self.outcome.last_trouble = at;
        }
        match answer {
            Some(answered_at) => self.plan(answered_at, client, Step::Answer { status: OK }),
            None => self.plan(at, client, Step::Answer { status: UNAVAILABLE }),
        }
    }

    fn answer(&mut self, client: usize, status: u16, at: Duration) {
        let retry_after = self.scene.retry_after.filter(|_| status == UNAVAILABLE).map(|value| ("Retry-After", value));
        let event = Event::response(status, RetryHeaders::from_pairs(retry_after));
        match self.calls[client].decide(event, self.start + at) {
            Decision::RetryAfter(delay) => self.plan(at + delay, client, Step::Attempt),
            Decision::GiveUp => {
                if status == OK {
                    self.outcome.answers[at.as_secs() as usize] += 1;
                } else {
                    self.outcome.calls_lost += 1;
                }
                let pause = Duration::from_nanos(self.rng.next_u64() % LONGEST_PAUSE.as_nanos() as u64);
                self.plan(at + pause, client, Step::StartCall);
            }
        }
    }

    fn new_call(&mut self, client: usize, at: Duration) -> RetryMachine {
        let call = RetryMachine::new(&self.scene.policy, "GET", self.rng.next_u64(), self.start + at);
        match self.quotas.get(client / CLIENTS_PER_PROCESS as usize) {
            Some(quota) => call.with_quota(Arc::clone(quota)),
            None => call,
        }
    }

    fn plan(&mut self, at: Duration, client: usize, step: Step) {
        self.agenda.push(Reverse(Entry { at, client, step }));
    }
}

/// Works off one request after the other, and queues up a few.
struct Service {
    /// In requests a second.
    capacity: u32,
    busy_until: Duration,
}

impl Service {
    /// When a request will have been answered; `None` if it is refused, in the outage or for a full queue.
    fn accept(&mut self, at: Duration) -> Option<Duration> {
        if at < OUTAGE || self.busy_until >= at + QUEUE {
            return None;
        }
        self.busy_until = self.busy_until.max(at) + Duration::from_secs(1) / self.capacity;
        Some(self.busy_until)
    }
}

/// What the service of a fleet of `clients` can answer, in requests a second: three times the usual load.
pub(crate) fn capacity(clients: u32) -> u32 {
    clients / 10
}

fn peak(loads: &[u32]) -> u32 {
    loads.iter().copied().max().unwrap_or_default()
}

/// How long the service is out.
pub(crate) const OUTAGE: Duration = Duration::from_secs(30);

/// How long a scene is, from the start of the outage.
pub(crate) const LENGTH: Duration = Duration::from_secs(120);

/// How much work the service lets queue up before it refuses.
const QUEUE: Duration = Duration::from_secs(1);

/// A client pauses between two calls, for any time up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How many clients live in one process, and share its quota.
const CLIENTS_PER_PROCESS: u32 = 1000;

const OK: u16 = 200;
const UNAVAILABLE: u16 = 503;
