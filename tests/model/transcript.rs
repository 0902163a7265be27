//! Whole transcripts, driven through the crate and through the model side by side, step by step, with the laws that
//! hold without any model.

use std::cell::Cell;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use retry_machine::rand_core::TryRng;
use retry_machine::{Decision, Event, Reason, RetryHeaders, RetryMachine, RetryOptions, RetryPolicy, RetryQuota};

use super::retry_after::{Headers, WallClock, requested_delay};
use super::{Machine, Outcome, Policy, Quota, draw, duration};

/// Some calls under one policy and perhaps one quota, and what happens to them in which order.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    pub policy: Policy,
    /// The capacity of the shared quota.
    pub quota: Option<u32>,
    pub calls: Vec<Call>,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, Default)]
pub struct Call {
    pub method: String,
    pub wall_clock: Option<SystemTime>,
    /// What the call's generator yields, over and over; none means zeros.
    pub words: Vec<u64>,
}

#[derive(Clone, Debug)]
pub struct Step {
    /// Which call it is, modulo their number.
    pub call: usize,
    /// `now` in nanoseconds after the start, or before it.
    pub at: i128,
    pub action: Action,
}

#[derive(Clone, Debug)]
pub enum Action {
    Decide(Outcome),
    /// The call goes on with a clone of its machine.
    Clone,
}

impl Transcript {
    /// Runs the transcript through both, checks every answer and law, and returns the reasons that came up.
    #[track_caller]
    pub fn check(&self) -> Vec<Reason> {
        let policy = RetryPolicy::new(options(&self.policy)).expect("the options are within bounds");
        let start = Instant::now();
        let reasons = self.run(&policy, start);
        assert_eq!(reasons, self.run(&policy, start + Duration::from_secs(1)), "a replay differs");
        reasons
    }

    #[track_caller]
    fn run(&self, policy: &RetryPolicy, start: Instant) -> Vec<Reason> {
        let shared = self.quota.map(|capacity| Arc::new(RetryQuota::new(capacity)));
        let mut model_quota = self.quota.map(Quota::new);
        let mut pairs: Vec<Pair> =
            self.calls.iter().map(|call| Pair::new(self, call, policy, shared.as_ref(), start)).collect();
        let mut reasons = Vec::new();
        for step in &self.steps {
            let call = step.call % pairs.len();
            let pair = &mut pairs[call];
            match &step.action {
                Action::Decide(outcome) => reasons.push(pair.decide(outcome, step.at, &mut model_quota)),
                Action::Clone => pair.become_a_clone(),
            }
            assert_eq!(
                shared.as_ref().map(|quota| quota.available()),
                model_quota.map(|quota| quota.available),
                "tokens of the quota"
            );
        }
        reasons
    }
}

/// A machine and its model.
struct Pair<'a> {
    machine: RetryMachine<Words>,
    model: Machine,
    call: &'a Call,
    start: Instant,
    words_taken: Rc<Cell<usize>>,
    model_words_taken: usize,
}

impl<'a> Pair<'a> {
    fn new(
        transcript: &Transcript,
        call: &'a Call,
        policy: &RetryPolicy,
        quota: Option<&Arc<RetryQuota>>,
        start: Instant,
    ) -> Self {
        let words_taken = Rc::default();
        let words = Words { words: call.words.clone(), taken: Rc::clone(&words_taken) };
        let mut machine = RetryMachine::with_rng(policy, &call.method, words, start);
        if let Some(quota) = quota {
            machine = machine.with_quota(Arc::clone(quota));
        }
        if let Some(time) = call.wall_clock {
            machine = machine.with_wall_clock(time);
        }
        let model = Machine::new(transcript.policy.clone(), &call.method, call.wall_clock);
        Self { machine, model, call, start, words_taken, model_words_taken: 0 }
    }

    #[track_caller]
    fn decide(&mut self, outcome: &Outcome, at: i128, quota: &mut Option<Quota>) -> Reason {
        let now = instant(self.start, at);
        let before = (self.machine.reason(), self.machine.retry_count());
        let was_finished = self.machine.is_finished();

        let decision = self.machine.decide(event(outcome), now);
        let words_taken = &mut self.model_words_taken;
        let draw = || {
            *words_taken += 1;
            draw(word(&self.call.words, *words_taken - 1))
        };
        assert_eq!(decision, self.model.decide(outcome, at, draw, quota.as_mut()), "decision");
        assert_eq!(self.machine.reason(), self.model.reason, "reason");
        assert_eq!(self.machine.retry_count(), self.model.retry_count, "retry count");
        assert_eq!(self.machine.is_finished(), self.model.is_finished, "is finished");
        assert_eq!(self.machine.remaining_budget(now), self.model.remaining_budget(at), "remaining budget");
        assert_eq!(self.words_taken.get(), self.model_words_taken, "draws taken");

        let reason = self.machine.reason().expect("a decision was taken");
        if was_finished {
            assert_eq!((Some(reason), self.machine.retry_count()), before, "a finished machine changed");
        }
        self.check_laws(outcome, now, decision, before.1);
        reason
    }

