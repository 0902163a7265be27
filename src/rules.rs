//! What a policy says of one event: is it retried, and after how long? Pure questions, one at a time.

use std::ops::RangeInclusive;
use std::time::{Duration, SystemTime};

use crate::backoff;
use crate::decision::Reason;
use crate::event::{ErrorKind, Event};
use crate::options::Replay;
use crate::policy::RetryPolicy;
use crate::retry_after::RequestedDelay;

/// Deciding, one question at a time. These hold no state: whoever keeps the retry number elsewhere, across processes for
/// instance, can ask here what a [`RetryMachine`](crate::RetryMachine) would do.
impl RetryPolicy {
    /// Whether the event may be retried, as far as the policy can tell without the retry count and the budget.
    ///
    /// With no method marked, [`Replay::Auto`] counts as no and the method as not safe to replay.
    ///
    /// ```
    /// use retry_machine::{ErrorKind, Event, RetryHeaders, RetryPolicy};
    ///
    /// let policy = RetryPolicy::default();
    /// assert!(policy.is_retryable(Event::response(429, RetryHeaders::default())));
    /// assert!(policy.is_retryable(ErrorKind::NotSent));
    /// assert!(!policy.is_retryable(ErrorKind::Connection));
    /// ```
    pub fn is_retryable<'a>(&self, event: impl Into<Event<'a>>) -> bool {
        self.refusal(&event.into()).is_none()
    }

    /// The backoff before a retry: `min(backoff_initial * 2^(retry - 1), backoff_max)`, exact and saturating, less
    /// the fraction `draw * backoff_jitter` of it.
    ///
    /// `retry` is 1-based; 0 counts as 1. `draw` is clamped to 0..=1, and NaN is 0. With jitter, a delay of one
    /// millisecond or more is rounded to the nearest whole millisecond, halves up. The delay is never above `backoff_max`, and the
    /// cost is the same for every retry number.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_machine::RetryPolicy;
    ///
    /// let policy = RetryPolicy::default();
    /// assert_eq!(policy.backoff(1, 0.0), Duration::from_millis(500));
    /// assert_eq!(policy.backoff(2, 0.5), Duration::from_millis(875));
    /// assert_eq!(policy.backoff(u32::MAX, 0.0), Duration::from_secs(5));
    /// ```
    pub fn backoff(&self, retry: u32, draw: f64) -> Duration {
        self.backoff_with(retry, || clamp_draw(draw))
    }

    /// Every backoff that a draw can give before this retry: from `backoff(retry, 1.0)` to `backoff(retry, 0.0)`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_machine::RetryPolicy;
    ///
    /// let ms = Duration::from_millis;
    /// assert_eq!(RetryPolicy::default().backoff_range(2), ms(750)..=ms(1000));
    /// ```
    pub fn backoff_range(&self, retry: u32) -> RangeInclusive<Duration> {
        self.backoff(retry, 1.0)..=self.backoff(retry, 0.0)
    }

    /// The delay before a retry, given the event that led to it: the server's, if the event is a response that asks for
    /// a usable one and [`respect_retry_after`](crate::RetryOptions::respect_retry_after) holds, else the backoff.
    ///
    /// A server's delay is raised to `retry_after_min`, then lowered to `retry_after_max`, then spread by
    /// `retry_after_jitter`. `retry_after_excess` does not matter here: an excessive delay is always clamped. `retry`
    /// and `draw` are those of [`backoff`](Self::backoff), `wall_clock` that of
    /// [`RetryHeaders::requested_delay`](crate::RetryHeaders::requested_delay).
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_machine::{ErrorKind, Event, RetryHeaders, RetryPolicy};
    ///
    /// let policy = RetryPolicy::default();
    /// let busy = Event::response(503, RetryHeaders::from_pairs([("Retry-After", "3600")]));
    /// assert_eq!(policy.delay(busy, 1, 0.0, None), Duration::from_secs(60));
    /// assert_eq!(policy.delay(ErrorKind::Timeout, 2, 0.0, None), Duration::from_secs(1));
    /// ```
    pub fn delay<'a>(
        &self,
        event: impl Into<Event<'a>>,
        retry: u32,
        draw: f64,
        wall_clock: Option<SystemTime>,
    ) -> Duration {
        match self.requested_delay(&event.into(), wall_clock) {
            Some(requested) => self.server_delay(requested.delay, || clamp_draw(draw)),
            None => self.backoff(retry, draw),
        }
    }

    /// The range of backoffs before each retry, first to last, computed as it is asked for: `max_retries` of them.
    ///
    /// With the default policy:
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_machine::RetryPolicy;
    ///
    /// let ms = Duration::from_millis;
    /// let schedule: Vec<_> = RetryPolicy::default().schedule().collect();
    /// assert_eq!(schedule, [ms(375)..=ms(500), ms(750)..=ms(1000)]);
    /// ```
    pub fn schedule(&self) -> impl DoubleEndedIterator<Item = RangeInclusive<Duration>> + Clone {
        (1..=self.max_retries()).map(|retry| self.backoff_range(retry))
    }

    /// The longest time that a call can wait by backoff: the total of the upper ends of [`schedule`](Self::schedule),
    /// saturating, in constant time.
    ///
    /// Compared with the budget it shows whether every retry can happen. Attempts take time too, and a server can ask
    /// for longer delays.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_machine::{RetryOptions, RetryPolicy};
    ///
    /// let policy = RetryPolicy::new(RetryOptions::default().max_retries(10))?;
    /// assert_eq!(policy.worst_case_wait(), Duration::from_millis(37_500));
    /// assert!(policy.budget().is_some_and(|budget| policy.worst_case_wait() >= budget), "the last retries cannot happen");
    /// # Ok::<(), retry_machine::PolicyError>(())
    /// ```
    pub fn worst_case_wait(&self) -> Duration {
        // From the first retry with so many doublings before it on, every backoff is that of the last.
        let growing = self.max_retries().min(backoff::ENOUGH_DOUBLINGS);
        let constant = self.backoff(self.max_retries(), 0.0).saturating_mul(self.max_retries() - growing);
        (1..=growing).fold(constant, |total, retry| total.saturating_add(self.backoff(retry, 0.0)))
    }
}

