//! Options: what a layer of configuration sets, and only that.

use std::time::Duration;

use crate::status::StatusSet;

/// A set of changes to a [`RetryPolicy`](crate::RetryPolicy): every option, each of them set or unset.
///
/// Options are not checked until [`validate`](Self::validate) or [`RetryPolicy::new`](crate::RetryPolicy::new), so
/// setters chain. With the feature `serde` they are also configuration, under the names of the setters: see the
/// implementation of `Deserialize` for the form of each.
///
/// ```
/// use std::time::Duration;
/// use retry_machine::{RetryOptions, RetryPolicy};
///
/// let client = RetryOptions::default().max_retries(5).budget(Duration::from_secs(60));
/// let call = RetryOptions::default().max_retries(1);
/// let policy = RetryPolicy::new(client.merge(call))?;
/// assert_eq!(policy.max_retries(), 1);
/// assert_eq!(policy.budget(), Some(Duration::from_secs(60)));
/// # Ok::<(), retry_machine::PolicyError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "setters return the changed options"]
pub struct RetryOptions {
    pub(crate) max_retries: Option<u32>,
    pub(crate) backoff_initial: Option<Duration>,
    pub(crate) backoff_max: Option<Duration>,
    pub(crate) backoff_jitter: Option<f64>,
    // A set, or the first code that cannot be in one.
    pub(crate) statuses: Option<Result<StatusSet, u16>>,
    // Set to none: the same as `statuses`.
    pub(crate) unsafe_statuses: Option<Option<Result<StatusSet, u16>>>,
    pub(crate) respect_retry_after: Option<bool>,
    pub(crate) retry_after_min: Option<Duration>,
    pub(crate) retry_after_max: Option<Duration>,
    pub(crate) retry_after_excess: Option<RetryAfterExcess>,
    pub(crate) retry_after_jitter: Option<f64>,
    pub(crate) respect_should_retry: Option<bool>,
    pub(crate) retry_connection_errors: Option<Replay>,
    pub(crate) retry_timeout_errors: Option<Replay>,
    // Set to none: no limit.
    pub(crate) budget: Option<Option<Duration>>,
}

impl RetryOptions {
    /// How many retries may follow the first attempt. Default 2; 0 disables retries.
    pub fn max_retries(self, count: u32) -> Self {
        Self { max_retries: Some(count), ..self }
    }

    /// The first backoff delay, doubled for each further retry. Default 500 ms; zero disables backoff, so that every
    /// retry without a server's delay comes at once.
    pub fn backoff_initial(self, delay: Duration) -> Self {
        Self { backoff_initial: Some(delay), ..self }
    }

    /// The longest backoff delay before jitter. Default 5 s; zero disables backoff.
    ///
    /// It may be below the first delay, and then caps that too.
    pub fn backoff_max(self, delay: Duration) -> Self {
        Self { backoff_max: Some(delay), ..self }
    }

    /// The fraction of a backoff delay that is randomly subtracted at the most, from 0 to 1. Default 0.25; 0 makes
    /// backoff exact.
    pub fn backoff_jitter(self, fraction: f64) -> Self {
        Self { backoff_jitter: Some(fraction), ..self }
    }

    /// The statuses that are retried, each from 100 to 999. Default 408, 429 and 500 to 599; empty to retry none.
    ///
    /// A status is retried for every method; see [`unsafe_statuses`](Self::unsafe_statuses) to be stricter. [`validate`](Self::validate) and [`RetryPolicy::new`](crate::RetryPolicy::new) report the first
    /// code that is out of bounds.
    ///
    /// ```
    /// use retry_machine::RetryOptions;
    ///
    /// let options = RetryOptions::default().statuses([429].into_iter().chain(500..=504));
    /// assert_eq!(options.validate(), Ok(()));
    /// assert!(options.statuses([429, 99]).validate().is_err());
    /// ```
    pub fn statuses(self, codes: impl IntoIterator<Item = u16>) -> Self {
        Self { statuses: Some(StatusSet::collect(codes)), ..self }
    }

    /// The statuses that are retried for a method that is not safe to replay (anything but `GET`, `HEAD` and
    /// `OPTIONS`), each from 100 to 999. Unset by default: the same as [`statuses`](Self::statuses).
    ///
    /// For a service that may have acted on a request and still answers 500 or 504.
    pub fn unsafe_statuses(self, codes: impl IntoIterator<Item = u16>) -> Self {
        Self { unsafe_statuses: Some(Some(StatusSet::collect(codes))), ..self }
    }

    /// Takes [`unsafe_statuses`](Self::unsafe_statuses) of an earlier layer back: every method has the same statuses.
    pub fn same_unsafe_statuses(self) -> Self {
        Self { unsafe_statuses: Some(None), ..self }
    }

