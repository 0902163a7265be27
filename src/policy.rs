//! A policy as a value: every option, resolved and valid; building, merging and reading it.

use std::time::Duration;

use crate::options::{PolicyError, Replay, RetryAfterExcess, RetryOptions};
use crate::status::StatusSet;

/// How calls are retried: every option with a value, always valid.
///
/// A policy is a plain value without state, shared by any number of calls; each call has its own
/// [`RetryMachine`](crate::RetryMachine). The default policy has the defaults of [`RetryOptions`]. Two policies are equal if
/// their options and their marked methods are.
///
/// ```
/// use std::time::Duration;
/// use retry_machine::{RetryOptions, RetryPolicy};
///
/// let policy = RetryPolicy::new(RetryOptions::default().max_retries(5))?;
/// let patient = policy.merge(RetryOptions::default().budget(Duration::from_secs(120)))?;
/// assert_eq!(patient.max_retries(), 5);
/// # Ok::<(), retry_machine::PolicyError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy {
    max_retries: u32,
    backoff_initial: Duration,
    backoff_max: Duration,
    backoff_jitter: f64,
    statuses: StatusSet,
    unsafe_statuses: Option<StatusSet>,
    respect_retry_after: bool,
    retry_after_min: Duration,
    retry_after_max: Duration,
    retry_after_excess: RetryAfterExcess,
    retry_after_jitter: f64,
    respect_should_retry: bool,
    retry_connection_errors: Replay,
    retry_timeout_errors: Replay,
    budget: Option<Duration>,
    // The call's method, as far as it matters; none until one is marked.
    safe_to_replay: Option<bool>,
}

/// Building.
impl RetryPolicy {
    /// Options over the defaults; a policy as it is.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] if an option is out of bounds: the first one, as [`RetryOptions::validate`] finds it.
    pub fn new(from: impl Into<RetryOverride>) -> Result<Self, PolicyError> {
        Self::default().merge(from)
    }

    /// The default policy without any retry. Also for a request that cannot be sent again, such as one whose body is a
    /// stream.
    pub fn never() -> Self {
        Self { max_retries: 0, ..Self::default() }
    }

    /// This policy changed by options, or replaced by a policy.
    ///
    /// Options are a set of changes: what they leave unset stays. A policy is finished: it replaces every option, and
    /// the marked method too if it has one.
    ///
    /// ```
    /// use retry_machine::{RetryOptions, RetryPolicy};
    ///
    /// let client = RetryPolicy::new(RetryOptions::default().max_retries(5).backoff_jitter(0.5))?;
    ///
    /// let changed = client.merge(RetryOptions::default().max_retries(1))?;
    /// assert_eq!((changed.max_retries(), changed.backoff_jitter()), (1, 0.5));
    ///
    /// let replaced = client.merge(RetryPolicy::never())?;
    /// assert_eq!((replaced.max_retries(), replaced.backoff_jitter()), (0, 0.25));
    /// # Ok::<(), retry_machine::PolicyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`PolicyError`] if an option is out of bounds: the first one, as [`RetryOptions::validate`] finds it.
    pub fn merge(&self, by: impl Into<RetryOverride>) -> Result<Self, PolicyError> {
        let options = match by.into() {
            RetryOverride::Options(options) => options,
            RetryOverride::Policy(policy) => {
                return Ok(Self { safe_to_replay: policy.safe_to_replay.or(self.safe_to_replay), ..policy });
            }
        };
        options.validate()?;
        // Of valid options every set of statuses is one, so `Result::ok` loses none.
        Ok(Self {
            max_retries: options.max_retries.unwrap_or(self.max_retries),
            backoff_initial: options.backoff_initial.unwrap_or(self.backoff_initial),
            backoff_max: options.backoff_max.unwrap_or(self.backoff_max),
            backoff_jitter: options.backoff_jitter.unwrap_or(self.backoff_jitter),
            statuses: options.statuses.and_then(Result::ok).unwrap_or(self.statuses),
            unsafe_statuses: match options.unsafe_statuses {
                Some(statuses) => statuses.and_then(Result::ok),
                None => self.unsafe_statuses,
            },
            respect_retry_after: options.respect_retry_after.unwrap_or(self.respect_retry_after),
            retry_after_min: options.retry_after_min.unwrap_or(self.retry_after_min),
            retry_after_max: options.retry_after_max.unwrap_or(self.retry_after_max),
            retry_after_excess: options.retry_after_excess.unwrap_or(self.retry_after_excess),
            retry_after_jitter: options.retry_after_jitter.unwrap_or(self.retry_after_jitter),
            respect_should_retry: options.respect_should_retry.unwrap_or(self.respect_should_retry),
            retry_connection_errors: options.retry_connection_errors.unwrap_or(self.retry_connection_errors),
            retry_timeout_errors: options.retry_timeout_errors.unwrap_or(self.retry_timeout_errors),
            budget: options.budget.unwrap_or(self.budget),
            safe_to_replay: self.safe_to_replay,
        })
    }