/// What the machine asks.
impl RetryPolicy {
    /// Why the event is not retried, if it is not.
    #[inline]
    pub(crate) fn refusal(&self, event: &Event<'_>) -> Option<Reason> {
        match *event {
            Event::Response { status, ref headers } => {
                let listens = self.respect_should_retry() && status >= 400;
                match headers.should_retry().filter(|_| listens) {
                    Some(true) => None,
                    Some(false) => Some(Reason::ServerRefused),
                    None if self.effective_statuses().contains(status) => None,
                    None => Some(Reason::StatusNotRetryable { status }),
                }
            }
            Event::Error(kind) => (!self.retries_error(kind)).then_some(Reason::ErrorNotRetryable { kind }),
        }
    }

    /// What the server asks for, if it is listened to.
    #[inline]
    pub(crate) fn requested_delay(&self, event: &Event<'_>, wall_clock: Option<SystemTime>) -> Option<RequestedDelay> {
        match event {
            Event::Response { headers, .. } if self.respect_retry_after() => headers.requested(wall_clock),
            _ => None,
        }
    }

    /// [`backoff`](Self::backoff), drawing only where a draw matters.
    #[inline]
    pub(crate) fn backoff_with(&self, retry: u32, draw: impl FnOnce() -> f64) -> Duration {
        let delay = backoff::exponential(self.backoff_initial(), self.backoff_max(), retry);
        backoff::subtract_jitter(delay, self.backoff_jitter(), draw)
    }

    /// The delay that a requested one becomes, drawing only where a draw matters.
    #[inline]
    pub(crate) fn server_delay(&self, requested: Duration, draw: impl FnOnce() -> f64) -> Duration {
        // Not `clamp`, which panics where the minimum is above the maximum: the maximum wins.
        let delay = requested.max(self.retry_after_min()).min(self.retry_after_max());
        backoff::add_jitter(delay, self.retry_after_jitter(), draw)
    }

    fn retries_error(&self, kind: ErrorKind) -> bool {
        let replay = match kind {
            ErrorKind::Connection => self.retry_connection_errors(),
            ErrorKind::Timeout => self.retry_timeout_errors(),
            ErrorKind::PoolTimeout | ErrorKind::NotSent => Replay::Always,
            ErrorKind::Other => Replay::Never,
        };
        match replay {
            Replay::Auto => self.is_safe_to_replay(),
            Replay::Always => true,
            Replay::Never => false,
        }
    }
}

/// A caller's draw as one that the sums can take.
fn clamp_draw(draw: f64) -> f64 {
    // `clamp` keeps NaN, and `max` then drops it.
    draw.clamp(0.0, 1.0).max(0.0)
}
