//! The calls that must not panic, each as a function that keeps its name in the machine code.

use std::hint::black_box;
use std::time::{Duration, Instant, SystemTime};

use retry_machine::{Decision, Event, RetryHeaders, RetryMachine, RetryPolicy};

#[inline(never)]
fn decide(machine: &mut RetryMachine, event: Event<'_>, now: Instant) -> Decision {
    machine.decide(event, now)
}

#[inline(never)]
fn requested_delay(headers: &RetryHeaders<'_>, wall_clock: Option<SystemTime>) -> Option<Duration> {
    headers.requested_delay(wall_clock)
}

#[inline(never)]
fn backoff(policy: &RetryPolicy, retry: u32, draw: f64) -> Duration {
    policy.backoff(retry, draw)
}

#[inline(never)]
fn delay(policy: &RetryPolicy, event: Event<'_>, retry: u32, draw: f64, wall_clock: Option<SystemTime>) -> Duration {
    policy.delay(event, retry, draw, wall_clock)
}

#[inline(never)]
fn from_pairs<'a>(pairs: &'a [(&'a str, &'a [u8])]) -> RetryHeaders<'a> {
    RetryHeaders::from_pairs(pairs)
}

/// Panics, so that the search can show that it would find it.
#[inline(never)]
fn planted(values: &[u8], index: usize) -> u8 {
    values[index]
}

/// Makes every function above one that somebody may call with anything.
pub fn keep() {
    black_box(decide as fn(&mut _, Event<'static>, _) -> _);
    black_box(requested_delay as fn(&RetryHeaders<'static>, _) -> _);
    black_box(backoff as fn(&_, _, _) -> _);
    black_box(delay as fn(&_, Event<'static>, _, _, _) -> _);
    black_box(from_pairs as fn(&'static [_]) -> _);
    black_box(planted as fn(&_, _) -> _);
}
