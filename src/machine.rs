//! The machine: all the state of a call, and everything that changes it.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use rand_core::Rng;

use crate::decision::{Decision, Reason};
use crate::event::{ErrorKind, Event};
use crate::options::RetryAfterExcess;
use crate::policy::RetryPolicy;
use crate::quota::{self, RetryQuota};
use crate::retry_after::RequestedDelay;
use crate::rng::{self, SeededRng};

/// The retries of one call: told how each attempt ended and what time it is, it decides what to do next.
///
/// A machine serves one call, from its start to the first [`Decision::GiveUp`]; then it is finished. It does nothing by
/// itself: sending and waiting are the caller's. On a 64-bit platform it has 528 bytes, 360 of them its policy.
///
/// ```
/// use std::time::{Duration, Instant};
/// use retry_machine::{Decision, Event, RetryHeaders, RetryMachine, RetryPolicy};
///
/// let mut statuses = [503, 200].into_iter();
/// let mut now = Instant::now();
///
/// let mut machine = RetryMachine::new(&RetryPolicy::default(), "GET", 0, now);
/// let status = loop {
///     let status = statuses.next().expect("two attempts");
///     match machine.decide(Event::response(status, RetryHeaders::default()), now) {
///         Decision::RetryAfter(delay) => now += delay,
///         Decision::GiveUp => break status,
///     }
/// };
/// assert_eq!((status, machine.retry_count()), (200, 1));
/// ```
#[derive(Debug)]
pub struct RetryMachine<R = SeededRng> {
    policy: RetryPolicy,
    rng: R,
    start: Instant,
    // The end of the budget, if there is one and an `Instant` can hold it.
    end: Option<Instant>,
    wall_clock_at_start: Option<SystemTime>,
    quota: Option<Arc<RetryQuota>>,
    // What the latest retry withdrew from the quota: a success gives it back.
    withdrawn: Option<u32>,
    retry_count: u32,
    reason: Option<Reason>,
}

impl RetryMachine {
    /// A machine for one call, which starts `now`: the budget counts from here.
    ///
    /// `method` is the request's method, in capitals. `seed` settles every draw: two machines with the same policy,
    /// method, seed and events decide alike. Take a fresh one for each call, from `rand::random()` or from std's
    /// `RandomState`, not from the clock: clients that fail together would draw together.
    ///
    /// ```
    /// use std::hash::{BuildHasher, RandomState};
    /// use std::time::Instant;
    /// use retry_machine::{RetryMachine, RetryPolicy};
    ///
    /// let seed = RandomState::new().hash_one(0); // random by its keys; the 0 is only something to hash
    /// let machine = RetryMachine::new(&RetryPolicy::default(), "POST", seed, Instant::now());
    /// assert_eq!(machine.retry_count(), 0);
    /// ```
    pub fn new(policy: &RetryPolicy, method: impl AsRef<str>, seed: u64, now: Instant) -> Self {
        Self::with_rng(policy, method, SeededRng::new(seed), now)
    }
}

impl<R: Rng> RetryMachine<R> {
    /// Like [`new`](RetryMachine::new), with the caller's generator. `&mut R` is one too: it then goes on from call to
    /// call.
    ///
    /// A draw is the upper 53 bits of [`next_u64`](https://docs.rs/rand_core/0.10/rand_core/trait.Rng.html), as a number in [0, 1). One is taken only
    /// where jitter meets a delay that is not zero.
    ///
    /// ```
    /// use std::time::Instant;
    /// use retry_machine::{ErrorKind, RetryMachine, RetryPolicy, SeededRng};
    ///
    /// let (policy, mut rng, now) = (RetryPolicy::default(), SeededRng::new(7), Instant::now());
    /// let first = RetryMachine::with_rng(&policy, "GET", &mut rng, now).decide(ErrorKind::Timeout, now);
    /// let second = RetryMachine::with_rng(&policy, "GET", &mut rng, now).decide(ErrorKind::Timeout, now);
    /// assert_ne!(first, second, "the draws go on");
    /// ```
    pub fn with_rng(policy: &RetryPolicy, method: impl AsRef<str>, rng: R, now: Instant) -> Self {
        Self {
            policy: policy.for_method(method),
            rng,
            start: now,
            end: policy.budget().and_then(|budget| now.checked_add(budget)),
            wall_clock_at_start: None,
            quota: None,
            withdrawn: None,
            retry_count: 0,
            reason: None,
        }
    }