    /// Whether the server's `retry-after-ms` and `Retry-After` count. Default true.
    pub fn respect_retry_after(self, respect: bool) -> Self {
        Self { respect_retry_after: Some(respect), ..self }
    }

    /// The shortest delay that a server can ask for: a requested delay is raised to it. Default 100 ms.
    ///
    /// `Retry-After: 0`, an empty header and a date in the past all ask for no delay at all. The minimum keeps a
    /// struggling server from being retried in a tight loop.
    pub fn retry_after_min(self, delay: Duration) -> Self {
        Self { retry_after_min: Some(delay), ..self }
    }

    /// The longest delay that a server can ask for: a requested delay is lowered to it. Default 60 s.
    ///
    /// If it is below [`retry_after_min`](Self::retry_after_min), the maximum wins.
    pub fn retry_after_max(self, delay: Duration) -> Self {
        Self { retry_after_max: Some(delay), ..self }
    }

    /// What a requested delay above [`retry_after_max`](Self::retry_after_max) does. Default
    /// [`RetryAfterExcess::Clamp`].
    pub fn retry_after_excess(self, excess: RetryAfterExcess) -> Self {
        Self { retry_after_excess: Some(excess), ..self }
    }

    /// The fraction of a server's delay that is randomly **added** at the most, from 0 to 1. Default 0.
    ///
    /// It spreads a fleet of clients that were all told "20 s", and is added after the bounds are applied: a delay may
    /// pass [`retry_after_max`](Self::retry_after_max) by this fraction, and never comes before the server allows it.
    pub fn retry_after_jitter(self, fraction: f64) -> Self {
        Self { retry_after_jitter: Some(fraction), ..self }
    }

    /// Whether the server's `x-should-retry` counts on a response with a status from 400 on. Default false.
    ///
    /// `true` makes the response retryable whatever its status; `false` gives up.
    pub fn respect_should_retry(self, respect: bool) -> Self {
        Self { respect_should_retry: Some(respect), ..self }
    }

    /// Whether [`ErrorKind::Connection`](crate::ErrorKind::Connection) is retried. Default [`Replay::Auto`]; a `bool`
    /// will do.
    pub fn retry_connection_errors(self, replay: impl Into<Replay>) -> Self {
        Self { retry_connection_errors: Some(replay.into()), ..self }
    }

    /// Whether [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) is retried. Default [`Replay::Auto`]; a `bool` will do.
    pub fn retry_timeout_errors(self, replay: impl Into<Replay>) -> Self {
        Self { retry_timeout_errors: Some(replay.into()), ..self }
    }

    /// The time from the machine's start within which the last attempt has to start. Default 30 s; zero allows no
    /// retry.
    ///
    /// The budget cuts no attempt short: a call can overrun it by up to one attempt's own timeout, which
    /// [`RetryMachine::remaining_budget`](crate::RetryMachine::remaining_budget) can shorten.
    pub fn budget(self, limit: Duration) -> Self {
        Self { budget: Some(Some(limit)), ..self }
    }

    /// Sets the [`budget`](Self::budget) to none: retries may go on for any time.
    pub fn no_budget(self) -> Self {
        Self { budget: Some(None), ..self }
    }

    /// These options, but for those that `later` sets: they are as `later` has them.
    #[expect(clippy::needless_pass_by_value, reason = "merging uses up both layers alike")]
    pub fn merge(self, later: RetryOptions) -> Self {
        Self {
            max_retries: later.max_retries.or(self.max_retries),
            backoff_initial: later.backoff_initial.or(self.backoff_initial),
            backoff_max: later.backoff_max.or(self.backoff_max),
            backoff_jitter: later.backoff_jitter.or(self.backoff_jitter),
            statuses: later.statuses.or(self.statuses),
            unsafe_statuses: later.unsafe_statuses.or(self.unsafe_statuses),
            respect_retry_after: later.respect_retry_after.or(self.respect_retry_after),
            retry_after_min: later.retry_after_min.or(self.retry_after_min),
            retry_after_max: later.retry_after_max.or(self.retry_after_max),
            retry_after_excess: later.retry_after_excess.or(self.retry_after_excess),
            retry_after_jitter: later.retry_after_jitter.or(self.retry_after_jitter),
            respect_should_retry: later.respect_should_retry.or(self.respect_should_retry),
            retry_connection_errors: later.retry_connection_errors.or(self.retry_connection_errors),
            retry_timeout_errors: later.retry_timeout_errors.or(self.retry_timeout_errors),
            budget: later.budget.or(self.budget),
        }
    }

