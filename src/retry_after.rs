//! The delay that a server requests: header bytes in, a delay out (RFC 9110, 10.2.3).
//!
//! Whatever a value holds, the answer is a delay or none: no error, no panic, and no zero that the server did not ask
//! for.

use std::fmt;
use std::time::{Duration, SystemTime};

use crate::http_date;

/// Which form a requested delay came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DelaySource {
    /// The `retry-after-ms` header: a number of milliseconds.
    RetryAfterMs,
    /// The `Retry-After` header with a number of seconds.
    RetryAfterSeconds,
    /// The `Retry-After` header with a date.
    RetryAfterDate,
}

impl fmt::Display for DelaySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RetryAfterMs => "retry-after-ms",
            Self::RetryAfterSeconds => "Retry-After",
            Self::RetryAfterDate => "Retry-After date",
        })
    }
}

/// What a server asked for, before any bound is applied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestedDelay {
    pub(crate) source: DelaySource,
    pub(crate) delay: Duration,
}

/// Reads a `retry-after-ms` value: a number of milliseconds.
pub(crate) fn parse_retry_after_ms(value: &[u8]) -> Option<RequestedDelay> {
    let millis = number(text(value)?)?;
    Some(RequestedDelay { source: DelaySource::RetryAfterMs, delay: from_millis_and_secs(millis, millis / 1000.0)? })
}

/// Reads a `Retry-After` value: a number of seconds, or a date that is measured against `wall_clock`, else against the
/// response's own `Date` and `Age`, else not at all.
pub(crate) fn parse_retry_after(
    value: &[u8],
    wall_clock: Option<SystemTime>,
    date: Option<&[u8]>,
    age: Option<&[u8]>,
) -> Option<RequestedDelay> {
    if let Some(secs) = delay_seconds(value) {
        return Some(RequestedDelay { source: DelaySource::RetryAfterSeconds, delay: Duration::from_secs(secs) });
    }
    let value = text(value)?;
    // What is shaped like a number is one, usable or not: it is never tried as a date.
    let (source, delay) = match number(value) {
        Some(secs) => (DelaySource::RetryAfterSeconds, from_millis_and_secs(secs * 1000.0, secs)?),
        None => (DelaySource::RetryAfterDate, until(value, wall_clock, date, age)?),
    };
    Some(RequestedDelay { source, delay })
}

/// How long it is until the date `value`; zero if that has passed.
fn until(value: &str, wall_clock: Option<SystemTime>, date: Option<&[u8]>, age: Option<&[u8]>) -> Option<Duration> {
    // No sum means that the response's time is past the end of `SystemTime`, and so past every date.
    let reference = match wall_clock {
        Some(now) => Some(now),
        None => http_date::parse(text(date?)?, None)?.checked_add(age.map_or(Duration::ZERO, parse_age)),
    };
    let date = http_date::parse(value, reference)?;
    Some(reference.map_or(Duration::ZERO, |now| date.duration_since(now).unwrap_or_default()))
}

/// Reads an `Age` value: seconds, saturating; what is not a whole number counts as none (RFC 9111, 5.1).
///
/// > a cache encountering a message with a list-based Age field value SHOULD use the first member of the field value,
/// > discarding subsequent ones.
fn parse_age(value: &[u8]) -> Duration {
    let first = value.split(|byte| *byte == b',').next().and_then(text).unwrap_or_default();
    if first.is_empty() || !first.bytes().all(|byte| byte.is_ascii_digit()) {
        return Duration::ZERO;
    }
    // Digits fail to be a u64 only where they are too many.
    Duration::from_secs(first.parse().unwrap_or(u64::MAX))
}

/// RFC 9110's own `delay-seconds`, as nearly every server sends it: up to nine digits and nothing around them. [`number`]
/// reads the same, at several times the cost. (Nine digits cannot overflow; the wrapping sums leave no panic in the code.)
fn delay_seconds(value: &[u8]) -> Option<u64> {
    let is_short = matches!(value.len(), 1..=9) && value.iter().all(u8::is_ascii_digit);
    is_short
        .then(|| value.iter().fold(0, |secs: u64, digit| secs.wrapping_mul(10).wrapping_add(u64::from(digit & 0x0F))))
}

/// A number: `[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?`, and the empty value is 0. `None` for what is not shaped
/// like one.
fn number(value: &str) -> Option<f64> {
    if value.is_empty() {
        return Some(0.0);
    }
    // `f64::from_str` takes just this shape, and also `inf` and `nan`: these are no dates either, and go the way of a
    // number that is not finite.
    value.parse().ok()
}

/// The delay of a number that is not negative and whose milliseconds are finite, saturating. Both units are passed, so
/// that the one that was sent is used as it came.
fn from_millis_and_secs(millis: f64, secs: f64) -> Option<Duration> {
    // Minus zero is zero, and is not below it.
    if !(millis >= 0.0 && millis.is_finite()) {
        return None;
    }
    Some(Duration::try_from_secs_f64(secs).unwrap_or(Duration::MAX))
}

/// The text of a value without the white space around it.
fn text(value: &[u8]) -> Option<&str> {
    Some(std::str::from_utf8(value).ok()?.trim())
}
