//! A second, slow and plain statement of the rules: the options, the decision in its order, error kinds, backoff and the
//! quota. The requested delay is in `retry_after.rs`.
//!
//! It is written from the specification and shares nothing with the crate but the public types of its answers. Times are
//! whole nanoseconds; f64 comes in only where that prescribes it.

#![allow(dead_code, unreachable_pub, reason = "each user of the model needs a part of it")]

pub mod retry_after;
pub mod transcript;

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use retry_machine::{Decision, DelaySource, ErrorKind, Reason, Replay, RetryAfterExcess};

use retry_after::{Headers, WallClock, first, requested_delay, text};

/// What one attempt gave.
#[derive(Clone, Debug)]
pub enum Outcome {
    Response { status: u16, headers: Headers },
    Error(ErrorKind),
}

/// Every option.
#[derive(Clone, Debug)]
pub struct Policy {
    pub max_retries: u32,
    pub backoff_initial: Duration,
    pub backoff_max: Duration,
    pub backoff_jitter: f64,
    pub statuses: BTreeSet<u16>,
    pub unsafe_statuses: Option<BTreeSet<u16>>,
    pub respect_retry_after: bool,
    pub retry_after_min: Duration,
    pub retry_after_max: Duration,
    pub retry_after_excess: RetryAfterExcess,
    pub retry_after_jitter: f64,
    pub respect_should_retry: bool,
    pub retry_connection_errors: Replay,
    pub retry_timeout_errors: Replay,
    pub budget: Option<Duration>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_retries: 2,
            backoff_initial: Duration::from_millis(500),
            backoff_max: Duration::from_secs(5),
            backoff_jitter: 0.25,
            statuses: [408, 429].into_iter().chain(500..=599).collect(),
            unsafe_statuses: None,
            respect_retry_after: true,
            retry_after_min: Duration::from_millis(100),
            retry_after_max: Duration::from_secs(60),
            retry_after_excess: RetryAfterExcess::Clamp,
            retry_after_jitter: 0.0,
            respect_should_retry: false,
            retry_connection_errors: Replay::Auto,
            retry_timeout_errors: Replay::Auto,
            budget: Some(Duration::from_secs(30)),
        }
    }
}

/// The state of one call.
#[derive(Default)]
pub struct Machine {
    pub retry_count: u32,
    /// Of the latest decision.
    pub reason: Option<Reason>,
    pub is_finished: bool,
    policy: Policy,
    method: String,
    wall_clock_at_start: Option<SystemTime>,
    last_withdrawal: Option<u32>,
}

impl Machine {
    pub fn new(policy: Policy, method: &str, wall_clock_at_start: Option<SystemTime>) -> Self {
        Self { policy, method: method.to_owned(), wall_clock_at_start, ..Self::default() }
    }

    /// The decision, in order. `elapsed` may be negative: `now` is before the start.
    pub fn decide(
        &mut self,
        outcome: &Outcome,
        elapsed: i128,
        draw: impl FnOnce() -> f64,
        quota: Option<&mut Quota>,
    ) -> Decision {
        let elapsed = duration(elapsed);
        // 1. A finished machine changes nothing.
        if !self.is_finished {
            let reason = self.steps_2_to_6(outcome, elapsed, draw, quota);
            self.is_finished = !matches!(reason, Reason::ServerDelay { .. } | Reason::Backoff { .. });
            self.reason = Some(reason);
        }
        match self.reason {
            Some(Reason::ServerDelay { delay, .. } | Reason::Backoff { delay, .. }) => Decision::RetryAfter(delay),
            _ => Decision::GiveUp,
        }
    }

    fn steps_2_to_6(
        &mut self,
        outcome: &Outcome,
        elapsed: Duration,
        draw: impl FnOnce() -> f64,
        mut quota: Option<&mut Quota>,
    ) -> Reason {
        let Policy { max_retries, retry_after_max, retry_after_excess, budget, .. } = self.policy;
        let requested = self.policy.requested(outcome, self.wall_clock(elapsed));
        let requested_delay = requested.map(|(_, delay)| delay);

        // 2. Not retryable.
        if let Some(refusal) = self.policy.refusal(outcome, Some(&self.method)) {
            if let (Outcome::Response { status: ..=399, .. }, Some(quota)) = (outcome, &mut quota) {
                quota.deposit(self.last_withdrawal.take().unwrap_or(1));
            }
            return refusal;
        }
        // 3. No retry left.
        if self.retry_count == max_retries {
            return Reason::RetriesExhausted { max_retries, requested: requested_delay };
        }
        // 4. The delay, or giving up because the server asks for too long a one.
        if let (Some(requested), RetryAfterExcess::GiveUp) = (requested_delay, retry_after_excess) {
            if requested > retry_after_max {
                return Reason::ServerDelayTooLong { requested, max: retry_after_max };
            }
        }
        let retry = self.retry_count + 1;
        let delay = self.policy.delay(requested_delay, retry, draw);
        // 5. The budget; equality gives up.
        if let Some(budget) = budget {
            if nanos(elapsed) + nanos(delay) >= nanos(budget) {
                return Reason::BudgetExhausted { elapsed, delay, budget, requested: requested_delay };
            }
        }
        // The quota stands between 5 and 6.
        if let Some(quota) = &mut quota {
            let cost = if matches!(outcome, Outcome::Error(ErrorKind::Timeout)) { 10 } else { 5 };
            if quota.available < cost {
                return Reason::QuotaExhausted { available: quota.available, cost };
            }
            quota.available -= cost;
            self.last_withdrawal = Some(cost);
        }
        // 6. Count the retry.
        self.retry_count = retry;
        match requested {
            Some((source, requested)) => Reason::ServerDelay { retry, source, requested, delay },
            None => Reason::Backoff { retry, delay },
        }
    }