    /// This policy, marked with the method of a call: it settles [`Replay::Auto`] and
    /// [`unsafe_statuses`](RetryOptions::unsafe_statuses). The last mark wins, and merging options keeps it.
    ///
    /// Safe to replay are `GET`, `HEAD` and `OPTIONS`, in capitals: method tokens are case-sensitive (RFC 9110, 9.1).
    /// A [`RetryMachine`](crate::RetryMachine) marks its policy by itself.
    ///
    /// ```
    /// use retry_machine::{ErrorKind, RetryPolicy};
    ///
    /// let policy = RetryPolicy::default();
    /// assert!(policy.for_method("GET").is_retryable(ErrorKind::Timeout));
    /// assert!(!policy.for_method("POST").is_retryable(ErrorKind::Timeout));
    /// assert!(!policy.is_retryable(ErrorKind::Timeout));
    /// ```
    #[must_use = "it marks a copy"]
    pub fn for_method(&self, method: impl AsRef<str>) -> Self {
        let safe_to_replay = Some(matches!(method.as_ref(), "GET" | "HEAD" | "OPTIONS"));
        Self { safe_to_replay, ..self.clone() }
    }

    /// The statuses that are retried for the marked method.
    #[inline]
    pub(crate) fn effective_statuses(&self) -> &StatusSet {
        match &self.unsafe_statuses {
            Some(statuses) if !self.is_safe_to_replay() => statuses,
            _ => &self.statuses,
        }
    }

    /// Whether a method that is safe to replay is marked.
    #[inline]
    pub(crate) fn is_safe_to_replay(&self) -> bool {
        self.safe_to_replay == Some(true)
    }
}

/// Every option's value.
impl RetryPolicy {
    /// How many retries may follow the first attempt.
    pub fn max_retries(&self) -> u32 {
        self.max_retries
    }

    /// The first backoff delay.
    pub fn backoff_initial(&self) -> Duration {
        self.backoff_initial
    }

    /// The longest backoff delay before jitter.
    pub fn backoff_max(&self) -> Duration {
        self.backoff_max
    }

    /// The fraction of a backoff delay that is randomly subtracted at the most, from 0 to 1.
    pub fn backoff_jitter(&self) -> f64 {
        self.backoff_jitter
    }

    /// The statuses that are retried.
    pub fn statuses(&self) -> StatusSet {
        self.statuses
    }

    /// The statuses that are retried for a method that is not safe to replay; `None` if they are the same as
    /// [`statuses`](Self::statuses).
    pub fn unsafe_statuses(&self) -> Option<StatusSet> {
        self.unsafe_statuses
    }

    /// Whether the server's `retry-after-ms` and `Retry-After` count.
    pub fn respect_retry_after(&self) -> bool {
        self.respect_retry_after
    }

    /// The shortest delay that a server can ask for.
    pub fn retry_after_min(&self) -> Duration {
        self.retry_after_min
    }

    /// The longest delay that a server can ask for.
    pub fn retry_after_max(&self) -> Duration {
        self.retry_after_max
    }

    /// What a requested delay above [`retry_after_max`](Self::retry_after_max) does.
    pub fn retry_after_excess(&self) -> RetryAfterExcess {
        self.retry_after_excess
    }

    /// The fraction of a server's delay that is randomly added at the most, from 0 to 1.
    pub fn retry_after_jitter(&self) -> f64 {
        self.retry_after_jitter
    }

    /// Whether the server's `x-should-retry` counts.
    pub fn respect_should_retry(&self) -> bool {
        self.respect_should_retry
    }

