//! What to do next, and why.

use std::fmt;
use std::time::Duration;

use crate::event::ErrorKind;
use crate::retry_after::DelaySource;

/// What to do after an attempt.
///
/// These are all there are: a call goes on or it ends. Why it does is in [`RetryMachine::reason`].
///
/// [`RetryMachine::reason`]: crate::RetryMachine::reason
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "a decision is advice: the caller waits, sends again or returns"]
pub enum Decision {
    /// Wait this long, counted from the `now` of the decision, then make the next attempt. The delay may be zero.
    RetryAfter(Duration),
    /// Make no further attempt, and return what the last one gave: a success ends here too.
    GiveUp,
}

/// Why a decision was taken, with the numbers that it was taken by. [`Display`](fmt::Display) says it in one line for a
/// log.
///
/// ```
/// use std::time::{Duration, Instant};
/// use retry_machine::{Decision, Event, Reason, RetryHeaders, RetryMachine, RetryPolicy};
///
/// let start = Instant::now();
/// let mut machine = RetryMachine::new(&RetryPolicy::default(), "POST", 1, start);
///
/// let busy = Event::response(429, RetryHeaders::from_pairs([("Retry-After", "20")]));
/// assert_eq!(machine.decide(busy, start), Decision::RetryAfter(Duration::from_secs(20)));
/// let reason = machine.reason().expect("a decision was taken");
/// assert_eq!(reason.to_string(), "the server asked for 20s (Retry-After); waiting 20s before retry 1");
///
/// assert_eq!(machine.decide(busy, start + Duration::from_millis(20_800)), Decision::GiveUp);
/// let reason = machine.reason().expect("a decision was taken");
/// assert_eq!(reason.to_string(), "20s more after 20.8s would pass the 30s budget");
/// assert_eq!(reason.name(), "budget_exhausted");
/// assert!(matches!(reason, Reason::BudgetExhausted { budget, .. } if budget == Duration::from_secs(30)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// Retry granted, at the time that the server asked for.
    ServerDelay {
        /// Which retry this is; the first is 1.
        retry: u32,
        /// The form that the requested delay came in.
        source: DelaySource,
        /// What the server asked for.
        requested: Duration,
        /// What is waited: the requested delay within its bounds, plus any jitter.
        delay: Duration,
    },
    /// Retry granted, by exponential backoff: the server asked for no usable delay, or is not listened to.
    Backoff {
        /// Which retry this is; the first is 1.
        retry: u32,
        /// What is waited.
        delay: Duration,
    },
    /// Given up: a response whose status is not retried, a success for instance.
    StatusNotRetryable {
        /// The status of the response.
        status: u16,
    },
    /// Given up: an error that is not retried, or not for this method.
    ErrorNotRetryable {
        /// The kind of the error.
        kind: ErrorKind,
    },
    /// Given up: the server said `x-should-retry: false`.
    ServerRefused,
    /// Given up: every retry that the policy allows has been made.
    RetriesExhausted {
        /// How many retries the policy allows.
        max_retries: u32,
        /// What the server asked for, unclamped, if it asked for anything usable and is listened to.
        requested: Option<Duration>,
    },
    /// Given up: the server asked for a longer delay than the policy accepts.
    ServerDelayTooLong {
        /// What the server asked for.
        requested: Duration,
        /// The longest requested delay that the policy accepts.
        max: Duration,
    },
    /// Given up: the next attempt would start when the budget is used up, or later.
    BudgetExhausted {
        /// The time since the machine's start.
        elapsed: Duration,
        /// What would have been waited.
        delay: Duration,
        /// The time that the policy allows until the last attempt starts.
        budget: Duration,
        /// What the server asked for, unclamped, if it asked for anything usable and is listened to.
        requested: Option<Duration>,
    },
    /// Given up: the quota that the calls to a service share has too few tokens left.
    QuotaExhausted {
        /// The tokens that were left.
        available: u32,
        /// The tokens that the retry would have cost.
        cost: u32,
    },
}