    /// What holds whatever the model says.
    #[track_caller]
    fn check_laws(&self, outcome: &Outcome, now: Instant, decision: Decision, retries_before: u32) {
        let policy = self.machine.policy();
        let reason = self.machine.reason().expect("a decision was taken");
        let elapsed = now.saturating_duration_since(self.start);
        assert_eq!(reason.decision(), decision, "the reason's decision");
        assert_eq!(decision == Decision::GiveUp, self.machine.is_finished(), "to give up is to finish");
        let Decision::RetryAfter(delay) = decision else {
            assert_eq!(self.machine.retry_count(), retries_before, "no retry was granted");
            return;
        };
        assert_eq!(self.machine.retry_count(), retries_before + 1, "one retry was granted");
        assert!(self.machine.retry_count() <= policy.max_retries(), "more retries than allowed");
        assert!(policy.is_retryable(event(outcome)), "retried what is not retryable");
        if let Some(budget) = policy.budget() {
            assert!(elapsed.saturating_add(delay) < budget, "a start at or past the budget");
        }
        let requested = self.requested(outcome, elapsed);
        match (requested, reason) {
            (Some(requested), Reason::ServerDelay { requested: reported, .. }) => {
                assert_eq!(reported, requested, "the requested delay of the headers");
                assert!(delay >= requested.min(policy.retry_after_max()), "earlier than the server asked");
            }
            (None, Reason::Backoff { retry, .. }) => {
                assert!(policy.backoff_range(retry).contains(&delay), "outside the range of the backoff");
            }
            (requested, reason) => panic!("asked for {requested:?}, but {reason:?}"),
        }
    }

    /// What the headers ask for by themselves.
    fn requested(&self, outcome: &Outcome, elapsed: Duration) -> Option<Duration> {
        let Outcome::Response { headers, .. } = outcome else { return None };
        let wall_clock = self.call.wall_clock.map(|start| start.checked_add(elapsed));
        // Headers by themselves know of no overflow of the wall clock.
        let requested = match wall_clock {
            Some(None) => requested_delay(headers, WallClock::Overflowed).map(|(_, delay)| delay),
            Some(Some(time)) => retry_headers(headers).requested_delay(Some(time)),
            None => retry_headers(headers).requested_delay(None),
        };
        requested.filter(|_| self.machine.policy().respect_retry_after())
    }

    fn become_a_clone(&mut self) {
        self.machine = self.machine.clone();
        self.model.become_a_clone();
    }
}

/// A generator of given words. Clones share the count of those taken.
#[derive(Clone)]
struct Words {
    words: Vec<u64>,
    taken: Rc<Cell<usize>>,
}

impl TryRng for Words {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        panic!("a draw is made of a whole word")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let taken = self.taken.replace(self.taken.get() + 1);
        Ok(word(&self.words, taken))
    }

    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        panic!("a draw is made of a whole word")
    }
}

fn word(words: &[u64], taken: usize) -> u64 {
    if words.is_empty() { 0 } else { words[taken % words.len()] }
}

/// The model's outcome as the crate's event.
pub fn event(outcome: &Outcome) -> Event<'_> {
    match outcome {
        Outcome::Response { status, headers } => Event::response(*status, retry_headers(headers)),
        Outcome::Error(kind) => Event::from(*kind),
    }
}

pub fn retry_headers(headers: &Headers) -> RetryHeaders<'_> {
    RetryHeaders::from_pairs(headers)
}

/// The model's policy as options that set everything.
pub fn options(policy: &Policy) -> RetryOptions {
    let options = RetryOptions::default()
        .max_retries(policy.max_retries)
        .backoff_initial(policy.backoff_initial)
        .backoff_max(policy.backoff_max)
        .backoff_jitter(policy.backoff_jitter)
        .statuses(policy.statuses.iter().copied())
        .respect_retry_after(policy.respect_retry_after)
        .retry_after_min(policy.retry_after_min)
        .retry_after_max(policy.retry_after_max)
        .retry_after_excess(policy.retry_after_excess)
        .retry_after_jitter(policy.retry_after_jitter)
        .respect_should_retry(policy.respect_should_retry)
        .retry_connection_errors(policy.retry_connection_errors)
        .retry_timeout_errors(policy.retry_timeout_errors);
    let options = match &policy.unsafe_statuses {
        Some(statuses) => options.unsafe_statuses(statuses.iter().copied()),
        None => options.same_unsafe_statuses(),
    };
    match policy.budget {
        Some(budget) => options.budget(budget),
        None => options.no_budget(),
    }
}

/// `at` nanoseconds after `start`, or before it.
fn instant(start: Instant, at: i128) -> Instant {
    let offset = duration(at.abs());
    let now = if at < 0 { start.checked_sub(offset) } else { start.checked_add(offset) };
    now.expect("the offset is within the farthest one")
}

/// The farthest offsets and wall clocks that both `Instant` and `SystemTime` can hold, in seconds.
pub const FARTHEST_SECS: i128 = 1 << 62;

/// The time `nanos` after 1970, or before it.
pub fn system_time(nanos: i128) -> SystemTime {
    let offset = duration(nanos.abs());
    if nanos < 0 { UNIX_EPOCH - offset } else { UNIX_EPOCH + offset }
}
