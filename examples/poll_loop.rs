//! Many calls in one plain poll loop: no runtime, no threads, no waiting.
//!
//! This is the shape of a game loop or of an embedded stack. Once a frame, the loop starts the attempts that are due and
//! decides on what has arrived. The machines tell it when to wake: a heap holds those times, soonest first.
//!
//! Time is virtual here, so four seconds pass at once, and alike in every run. A real loop reads its clock once a frame.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::{Duration, Instant};

use retry_machine::{Decision, ErrorKind, Event, RetryHeaders, RetryMachine, RetryPolicy};

fn main() {
    let start = Instant::now();
    let policy = RetryPolicy::default();
    let mut network = Network::new(start);
    let mut calls = Vec::new();
    // When to start which call's next attempt.
    let mut wake_ups = BinaryHeap::new();
    for (index, method) in ["GET", "POST"].into_iter().cycle().take(CALLS).enumerate() {
        let at = start + Duration::from_millis(index as u64);
        // A seed of its own for each call; a real program takes it from the system's entropy.
        calls.push(RetryMachine::new(&policy, method, index as u64, at));
        wake_ups.push(Reverse((at, index)));
    }

    let mut endings: BTreeMap<String, usize> = BTreeMap::new();
    let mut now = start;
    while !(wake_ups.is_empty() && network.is_idle()) {
        while let Some(Reverse((_, call))) = pop_if(&mut wake_ups, |Reverse((at, _))| *at <= now) {
            network.send(call, now);
        }
        while let Some((call, event)) = network.receive(now) {
            let machine: &mut RetryMachine = &mut calls[call];
            match machine.decide(event, now) {
                Decision::RetryAfter(delay) => wake_ups.push(Reverse((now + delay, call))),
                Decision::GiveUp => {
                    let reason = machine.reason().expect("a decision was taken");
                    *endings.entry(reason.to_string()).or_default() += 1;
                }
            }
        }
        // The rest of the frame goes here.
        now += FRAME;
    }

    let retries: u32 = calls.iter().map(RetryMachine::retry_count).sum();
    for (ending, count) in &endings {
        println!("{count:4} calls: {ending}");
    }
    println!("{CALLS} calls took {} attempts and {:?}", network.attempts, now - start);

    assert_eq!(network.attempts, CALLS + retries as usize);
    assert_eq!(endings.values().sum::<usize>(), CALLS);
    assert!(calls.iter().all(RetryMachine::is_finished));
}

/// Takes the top of a heap if it is as asked.
fn pop_if<T: Ord>(heap: &mut BinaryHeap<T>, is_due: impl Fn(&T) -> bool) -> Option<T> {
    if heap.peek().is_some_and(is_due) { heap.pop() } else { None }
}

/// Stands for the sockets: a server that is in trouble for its first two seconds.
struct Network {
    start: Instant,
    attempts: usize,
    in_flight: BinaryHeap<Reverse<(Instant, usize, Outcome)>>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Success,
    Busy,
    TimedOut,
}

impl Network {
    fn new(start: Instant) -> Self {
        Self { start, attempts: 0, in_flight: BinaryHeap::new() }
    }

    fn send(&mut self, call: usize, now: Instant) {
        self.attempts += 1;
        let (time, outcome) = if now - self.start > TROUBLE {
            (Duration::from_millis(30), Outcome::Success)
        } else if self.attempts % 5 == 0 {
            (Duration::from_secs(1), Outcome::TimedOut)
        } else {
            (Duration::from_millis(5), Outcome::Busy)
        };
        self.in_flight.push(Reverse((now + time, call, outcome)));
    }

    /// What has arrived for a call, if anything has.
    fn receive(&mut self, now: Instant) -> Option<(usize, Event<'static>)> {
        let Reverse((_, call, outcome)) = pop_if(&mut self.in_flight, |Reverse((at, ..))| *at <= now)?;
        let event = match outcome {
            Outcome::Success => Event::response(200, RetryHeaders::default()),
            Outcome::Busy => Event::response(503, RetryHeaders::from_pairs([("Retry-After", "2")])),
            Outcome::TimedOut => ErrorKind::Timeout.into(),
        };
        Some((call, event))
    }

    fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }
}

const CALLS: usize = 1000;

const FRAME: Duration = Duration::from_millis(16);

const TROUBLE: Duration = Duration::from_secs(2);
