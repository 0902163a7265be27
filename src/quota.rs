//! A token bucket that the calls to one service share, so that an outage does not multiply their load.

use std::sync::atomic::{AtomicU32, Ordering};

/// A budget of retries for all the calls to one service: retries withdraw tokens, successes bring them back.
///
/// **Every outcome must be given to [`RetryMachine::decide`](crate::RetryMachine::decide), successes too**: a quota that
/// never hears of a success starves, and then no call is retried.
///
/// A retry withdraws 5 tokens, or 10 after a timeout. A success (a response below 400 that is not retried) deposits 1,
/// or, if its own call was retried, gives the last withdrawal back instead. So while all is well the quota stays full,
/// and in an outage retries stop after a hundred of them at the default capacity, or fifty if each follows a timeout, until
/// successes come again. It never falls below
/// zero nor rises above its capacity. There is no clock and no lock in it: one atomic word.
///
/// Whether a shared quota has tokens left depends on the other calls, so a transcript replays only without one.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Instant;
/// use retry_machine::{Decision, Event, RetryHeaders, RetryMachine, RetryPolicy, RetryQuota};
///
/// let quota = Arc::new(RetryQuota::new(7));
/// let policy = RetryPolicy::default();
/// let now = Instant::now();
/// let unavailable = Event::response(503, RetryHeaders::default());
///
/// let mut first = RetryMachine::new(&policy, "GET", 1, now).with_quota(Arc::clone(&quota));
/// let mut second = RetryMachine::new(&policy, "GET", 2, now).with_quota(Arc::clone(&quota));
/// assert_ne!(first.decide(unavailable, now), Decision::GiveUp);
/// assert_eq!(second.decide(unavailable, now), Decision::GiveUp);
/// assert_eq!(second.reason().map(|reason| reason.to_string()).as_deref(), Some("a retry costs 5 tokens and the quota has 2"));
///
/// // The first call succeeds after its retry, and what that cost comes back.
/// assert_eq!(first.decide(Event::response(200, RetryHeaders::default()), now), Decision::GiveUp);
/// assert_eq!(quota.available(), 7);
/// ```
#[derive(Debug)]
pub struct RetryQuota {
    capacity: u32,
    // Guards no other memory, so relaxed operations will do: each is atomic by itself.
    available: AtomicU32,
}

impl RetryQuota {
    /// The default capacity, in tokens: a hundred retries beyond what successes bring back. The AWS SDKs use the same.
    pub const DEFAULT_CAPACITY: u32 = 500;

    /// A full quota of `capacity` tokens. With fewer than 5 it never grants a retry.
    pub fn new(capacity: u32) -> Self {
        Self { capacity, available: AtomicU32::new(capacity) }
    }

    /// The tokens of a full quota.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// The tokens that are left.
    pub fn available(&self) -> u32 {
        self.available.load(Ordering::Relaxed)
    }

    /// Takes `cost` tokens, or none of them and says how many there are.
    pub(crate) fn withdraw(&self, cost: u32) -> Result<(), u32> {
        self.update(|available| available.checked_sub(cost)).map(drop)
    }

    /// Puts `tokens` back, as far as there is room.
    pub(crate) fn deposit(&self, tokens: u32) {
        // Where the sum is what was there, nothing is written: a full quota costs its callers a read.
        let _ = self.update(|available| {
            let sum = available.saturating_add(tokens).min(self.capacity);
            (sum != available).then_some(sum)
        });
    }

    fn update(&self, change: impl FnMut(u32) -> Option<u32>) -> Result<u32, u32> {
        self.available.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change)
    }
}

/// A full quota of [`DEFAULT_CAPACITY`](RetryQuota::DEFAULT_CAPACITY).
impl Default for RetryQuota {
    fn default() -> Self {
        Self::new(Self::DEFAULT_CAPACITY)
    }
}

/// What a retry withdraws. These three are those of the AWS SDKs' standard retry mode.
pub(crate) const RETRY_COST: u32 = 5;

/// What a retry after a timeout withdraws: a timeout says more of a service in trouble, and costs it more.
pub(crate) const TIMEOUT_RETRY_COST: u32 = 10;

/// What a success deposits if its call was not retried.
pub(crate) const SUCCESS_DEPOSIT: u32 = 1;