    /// Gives the machine the wall time at its start, to measure a `Retry-After` date against. From there on it advances
    /// by `now`.
    ///
    /// Without it a date is measured against the response's own `Date`. Give none if the local clock cannot be trusted.
    /// It has no part in the budget.
    ///
    /// ```
    /// use std::time::{Duration, Instant, SystemTime};
    /// use retry_machine::{Decision, Event, RetryHeaders, RetryMachine, RetryPolicy};
    ///
    /// let now = Instant::now();
    /// let noon = SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_126_400); // 1 December 2026, 12:00 UTC
    /// let mut machine = RetryMachine::new(&RetryPolicy::default(), "GET", 1, now).with_wall_clock(noon);
    ///
    /// let headers = RetryHeaders::from_pairs([("Retry-After", "Tue, 01 Dec 2026 12:00:20 GMT")]);
    /// assert_eq!(machine.decide(Event::response(503, headers), now), Decision::RetryAfter(Duration::from_secs(20)));
    /// ```
    #[must_use]
    pub fn with_wall_clock(self, at_start: SystemTime) -> Self {
        Self { wall_clock_at_start: Some(at_start), ..self }
    }

    /// Makes every retry withdraw from a quota that is shared with other calls. See [`RetryQuota`].
    #[must_use]
    pub fn with_quota(self, quota: Arc<RetryQuota>) -> Self {
        Self { quota: Some(quota), withdrawn: None, ..self }
    }

