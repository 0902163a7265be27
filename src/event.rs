//! How an attempt ended: with a response or an error kind, borrowed from the caller.

use std::fmt;
use std::time::{Duration, SystemTime};

use crate::retry_after::{self, RequestedDelay};

/// How one attempt ended. It borrows the headers: the response stays the caller's.
///
/// ```
/// use retry_machine::{ErrorKind, Event, RetryHeaders};
///
/// let headers = [("Retry-After", "20"), ("Content-Type", "text/plain")];
/// let busy = Event::response(503, RetryHeaders::from_pairs(&headers));
/// let cut_off = Event::from(ErrorKind::Connection);
/// # let _ = (busy, cut_off);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A response arrived, whatever its status.
    Response {
        /// The status code. Any value may come in; one outside 100..=999 is in no set of statuses.
        status: u16,
        /// The headers that matter here.
        headers: RetryHeaders<'a>,
    },
    /// No response arrived, or its body could not be read.
    Error(ErrorKind),
}

impl<'a> Event<'a> {
    /// A response with this status and these headers.
    pub fn response(status: u16, headers: impl Into<RetryHeaders<'a>>) -> Self {
        Self::Response { status, headers: headers.into() }
    }

    /// The same event, but for what a date could be measured against.
    pub(crate) fn without_date(&self) -> Self {
        match *self {
            Self::Response { status, headers } => {
                Self::Response { status, headers: RetryHeaders { date: None, ..headers } }
            }
            Self::Error(kind) => Self::Error(kind),
        }
    }
}

impl From<ErrorKind> for Event<'_> {
    fn from(kind: ErrorKind) -> Self {
        Self::Error(kind)
    }
}

/// Why an attempt gave no response, as far as a retry depends on it: may the server have seen the request?
///
/// Where a transport's error leaves that open, [`Connection`](Self::Connection) is the safe choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The exchange broke and something may have been sent: reset, closed early, a TLS or protocol error; also a
    /// connect failure whose cause is unknown. Retried by
    /// [`retry_connection_errors`](crate::RetryOptions::retry_connection_errors).
    Connection,
    /// One attempt timed out: the failure most likely to have reached the server. Retried by
    /// [`retry_timeout_errors`](crate::RetryOptions::retry_timeout_errors).
    Timeout,
    /// No connection came free in the connection pool in time: nothing was sent. Always retried.
    PoolTimeout,
    /// Not one byte of the request left, and the caller knows it: DNS failed, the connection was refused or timed out
    /// while connecting, HTTP/2 `REFUSED_STREAM`. Always retried.
    ///
    /// Of the first hop, that is: if a transport follows redirects by itself, the second host may refuse what the first
    /// has acted on. So do not let it, or use [`Connection`](Self::Connection).
    NotSent,
    /// Anything that another attempt would only repeat (a bad URL, a body that cannot be encoded, too many redirects, a
    /// certificate that was rejected), or that is not to be repeated: a call that was cancelled. Never retried.
    Other,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connection => "connection error",
            Self::Timeout => "timeout",
            Self::PoolTimeout => "pool timeout",
            Self::NotSent => "not-sent error",
            Self::Other => "permanent error",
        })
    }
}

/// The few headers of a response that a retry depends on, borrowed: `retry-after-ms`, `Retry-After`, `Date`, `Age` and
/// `x-should-retry`.
///
/// The default has none of them. A value may be any bytes; one that makes no sense counts as absent.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct RetryHeaders<'a> {
    retry_after_ms: Option<&'a [u8]>,
    retry_after: Option<&'a [u8]>,
    date: Option<&'a [u8]>,
    age: Option<&'a [u8]>,
    should_retry: Option<&'a [u8]>,
}

