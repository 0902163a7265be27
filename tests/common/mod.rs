//! What the tests share: short names for times and events, and a call as a script of events and decisions.

#![allow(dead_code, reason = "each file of tests uses its own part")]

use std::time::{Duration, Instant, SystemTime};

use retry_machine::rand_core::Rng;
use retry_machine::{Decision, Event, FixedDraw, Reason, RetryHeaders, RetryMachine, RetryOptions, RetryPolicy};

pub(crate) const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub(crate) const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A wall time, as Unix seconds.
#[track_caller]
pub(crate) fn unix(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + secs(seconds)
}

#[track_caller]
pub(crate) fn policy(options: RetryOptions) -> RetryPolicy {
    RetryPolicy::new(options).expect("the options are valid")
}

pub(crate) fn status(code: u16) -> Event<'static> {
    response(code, &[])
}

pub(crate) fn response<'a>(code: u16, headers: &'a [(&'a str, &'a str)]) -> Event<'a> {
    Event::response(code, RetryHeaders::from_pairs(headers))
}

/// One call, told its events by the time since its start.
pub(crate) struct Call<R = FixedDraw> {
    pub(crate) machine: RetryMachine<R>,
    pub(crate) start: Instant,
}

impl Call {
    /// A call whose every draw is 0, so that backoff has its full length.
    pub(crate) fn new(policy: &RetryPolicy, method: &str) -> Self {
        Self::with_rng(policy, method, FixedDraw::new(0.0))
    }
}

impl<R: Rng> Call<R> {
    pub(crate) fn with_rng(policy: &RetryPolicy, method: &str, rng: R) -> Self {
        let start = Instant::now();
        Self { machine: RetryMachine::with_rng(policy, method, rng, start), start }
    }

    pub(crate) fn with_wall_clock(self, at_start: SystemTime) -> Self {
        Self { machine: self.machine.with_wall_clock(at_start), ..self }
    }

    /// What the machine answers to an event that comes `elapsed` after the start.
    #[track_caller]
    pub(crate) fn at<'a>(&mut self, elapsed: Duration, event: impl Into<Event<'a>>) -> Answer {
        let decision = self.machine.decide(event, self.start + elapsed);
        Answer { decision, reason: self.machine.reason().expect("a decision has a reason") }
    }
}

/// A decision and its reason, to be compared with what the script expects.
#[must_use]
pub(crate) struct Answer {
    pub(crate) decision: Decision,
    pub(crate) reason: Reason,
}

impl Answer {
    #[track_caller]
    pub(crate) fn waits(self, delay: Duration) {
        assert_eq!(self.decision, Decision::RetryAfter(delay), "{}", self.reason);
    }

    /// Expects a give-up for the reason of this name.
    #[track_caller]
    pub(crate) fn gives_up(self, name: &str) {
        assert_eq!((self.decision, self.reason.name()), (Decision::GiveUp, name), "{}", self.reason);
    }

    /// Expects this reason, number by number, and the decision that goes with it.
    #[track_caller]
    pub(crate) fn because(self, reason: Reason) {
        assert_eq!((self.decision, self.reason), (reason.decision(), reason));
    }
}
