//! A pure, sans-IO decision engine for HTTP retries: it is told how an attempt ended and what time it is, and answers
//! *retry after this long* or *give up*, and why.
//!
//! Everything else is the caller's. **IO**: the caller sends requests, with any client, blocking or async. **Time**: the
//! caller passes `now` and waits. **Randomness**: the caller passes a seed. The engine never reads a clock, sleeps, opens
//! a socket, spawns, locks or draws entropy, and a decision allocates nothing. So it fits into any stack, and a whole
//! call with its waits can be tested in a microsecond.
//!
//! ```
//! use std::hash::{BuildHasher, RandomState};
//! use std::thread::sleep;
//! use std::time::{Duration, Instant, SystemTime};
//!
//! use retry_machine::{Decision, Event, RetryHeaders, RetryMachine, RetryOptions, RetryPolicy};
//!
//! # struct Response { status: u16, headers: Vec<(String, String)> }
//! # let mut attempts = vec![
//! #     Response { status: 200, headers: vec![] },
//! #     Response { status: 503, headers: vec![("Retry-After".into(), "0".into())] },
//! # ];
//! # let mut send = || attempts.pop().unwrap();
//! let policy = RetryPolicy::new(RetryOptions::default().budget(Duration::from_secs(10)))?;
//!
//! let seed = RandomState::new().hash_one(0);
//! let mut machine =
//!     RetryMachine::new(&policy, "GET", seed, Instant::now()).with_wall_clock(SystemTime::now());
//! let response = loop {
//!     let response = send(); // any client
//!     let event = Event::response(response.status, RetryHeaders::from_pairs(&response.headers));
//!     match machine.decide(event, Instant::now()) {
//!         Decision::RetryAfter(delay) => sleep(delay), // any timer
//!         Decision::GiveUp => break response,          // a success ends here too
//!     }
//! };
//! assert_eq!((response.status, machine.retry_count()), (200, 1));
//! # Ok::<(), retry_machine::PolicyError>(())
//! ```
//!
//! # Driving the machine
//!
//! 1. Build a [`RetryPolicy`] once, from [`RetryOptions`] or from configuration. It is a plain value: share it.
//! 2. For each call make a [`RetryMachine`] with the policy, the request's method, a fresh seed and the time. Give it the
//!    wall clock if the local one can be trusted, and a [`RetryQuota`] if calls to the service share one.
//! 3. Send the request, and cap the attempt's own timeout by [`RetryMachine::remaining_budget`] if it has to be kept.
//! 4. Turn what came back into an [`Event`]: status and headers, or an [`ErrorKind`] that says whether the server may have
//!    seen the request. If the body matters, read it first: a body that breaks is an error *instead of* a response.
//! 5. Ask [`RetryMachine::decide`]. On [`Decision::RetryAfter`] wait and go to 3; on [`Decision::GiveUp`] return what the
//!    last attempt gave, whether it was a success or not. The engine only ever borrowed it.
//! 6. Log [`RetryMachine::reason`].
//!
//! An *attempt* is any try, the first included; a *retry* is an attempt after the first. `max_retries` of 2 allows three
//! attempts.
//!
//! # The decision, in order
//!
//! 1. A machine that has given up gives up again.
//! 2. Is the event retryable? A status that is not in `statuses`, and an error that is not retried for the method, give
//!    up. So does a success: there is nothing to retry. If `respect_should_retry` holds, `x-should-retry` has the last word.
//! 3. Have `max_retries` retries been made? Give up.
//! 4. The delay is the server's, from `retry-after-ms` or `Retry-After`, raised to `retry_after_min` and lowered to
//!    `retry_after_max`; else `min(backoff_initial * 2^(retry - 1), backoff_max)` less up to `backoff_jitter` of it. The
//!    retry number advances either way. With `retry_after_excess` at give up, a longer delay than `retry_after_max` gives up.
//! 5. Would the next attempt start at the end of the `budget` or later? Give up now, not after the wait. Has the quota too
//!    few tokens? Give up.
//! 6. Otherwise the retry is counted, and granted.
//!
//! The defaults are in the [setters of `RetryOptions`](RetryOptions#implementations).
//!
//! # The two clocks
//!
//! `now` is monotonic: an [`Instant`](std::time::Instant). It alone enters the budget, as the time since the machine's
//! start. A `now` before the start counts as the start. On some systems `Instant` stops while the machine is suspended:
//! the budget counts what `now` counts.
//!
//! The wall clock is a [`SystemTime`](std::time::SystemTime), and is needed only to measure a `Retry-After` *date*. It is
//! given once, at the start, and from there advances by `now`. A caller who distrusts the local clock gives none: then a
//! date is measured against the response's own `Date` and `Age`, and no skew can hurt.
//!
//! # Determinism and transcripts
//!
//! The policy, the method, the seed and the events with their times settle every decision, on every platform: a
//! transcript replays. A draw is taken only where jitter meets a delay that is not zero, and which draw a seed gives is
//! part of the contract of this crate. (A quota depends on the other calls, so transcripts replay without one.)
//! [`FixedDraw`] makes every draw the same. The `oracle` example replays transcripts in JSON, as a judge of other
//! implementations.
//!
//! # What it does not do
//!
//! - It sends nothing and waits for nothing. A decision is advice: a retry still has to pass the caller's own rate limiter.
//! - It cuts no attempt short: a call can overrun its budget by up to one attempt's timeout.
//! - It does not know whether a request can be sent again. Use [`RetryPolicy::never`] for one that cannot.
//! - It opens no circuit breaker and hedges no requests.
//!
//! # Features
//!
//! None is on by default.
//!
//! - `http`: [`Event`] and [`RetryHeaders`] from the types of the [`http`](https://docs.rs/http/1) crate.
//! - `serde`: [`RetryOptions`] and [`RetryPolicy`] as configuration. Durations are whole milliseconds, and every error
//!   names the option, and the value and what was expected where it is that.
//!
//! # Minimum supported Rust version
//!
//! Rust 1.85. A newer one is required only by a new minor version.
//!
//! # Guide
//!
//! The [`guide`] answers what users ask: why did it give up, why did it wait so long, is my POST safe?

// The library has no clock, no wait, no thread, no IO, no lock and no entropy: `clippy.toml` lists what that means.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod backoff;
#[cfg(feature = "serde")]
mod config;
mod decision;
mod event;
pub mod guide;
mod http_date;
mod machine;
mod options;
mod policy;
mod quota;
mod retry_after;
mod rng;
mod rules;
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

/// Compiles and runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