    /// The wall clock at the machine's start + elapsed.
    fn wall_clock(&self, elapsed: Duration) -> WallClock {
        match self.wall_clock_at_start {
            None => WallClock::NotGiven,
            Some(start) => start.checked_add(elapsed).map_or(WallClock::Overflowed, WallClock::Shows),
        }
    }

    pub fn remaining_budget(&self, elapsed: i128) -> Option<Duration> {
        self.policy.budget.map(|budget| duration(nanos(budget) - elapsed.max(0)))
    }

    /// A clone of a machine carries no refund.
    pub fn become_a_clone(&mut self) {
        self.last_withdrawal = None;
    }
}

impl Policy {
    /// Step 2, with `unsafe_statuses` and `x-should-retry`. No reason means retryable.
    pub fn refusal(&self, outcome: &Outcome, method: Option<&str>) -> Option<Reason> {
        // Method tokens are case-sensitive, and no other method is safe.
        let is_safe = ["GET", "HEAD", "OPTIONS"].map(Some).contains(&method);
        match outcome {
            Outcome::Response { status, headers } => {
                let statuses =
                    if is_safe { &self.statuses } else { self.unsafe_statuses.as_ref().unwrap_or(&self.statuses) };
                let listed = statuses.contains(status);
                let counts = self.respect_should_retry && *status >= 400;
                let verdict = first(headers, "x-should-retry").and_then(text).filter(|_| counts);
                match verdict {
                    Some("false") => Some(Reason::ServerRefused),
                    Some("true") => None,
                    _ if listed => None,
                    _ => Some(Reason::StatusNotRetryable { status: *status }),
                }
            }
            Outcome::Error(kind) => {
                let by = |replay: Replay| match replay {
                    Replay::Auto => is_safe,
                    Replay::Always => true,
                    Replay::Never => false,
                };
                let allowed = match kind {
                    ErrorKind::Connection => by(self.retry_connection_errors),
                    ErrorKind::Timeout => by(self.retry_timeout_errors),
                    ErrorKind::PoolTimeout | ErrorKind::NotSent => true,
                    ErrorKind::Other => false,
                    unknown => panic!("the model does not know {unknown:?}"),
                };
                (!allowed).then_some(Reason::ErrorNotRetryable { kind: *kind })
            }
        }
    }

    /// What the server asked for, if it is listened to.
    pub fn requested(&self, outcome: &Outcome, wall_clock: WallClock) -> Option<(DelaySource, Duration)> {
        match outcome {
            Outcome::Response { headers, .. } if self.respect_retry_after => requested_delay(headers, wall_clock),
            _ => None,
        }
    }

    /// Step 4 alone, which always clamps.
    pub fn delay(&self, requested: Option<Duration>, retry: u32, draw: impl FnOnce() -> f64) -> Duration {
        let Some(requested) = requested else { return self.backoff(retry, draw) };
        let clamped = requested.max(self.retry_after_min).min(self.retry_after_max);
        if self.retry_after_jitter == 0.0 || clamped.is_zero() {
            return clamped;
        }
        // Added, never subtracted, so not by f64 rounding either.
        let secs = clamped.as_secs_f64() * (1.0 + draw() * self.retry_after_jitter);
        Duration::try_from_secs_f64(secs).unwrap_or(Duration::MAX).max(clamped)
    }

    /// The exponential backoff.
    pub fn backoff(&self, retry: u32, draw: impl FnOnce() -> f64) -> Duration {
        // 94 doublings take even one nanosecond past `Duration::MAX`: more of them change nothing.
        let doublings = retry.saturating_sub(1).min(94);
        let doubled = (0..doublings).fold(self.backoff_initial, |delay, _| delay.saturating_mul(2));
        let exponential = doubled.min(self.backoff_max);
        if self.backoff_jitter == 0.0 || exponential.is_zero() {
            return exponential;
        }
        let factor = 1.0 - draw() * self.backoff_jitter;
        let jittered = if exponential >= Duration::from_millis(1) {
            // Reading decimal text rounds correctly.
            let nanos = exponential.as_nanos();
            let millis: f64 =
                format!("{}.{:06}", nanos / 1_000_000, nanos % 1_000_000).parse().expect("a decimal number");
            duration((millis * factor).round() as i128 * 1_000_000)
        } else {
            Duration::try_from_secs_f64(exponential.as_secs_f64() * factor).expect("less than a millisecond")
        };
        jittered.min(exponential)
    }
}

/// A token bucket.
#[derive(Clone, Copy)]
pub struct Quota {
    pub capacity: u32,
    pub available: u32,
}

impl Quota {
    pub fn new(capacity: u32) -> Self {
        Self { capacity, available: capacity }
    }

    fn deposit(&mut self, tokens: u32) {
        self.available = self.available.saturating_add(tokens).min(self.capacity);
    }
}

/// A draw from a generator's word.
pub fn draw(word: u64) -> f64 {
    (word >> 11) as f64 / 2_f64.powi(53)
}

/// Saturates at zero and at `Duration::MAX`.
pub fn duration(nanos: i128) -> Duration {
    let nanos = nanos.clamp(0, self::nanos(Duration::MAX));
    Duration::new((nanos / NANOS_PER_SEC) as u64, (nanos % NANOS_PER_SEC) as u32)
}

pub fn nanos(duration: Duration) -> i128 {
    i128::from(duration.as_secs()) * NANOS_PER_SEC + i128::from(duration.subsec_nanos())
}

pub const NANOS_PER_SEC: i128 = 1_000_000_000;