    /// Checks the options that are set, and fills none in: what passes can still be merged as a set of changes.
    ///
    /// # Errors
    ///
    /// The same that [`RetryPolicy::new`](crate::RetryPolicy::new) would give: [`PolicyError`] for the first option, in
    /// the order of the setters, that is out of bounds.
    ///
    /// ```
    /// use retry_machine::RetryOptions;
    ///
    /// let error = RetryOptions::default().backoff_jitter(1.5).validate().unwrap_err();
    /// assert_eq!(error.to_string(), "`backoff_jitter`: found 1.5, expected a number from 0 to 1");
    /// ```
    pub fn validate(&self) -> Result<(), PolicyError> {
        check_fraction("backoff_jitter", self.backoff_jitter)?;
        check_statuses("statuses", self.statuses)?;
        check_statuses("unsafe_statuses", self.unsafe_statuses.flatten())?;
        check_fraction("retry_after_jitter", self.retry_after_jitter)
    }
}

/// Whether an error that may have reached the server is retried.
///
/// Complete: there is no fourth answer. From a `bool` it is [`Always`](Self::Always) or [`Never`](Self::Never).
///
/// ```
/// use retry_machine::{ErrorKind, Replay, RetryOptions, RetryPolicy};
///
/// // The request carries an idempotency key.
/// let options = RetryOptions::default().retry_timeout_errors(Replay::Always);
/// assert!(RetryPolicy::new(options)?.for_method("POST").is_retryable(ErrorKind::Timeout));
/// # Ok::<(), retry_machine::PolicyError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Replay {
    /// For a method that is safe to replay: `GET`, `HEAD` and `OPTIONS`, the safe methods of RFC 9110, 9.2.1, but for
    /// `TRACE`. `PUT` and `DELETE` are idempotent (9.2.2) and still not among them: a replay may undo what another client
    /// did in between.
    #[default]
    Auto,
    /// For every method. Right where a request carries an idempotency key that the server honours.
    Always,
    /// For no method.
    Never,
}

impl From<bool> for Replay {
    fn from(retry: bool) -> Self {
        if retry { Self::Always } else { Self::Never }
    }
}

/// What a requested delay above [`retry_after_max`](RetryOptions::retry_after_max) does. What is compared is the delay as it
/// came, before [`retry_after_min`](RetryOptions::retry_after_min) and any jitter.
///
/// ```
/// use std::time::Instant;
/// use retry_machine::{Decision, Event, RetryAfterExcess, RetryHeaders, RetryMachine, RetryOptions, RetryPolicy};
///
/// let policy = RetryPolicy::new(RetryOptions::default().retry_after_excess(RetryAfterExcess::GiveUp))?;
/// let now = Instant::now();
/// let mut machine = RetryMachine::new(&policy, "GET", 1, now);
/// let headers = RetryHeaders::from_pairs([("Retry-After", "3600")]);
/// assert_eq!(machine.decide(Event::response(503, headers), now), Decision::GiveUp);
/// # Ok::<(), retry_machine::PolicyError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RetryAfterExcess {
    /// The delay is lowered to the maximum: the next attempt comes before the server allows it.
    #[default]
    Clamp,
    /// The call gives up: [`Reason::ServerDelayTooLong`](crate::Reason::ServerDelayTooLong).
    GiveUp,
}

/// Why options make no policy. It names the option, the value and the bound.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A fraction is outside 0..=1, or NaN.
    #[error("`{option}`: found {value}, expected a number from 0 to 1")]
    Fraction {
        /// The name of the option.
        option: &'static str,
        /// What it was set to.
        value: f64,
    },
    /// A status is outside 100..=999.
    #[error("`{option}`: found {code}, expected statuses from 100 to 999")]
    Status {
        /// The name of the option.
        option: &'static str,
        /// The first code that is out of bounds.
        code: u16,
    },
}

/// Equal bit for bit, so that an error that reports NaN equals itself.
impl PartialEq for PolicyError {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Fraction { option: a, value: x }, Self::Fraction { option: b, value: y }) => {
                a == b && x.to_bits() == y.to_bits()
            }
            (Self::Status { option: a, code: x }, Self::Status { option: b, code: y }) => a == b && x == y,
            _ => false,
        }
    }
}

impl Eq for PolicyError {}

fn check_fraction(option: &'static str, value: Option<f64>) -> Result<(), PolicyError> {
    match value {
        // NaN is in no range.
        Some(value) if !(0.0..=1.0).contains(&value) => Err(PolicyError::Fraction { option, value }),
        _ => Ok(()),
    }
}

fn check_statuses(option: &'static str, statuses: Option<Result<StatusSet, u16>>) -> Result<(), PolicyError> {
    match statuses {
        Some(Err(code)) => Err(PolicyError::Status { option, code }),
        _ => Ok(()),
    }
}