impl Reason {
    /// The name of the reason in `snake_case`, for metrics and transcripts: `server_delay`, `backoff`,
    /// `status_not_retryable`, `error_not_retryable`, `server_refused`, `retries_exhausted`, `server_delay_too_long`,
    /// `budget_exhausted` or `quota_exhausted`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ServerDelay { .. } => "server_delay",
            Self::Backoff { .. } => "backoff",
            Self::StatusNotRetryable { .. } => "status_not_retryable",
            Self::ErrorNotRetryable { .. } => "error_not_retryable",
            Self::ServerRefused => "server_refused",
            Self::RetriesExhausted { .. } => "retries_exhausted",
            Self::ServerDelayTooLong { .. } => "server_delay_too_long",
            Self::BudgetExhausted { .. } => "budget_exhausted",
            Self::QuotaExhausted { .. } => "quota_exhausted",
        }
    }

    /// The decision that was taken for this reason.
    #[inline]
    pub fn decision(&self) -> Decision {
        match *self {
            Self::ServerDelay { delay, .. } | Self::Backoff { delay, .. } => Decision::RetryAfter(delay),
            Self::StatusNotRetryable { .. }
            | Self::ErrorNotRetryable { .. }
            | Self::ServerRefused
            | Self::RetriesExhausted { .. }
            | Self::ServerDelayTooLong { .. }
            | Self::BudgetExhausted { .. }
            | Self::QuotaExhausted { .. } => Decision::GiveUp,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ServerDelay { retry, source, requested, delay } => {
                let (requested, delay) = (Shown(requested), Shown(delay));
                write!(f, "the server asked for {requested} ({source}); waiting {delay} before retry {retry}")
            }
            Self::Backoff { retry, delay } => write!(f, "backing off {} before retry {retry}", Shown(delay)),
            Self::StatusNotRetryable { status } if status < 400 => write!(f, "status {status} needs no retry"),
            Self::StatusNotRetryable { status } => write!(f, "status {status} is not retried"),
            Self::ErrorNotRetryable { kind: kind @ ErrorKind::Other } => write!(f, "a {kind} is never retried"),
            Self::ErrorNotRetryable { kind } => {
                write!(f, "a {kind} is not retried: the server may have acted on the request")
            }
            Self::ServerRefused => f.write_str("the server asked not to retry (x-should-retry: false)"),
            Self::RetriesExhausted { max_retries, requested } => {
                match max_retries {
                    0 => f.write_str("no retry is allowed (max_retries 0)"),
                    1 => f.write_str("the only retry allowed has been made (max_retries 1)"),
                    _ => write!(f, "all {max_retries} retries allowed have been made"),
                }?;
                requested.map_or(Ok(()), |requested| write!(f, "; the server asked for {}", Shown(requested)))
            }
            Self::ServerDelayTooLong { requested, max } => {
                write!(f, "the server asked for {}, longer than the {} that are accepted", Shown(requested), Shown(max))
            }
            Self::BudgetExhausted { elapsed, delay, budget, requested } => {
                write!(f, "{} more after {} would pass the {} budget", Shown(delay), Shown(elapsed), Shown(budget))?;
                // Where the delay is what the server asked for, it has just been said.
                match requested.filter(|requested| *requested != delay) {
                    Some(requested) => write!(f, "; the server asked for {}", Shown(requested)),
                    None => Ok(()),
                }
            }
            Self::QuotaExhausted { available, cost } => {
                write!(f, "a retry costs {cost} tokens and the quota has {available}")
            }
        }
    }
}

/// A duration in a log line: as its `Debug` has it (`20.8s`), but for zero, which that writes as `0ns`.
struct Shown(Duration);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_zero() { f.write_str("0s") } else { write!(f, "{:?}", self.0) }
    }
}
