//! A pure, sans-IO decision engine for HTTP retries.
//!
//! (crate docs to come)

// The library has no clock, no wait, no thread, no socket and no lock: `clippy.toml` lists what that means.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod backoff;
#[cfg(feature = "serde")]
mod config;
mod decision;
mod event;
mod http_date;
mod machine;
mod options;
mod policy;
mod quota;
mod retry_after;
mod rng;
mod status;

pub use decision::{Decision, Reason};
pub use event::{ErrorKind, Event, HeaderPair, RetryHeaders};
pub use machine::RetryMachine;
pub use options::{PolicyError, Replay, RetryAfterExcess, RetryOptions};
pub use policy::{RetryOverride, RetryPolicy};
pub use quota::RetryQuota;
pub use rand_core;
pub use retry_after::DelaySource;
pub use rng::{FixedDraw, SeededRng};
pub use status::StatusSet;