    /// Decides what follows an attempt that ended in `event`, at the time `now`.
    ///
    /// In this order:
    ///
    /// 1. A finished machine gives up again, and changes nothing.
    /// 2. An event that is not retryable gives up; a success is one. So does a refusal by `x-should-retry`, if that counts.
    /// 3. With `max_retries` retries made it gives up.
    /// 4. The delay is the server's, within its bounds, or the backoff. If the server's is excessive, and
    ///    `retry_after_excess` says so, it gives up.
    /// 5. If the next attempt would start at the end of the budget or later, it gives up. So does it if a quota was given
    ///    and has too few tokens.
    /// 6. Otherwise the retry is counted and granted.
    ///
    /// It never fails and never panics, whatever comes in. Elapsed time is `now` less the start, and zero before the
    /// start; it may be smaller than at an earlier event. Give every outcome, the last one too: a machine that never
    /// heard of the success does not know that it is finished, nor does its quota.
    ///
    /// A response whose body fails while it is read is reported as an error *instead of* as a response: after the
    /// decision on a 200 the machine is finished.
    #[inline]
    pub fn decide<'a>(&mut self, event: impl Into<Event<'a>>, now: Instant) -> Decision {
        self.judge(&event.into(), now)
    }

    /// Why the latest decision was taken; `None` before the first.
    pub fn reason(&self) -> Option<Reason> {
        self.reason
    }

    /// How many retries have been granted so far, for a retry-count header for instance.
    pub fn retry_count(&self) -> u32 {
        self.retry_count
    }

    /// What is left of the budget, zero if it is used up; `None` for no limit. To shorten an attempt's own timeout.
    ///
    /// It is also zero when a wait overran its delay. An attempt with no time at all can only time out, so give each one a
    /// minimum.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use retry_machine::{RetryMachine, RetryPolicy};
    ///
    /// let start = Instant::now();
    /// let machine = RetryMachine::new(&RetryPolicy::default(), "GET", 1, start);
    /// let (shortest, own) = (Duration::from_millis(200), Duration::from_secs(10));
    /// let attempt_timeout = |now| machine.remaining_budget(now).map_or(own, |left| left.clamp(shortest, own));
    /// assert_eq!(attempt_timeout(start), own);
    /// assert_eq!(attempt_timeout(start + Duration::from_secs(28)), Duration::from_secs(2));
    /// assert_eq!(attempt_timeout(start + Duration::from_secs(31)), shortest);
    /// ```
    pub fn remaining_budget(&self, now: Instant) -> Option<Duration> {
        Some(self.policy.budget()?.saturating_sub(self.elapsed(now)))
    }

    /// Whether the machine has given up: the call is over, and every further event gives up too.
    pub fn is_finished(&self) -> bool {
        self.reason.is_some_and(|reason| reason.decision() == Decision::GiveUp)
    }

    /// The policy, marked with the call's method.
    pub fn policy(&self) -> &RetryPolicy {
        &self.policy
    }

    /// Steps 1 to 6. The retry number advances on the server's delays too.
    ///
    /// The event comes by reference and the reason stays in the machine: both are too large to move about.
    fn judge(&mut self, event: &Event<'_>, now: Instant) -> Decision {
        // Step 1: is the call still going on?
        if self.is_finished() {
            return Decision::GiveUp;
        }

        // Step 2: is the event retryable?
        if let Some(refusal) = self.policy.refusal(event) {
            if let (Some(quota), Event::Response { status: ..400, .. }) = (&self.quota, event) {
                quota.deposit(self.withdrawn.take().unwrap_or(quota::SUCCESS_DEPOSIT));
            }
            return self.give_up(refusal);
        }

        // Step 3: may there be one more retry? What the server asks for is read first, since the reason names it.
        let requested_delay = self.requested_delay(event, now);
        let requested = requested_delay.map(|requested| requested.delay);
        let max_retries = self.policy.max_retries();
        if self.retry_count >= max_retries {
            return self.give_up(Reason::RetriesExhausted { max_retries, requested });
        }

        // Step 4: when? The count is below `max_retries`, so the sum does not overflow.
        let retry = self.retry_count + 1;
        let draw = || rng::draw(&mut self.rng);
        let delay = match requested {
            Some(requested) => {
                let max = self.policy.retry_after_max();
                if self.policy.retry_after_excess() == RetryAfterExcess::GiveUp && requested > max {
                    return self.give_up(Reason::ServerDelayTooLong { requested, max });
                }
                self.policy.server_delay(requested, draw)
            }
            None => self.policy.backoff_with(retry, draw),
        };

        // Step 5: does the next attempt start in time, and do the other calls leave room for it?
        if let Some(budget) = self.policy.budget().filter(|budget| self.is_late(*budget, delay, now)) {
            return self.give_up(Reason::BudgetExhausted { elapsed: self.elapsed(now), delay, budget, requested });
        }
        if let Some(quota) = &self.quota {
            let cost = match event {
                Event::Error(ErrorKind::Timeout) => quota::TIMEOUT_RETRY_COST,
                _ => quota::RETRY_COST,
            };
            if let Err(available) = quota.withdraw(cost) {
                return self.give_up(Reason::QuotaExhausted { available, cost });
            }
            self.withdrawn = Some(cost);
        }

        // Step 6.
        self.retry_count = retry;
        self.reason = Some(match requested_delay {
            Some(RequestedDelay { source, delay: requested }) => {
                Reason::ServerDelay { retry, source, requested, delay }
            }
            None => Reason::Backoff { retry, delay },
        });
        Decision::RetryAfter(delay)
    }

    fn give_up(&mut self, reason: Reason) -> Decision {
        self.reason = Some(reason);
        Decision::GiveUp
    }

    /// What the server asks for, measured against the wall clock if there is one.
    fn requested_delay(&self, event: &Event<'_>, now: Instant) -> Option<RequestedDelay> {
        let Some(at_start) = self.wall_clock_at_start else {
            return self.policy.requested_delay(event, None);
        };
        let wall_clock = at_start.checked_add(self.elapsed(now));
        // A wall clock past its end measures nothing, and the caller wanted it rather than `Date`.
        if wall_clock.is_none() {
            return self.policy.requested_delay(&event.without_date(), None);
        }
        self.policy.requested_delay(event, wall_clock)
    }

    /// Whether an attempt after this delay would start at the end of the budget or later: `elapsed + delay >= budget`.
    fn is_late(&self, budget: Duration, delay: Duration, now: Instant) -> bool {
        match (now.max(self.start).checked_add(delay), self.end) {
            // Two moments are compared at half the cost of what lies between them.
            (Some(next), Some(end)) => next >= end,
            // Durations are longer than what an `Instant` can hold.
            _ => self.elapsed(now).saturating_add(delay) >= budget,
        }
    }

    fn elapsed(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.start)
    }
}

/// A clone goes on from the same state by itself, but what was withdrawn from a quota comes back only once: to the
/// original.
impl<R: Clone> Clone for RetryMachine<R> {
    fn clone(&self) -> Self {
        Self {
            policy: self.policy.clone(),
            rng: self.rng.clone(),
            start: self.start,
            end: self.end,
            wall_clock_at_start: self.wall_clock_at_start,
            quota: self.quota.clone(),
            withdrawn: None,
            retry_count: self.retry_count,
            reason: self.reason,
        }
    }
}