impl<'a> RetryHeaders<'a> {
    /// Asks a map of headers for those that matter, by lower-case name. For a repeated header `get` returns the first.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use std::time::Duration;
    /// use retry_machine::RetryHeaders;
    ///
    /// let map = HashMap::from([("retry-after", "20")]);
    /// let headers = RetryHeaders::from_fn(|name| map.get(name));
    /// assert_eq!(headers.requested_delay(None), Some(Duration::from_secs(20)));
    /// ```
    #[inline]
    pub fn from_fn<V: AsRef<[u8]> + ?Sized + 'a>(mut get: impl FnMut(&'static str) -> Option<&'a V>) -> Self {
        let mut value = |name| get(name).map(AsRef::as_ref);
        Self {
            retry_after_ms: value(RETRY_AFTER_MS),
            retry_after: value(RETRY_AFTER),
            date: value(DATE),
            age: value(AGE),
            should_retry: value(SHOULD_RETRY),
        }
    }

    /// Picks the headers that matter out of name and value pairs, `(&N, &V)` or `&(N, V)`. Names are compared without
    /// regard to ASCII case (RFC 9110, 5.1), and the first one of a name counts.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_machine::RetryHeaders;
    ///
    /// let pairs = vec![("Server".to_owned(), "x".to_owned()), ("RETRY-AFTER-MS".to_owned(), "1500".to_owned())];
    /// let headers = RetryHeaders::from_pairs(&pairs);
    /// assert_eq!(headers.requested_delay(None), Some(Duration::from_millis(1500)));
    /// ```
    #[inline]
    pub fn from_pairs<P: HeaderPair<'a>>(pairs: impl IntoIterator<Item = P>) -> Self {
        let mut headers = Self::default();
        for pair in pairs {
            let (name, value) = pair.name_and_value();
            if let Some(slot) = headers.slot(name) {
                slot.get_or_insert(value);
            }
        }
        headers
    }

    /// How long the server asked to wait, as it asked: no bound of any policy is applied.
    ///
    /// `retry-after-ms` counts first, a number of milliseconds; where it is absent or unusable, `Retry-After`: a number
    /// of seconds, or a date in any of the three forms of RFC 9110, 5.6.7. A date is measured against `wall_clock`, the
    /// time at which the response arrived; without one against the response's own `Date` plus its `Age`; with neither
    /// it is unusable. A date that has passed, and an empty value, are a delay of zero.
    ///
    /// `None` where no header is usable. Nothing here fails: what is negative, not finite or malformed is unusable, and
    /// a delay past the end of [`Duration`] is [`Duration::MAX`].
    ///
    /// Useful by itself for a response that needs no retry, such as a 202 that says when to poll again.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_machine::RetryHeaders;
    ///
    /// let poll = [("Date", "Tue, 01 Dec 2026 12:00:00 GMT"), ("Retry-After", "Tue, 01 Dec 2026 12:00:20 GMT")];
    /// assert_eq!(RetryHeaders::from_pairs(&poll).requested_delay(None), Some(Duration::from_secs(20)));
    /// ```
    pub fn requested_delay(&self, wall_clock: Option<SystemTime>) -> Option<Duration> {
        Some(self.requested(wall_clock)?.delay)
    }

    /// [`requested_delay`](Self::requested_delay) with the form that it came in.
    #[inline]
    pub(crate) fn requested(&self, wall_clock: Option<SystemTime>) -> Option<RequestedDelay> {
        if let Some(requested) = self.retry_after_ms.and_then(retry_after::parse_retry_after_ms) {
            return Some(requested);
        }
        retry_after::parse_retry_after(self.retry_after?, wall_clock, self.date, self.age)
    }

    /// What the server says of a retry in `x-should-retry`: exactly `true` or `false`, else nothing.
    #[inline]
    pub(crate) fn should_retry(&self) -> Option<bool> {
        match std::str::from_utf8(self.should_retry?).ok()?.trim() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// The place of the header `name`, if it is one of those that matter.
    #[inline]
    fn slot(&mut self, name: &[u8]) -> Option<&mut Option<&'a [u8]>> {
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        if is(RETRY_AFTER) {
            Some(&mut self.retry_after)
        } else if is(RETRY_AFTER_MS) {
            Some(&mut self.retry_after_ms)
        } else if is(DATE) {
            Some(&mut self.date)
        } else if is(AGE) {
            Some(&mut self.age)
        } else if is(SHOULD_RETRY) {
            Some(&mut self.should_retry)
        } else {
            None
        }
    }
}

/// Values as text, with what is not printable escaped.
impl fmt::Debug for RetryHeaders<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (name, value) in [
            (RETRY_AFTER_MS, self.retry_after_ms),
            (RETRY_AFTER, self.retry_after),
            (DATE, self.date),
            (AGE, self.age),
            (SHOULD_RETRY, self.should_retry),
        ] {
            if let Some(value) = value {
                map.entry(&name, &format_args!("\"{}\"", value.escape_ascii()));
            }
        }
        map.finish()
    }
}

/// A header's name and value as an iterator yields them: `(&N, &V)` or `&(N, V)`, both of them bytes or text.
///
/// Sealed: it is there so that [`RetryHeaders::from_pairs`] takes both shapes.
pub trait HeaderPair<'a>: sealed::Sealed {
    #[doc(hidden)]
    fn name_and_value(self) -> (&'a [u8], &'a [u8]);
}

impl<'a, 'n: 'a, 'v: 'a, N: AsRef<[u8]> + ?Sized, V: AsRef<[u8]> + ?Sized> HeaderPair<'a> for (&'n N, &'v V) {
    #[inline]
    fn name_and_value(self) -> (&'a [u8], &'a [u8]) {
        (self.0.as_ref(), self.1.as_ref())
    }
}

impl<'a, N: AsRef<[u8]>, V: AsRef<[u8]>> HeaderPair<'a> for &'a (N, V) {
    #[inline]
    fn name_and_value(self) -> (&'a [u8], &'a [u8]) {
        (self.0.as_ref(), self.1.as_ref())
    }
}

mod sealed {
    pub trait Sealed {}
    impl<N: ?Sized, V: ?Sized> Sealed for (&N, &V) {}
    impl<N, V> Sealed for &(N, V) {}
}

#[cfg(feature = "http")]
impl<'a> From<&'a http::HeaderMap> for RetryHeaders<'a> {
    fn from(map: &'a http::HeaderMap) -> Self {
        Self::from_fn(|name| map.get(name))
    }
}

#[cfg(feature = "http")]
impl<'a, B> From<&'a http::Response<B>> for Event<'a> {
    fn from(response: &'a http::Response<B>) -> Self {
        Self::response(response.status().as_u16(), response.headers())
    }
}

const RETRY_AFTER_MS: &str = "retry-after-ms";
const RETRY_AFTER: &str = "retry-after";
const DATE: &str = "date";
const AGE: &str = "age";
const SHOULD_RETRY: &str = "x-should-retry";