    /// Whether [`ErrorKind::Connection`](crate::ErrorKind::Connection) is retried.
    pub fn retry_connection_errors(&self) -> Replay {
        self.retry_connection_errors
    }

    /// Whether [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) is retried.
    pub fn retry_timeout_errors(&self) -> Replay {
        self.retry_timeout_errors
    }

    /// The time from the machine's start within which the last attempt has to start; `None` for no limit.
    pub fn budget(&self) -> Option<Duration> {
        self.budget
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: DEFAULT_MAX_RETRIES,
            backoff_initial: DEFAULT_BACKOFF_INITIAL,
            backoff_max: DEFAULT_BACKOFF_MAX,
            backoff_jitter: DEFAULT_BACKOFF_JITTER,
            statuses: StatusSet::DEFAULT,
            unsafe_statuses: None,
            respect_retry_after: true,
            retry_after_min: DEFAULT_RETRY_AFTER_MIN,
            retry_after_max: DEFAULT_RETRY_AFTER_MAX,
            retry_after_excess: RetryAfterExcess::Clamp,
            retry_after_jitter: 0.0,
            respect_should_retry: false,
            retry_connection_errors: Replay::Auto,
            retry_timeout_errors: Replay::Auto,
            budget: Some(DEFAULT_BUDGET),
            safe_to_replay: None,
        }
    }
}

/// The options of a policy, every one of them set, so that it can be written back. The marked method is no option.
impl From<&RetryPolicy> for RetryOptions {
    fn from(policy: &RetryPolicy) -> Self {
        Self {
            max_retries: Some(policy.max_retries),
            backoff_initial: Some(policy.backoff_initial),
            backoff_max: Some(policy.backoff_max),
            backoff_jitter: Some(policy.backoff_jitter),
            statuses: Some(Ok(policy.statuses)),
            unsafe_statuses: Some(policy.unsafe_statuses.map(Ok)),
            respect_retry_after: Some(policy.respect_retry_after),
            retry_after_min: Some(policy.retry_after_min),
            retry_after_max: Some(policy.retry_after_max),
            retry_after_excess: Some(policy.retry_after_excess),
            retry_after_jitter: Some(policy.retry_after_jitter),
            respect_should_retry: Some(policy.respect_should_retry),
            retry_connection_errors: Some(policy.retry_connection_errors),
            retry_timeout_errors: Some(policy.retry_timeout_errors),
            budget: Some(policy.budget),
        }
    }
}

/// What can be put over a policy: options or a policy, owned or borrowed. See [`RetryPolicy::merge`].
///
/// Complete: a layer is either a set of changes or finished.
#[derive(Clone, Debug, PartialEq)]
pub enum RetryOverride {
    /// A set of changes: what it leaves unset stays as it is.
    Options(RetryOptions),
    /// A finished policy: it replaces the one below it wholesale.
    Policy(RetryPolicy),
}

impl From<RetryOptions> for RetryOverride {
    fn from(options: RetryOptions) -> Self {
        Self::Options(options)
    }
}

impl From<&RetryOptions> for RetryOverride {
    fn from(options: &RetryOptions) -> Self {
        Self::Options(options.clone())
    }
}

impl From<RetryPolicy> for RetryOverride {
    fn from(policy: RetryPolicy) -> Self {
        Self::Policy(policy)
    }
}

impl From<&RetryPolicy> for RetryOverride {
    fn from(policy: &RetryPolicy) -> Self {
        Self::Policy(policy.clone())
    }
}

// The defaults of both reference implementations.

/// One failure may be chance, and so may a second; a third is an outage.
const DEFAULT_MAX_RETRIES: u32 = 2;

/// Long enough for a server to shed a burst, short enough for a person to wait.
const DEFAULT_BACKOFF_INITIAL: Duration = Duration::from_millis(500);

/// Reached at the fifth retry.
const DEFAULT_BACKOFF_MAX: Duration = Duration::from_secs(5);

/// Spreads a fleet over a quarter of each delay.
const DEFAULT_BACKOFF_JITTER: f64 = 0.25;

/// Keeps `Retry-After: 0` from becoming a tight loop.
const DEFAULT_RETRY_AFTER_MIN: Duration = Duration::from_millis(100);

/// Keeps a server from holding a worker for longer than a minute.
const DEFAULT_RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

/// About as long as a person waits.
const DEFAULT_BUDGET: Duration = Duration::from_secs(30);
