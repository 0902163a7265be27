//! What can go wrong with a call.

use std::io::{ErrorKind as IoErrorKind, Write};
use std::time::{Duration, Instant};

use retry_machine::DelaySource::{RetryAfterDate, RetryAfterMs};
use retry_machine::Reason::{
    Backoff, BudgetExhausted, ErrorNotRetryable, RetriesExhausted, ServerDelay, StatusNotRetryable,
};
use retry_machine::{ErrorKind, RetryOptions};
use ureq::http::Method;
use ureq::{Error, Timeout};

use super::Outcome;
use super::scene::Scene;
use super::server::Reply;
use super::timeline::{LEGEND, print_line};

/// Plays every scene, and tells whether all went as expected.
pub(crate) fn run_all(output: &mut dyn Write) -> bool {
    print_line(output, "A plain ureq loop against a flaky server, over real sockets. Times are since the call began.");
    print_line(output, LEGEND);
    let start = Instant::now();
    let scenes: Vec<Scene> = answered().into_iter().chain(unanswered()).collect();
    let differing = scenes.iter().filter(|scene| !scene.play(output)).count();
    let verdict = if differing == 0 { "all as expected".to_owned() } else { format!("{differing} NOT AS EXPECTED") };
    print_line(output, &format!("\n{} scenes in {:.1?}: {verdict}", scenes.len(), start.elapsed()));
    differing == 0
}

const QUARTER: Duration = Duration::from_millis(250);
const HALF: Duration = Duration::from_millis(500);
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

pub(crate) const WELL: Reply = Reply::Response { status: 200, header: "", body: "hello" };
const OVERLOADED: Reply = Reply::Response { status: 529, header: "", body: "overloaded" };

/// A GET that ends well at the first attempt.
pub(crate) fn get() -> Scene {
    Scene {
        title: "",
        method: Method::GET,
        options: RetryOptions::default(),
        attempt_timeout: Duration::from_secs(5),
        script: &[WELL],
        decides: |reasons| matches!(reasons, [StatusNotRetryable { status: 200 }]),
        returns: |outcome| is_response(outcome, 200, "hello"),
        requests: 1,
    }
}

/// A GET whose first attempt fails and whose second one ends well. The backoff is not the point, so it is short.
fn get_twice() -> Scene {
    Scene {
        options: quick(),
        decides: |reasons| matches!(reasons, [Backoff { .. }, StatusNotRetryable { status: 200 }]),
        requests: 2,
        ..get()
    }
}

pub(crate) fn quick() -> RetryOptions {
    RetryOptions::default().backoff_initial(Duration::from_millis(100))
}

/// The server answers, but not as one would wish.
fn answered() -> Vec<Scene> {
    vec![
        Scene {
            title: "an overload (529), twice: back off, the second time for longer",
            script: &[OVERLOADED, OVERLOADED, WELL],
            decides: |reasons| {
                matches!(reasons, [
                    Backoff { retry: 1, delay: first },
                    Backoff { retry: 2, delay: second },
                    StatusNotRetryable { status: 200 },
                ] if first < second)
            },
            requests: 3,
            ..get()
        },
        Scene {
            title: "a 429 with retry-after-ms: wait as long as the server asks",
            script: &[Reply::Response { status: 429, header: "retry-after-ms: 250", body: "slow down" }, WELL],
            decides: |reasons| {
                matches!(
                    reasons,
                    [
                        ServerDelay { source: RetryAfterMs, requested: QUARTER, delay: QUARTER, .. },
                        StatusNotRetryable { status: 200 },
                    ]
                )
            },
            requests: 2,
            ..get()
        },
        Scene {
            title: "a 503 with a date in Retry-After: measured against the server's own Date",
            script: &[Reply::RetryAfterDate(SECOND), WELL],
            decides: |reasons| {
                matches!(
                    reasons,
                    [
                        ServerDelay { source: RetryAfterDate, requested: SECOND, delay: SECOND, .. },
                        StatusNotRetryable { status: 200 },
                    ]
                )
            },
            requests: 2,
            ..get()
        },
        Scene {
            title: "a Retry-After that would pass the budget: give up now, not after the wait",
            script: &[Reply::Response { status: 503, header: "Retry-After: 60", body: "back in a minute" }, WELL],
            decides: |reasons| matches!(reasons, [BudgetExhausted { delay: MINUTE, requested: Some(MINUTE), .. }]),
            returns: |outcome| is_response(outcome, 503, "back in a minute"),
            ..get()
        },
        Scene {
            title: "a response that breaks off: an error, though its head says 200",
            script: &[Reply::CutOff, WELL],
            ..get_twice()
        },
    ]
}

/// No answer comes: what counts is whether the request was sent.
fn unanswered() -> Vec<Scene> {
    vec![
        Scene {
            title: "a reset after the request was read: it may have been billed, so no second one",
            method: Method::POST,
            script: &[Reply::Reset, WELL],
            decides: |reasons| matches!(reasons, [ErrorNotRetryable { kind: ErrorKind::Connection }]),
            returns: |outcome| is_io_error(outcome, IoErrorKind::ConnectionReset),
            ..get()
        },
        Scene { title: "the same reset: reading twice does no harm", script: &[Reply::Reset, WELL], ..get_twice() },
        Scene {
            title: "nobody listens: nothing was sent, so even a POST is tried again",
            method: Method::POST,
            options: quick(),
            script: &[],
            decides: |reasons| {
                matches!(reasons, [Backoff { .. }, Backoff { .. }, RetriesExhausted { max_retries: 2, .. }])
            },
            returns: |outcome| is_io_error(outcome, IoErrorKind::ConnectionRefused),
            requests: 0,
            ..get()
        },
        Scene {
            title: "no answer within the attempt's timeout of half a second",
            attempt_timeout: HALF,
            script: &[Reply::Hang, WELL],
            ..get_twice()
        },
        Scene {
            title: "the same timeout: the server may still be at work, so no second one",
            method: Method::POST,
            attempt_timeout: HALF,
            script: &[Reply::Hang, WELL],
            decides: |reasons| matches!(reasons, [ErrorNotRetryable { kind: ErrorKind::Timeout }]),
            returns: |outcome| matches!(outcome, Err(Error::Timeout(Timeout::Global))),
            ..get()
        },
    ]
}

/// Whether the caller has the response, body included.
pub(crate) fn is_response(outcome: &Outcome, status: u16, body: &str) -> bool {
    matches!(outcome, Ok(response) if response.status().as_u16() == status && response.body() == body.as_bytes())
}

/// Whether the caller has ureq's own error, as it came.
pub(crate) fn is_io_error(outcome: &Outcome, kind: IoErrorKind) -> bool {
    matches!(outcome, Err(Error::Io(error)) if error.kind() == kind)
}
