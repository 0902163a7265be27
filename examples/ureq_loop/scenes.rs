//! The scenes: what can go wrong with a call, played by a real server and checked.

use std::io::{ErrorKind as IoErrorKind, Write};
use std::time::{Duration, Instant};

use retry_machine::DelaySource::{RetryAfterDate, RetryAfterMs};
use retry_machine::{ErrorKind, Reason, RetryOptions, RetryPolicy};
use ureq::http::{Method, Uri};
use ureq::{Error, Timeout};

use super::server::{Reply, Server};
use super::timeline::{LEGEND, Timeline, print};
use super::{Outcome, agent_config, call_with};

/// Plays every scene, and tells whether all went as expected.
pub(crate) fn run_all(output: &mut dyn Write) -> bool {
    print(output, "A plain ureq loop against a flaky server, over real sockets. Times are since the call began.");
    print(output, LEGEND);
    let start = Instant::now();
    let scenes = scenes();
    let differing = scenes.iter().filter(|scene| !scene.play(output)).count();
    let verdict = if differing == 0 { "all as expected".to_owned() } else { format!("{differing} NOT AS EXPECTED") };
    print(output, &format!("\n{} scenes in {:.1?}: {verdict}", scenes.len(), start.elapsed()));
    differing == 0
}

/// One call, what the server does with it, and what must come of it.
pub(crate) struct Scene {
    pub(crate) title: &'static str,
    pub(crate) method: Method,
    pub(crate) options: RetryOptions,
    pub(crate) attempt_timeout: Duration,
    pub(crate) script: &'static [Reply],
    /// Whether these are the decisions.
    pub(crate) decides: fn(&[Reason]) -> bool,
    /// Whether this is what the caller is left with.
    pub(crate) returns: fn(&Outcome) -> bool,
    /// How many requests the server reads.
    pub(crate) requests: usize,
}

impl Scene {
    /// Plays the scene, and tells whether it went as expected.
    pub(crate) fn play(&self, output: &mut dyn Write) -> bool {
        let server = Server::start(self.script).expect("loopback has a free port");
        let url = Uri::try_from(format!("http://{}/", server.address())).expect("an address makes a URL");
        // A proxy from the environment must not come between the two.
        let agent = agent_config().proxy(None).timeout_global(Some(self.attempt_timeout)).build().new_agent();
        let policy = RetryPolicy::new(&self.options).expect("the options are within their bounds");
        let body = (self.method == Method::POST).then_some("a prompt that costs money");

        let mut timeline = Timeline::new(&format!("\n{} {}", self.method, self.title), output);
        let outcome = call_with(&agent, &self.method, &url, body, &policy, &mut timeline);
        let spent = timeline.elapsed();
        let requests = server.stop();
        timeline.end(&outcome, &policy, Some(requests));

        let (reasons, waited) = (timeline.reasons().to_vec(), timeline.waited());
        let mut expect = |as_expected: bool, what: String| {
            if !as_expected {
                print(output, &format!("  NOT AS EXPECTED: {what}"));
            }
            as_expected
        };
        // Not short-circuited: each difference is worth a line.
        expect((self.decides)(&reasons), format!("the decisions {reasons:?}"))
            & expect((self.returns)(&outcome), format!("the outcome {outcome:?}"))
            & expect(requests == self.requests, format!("{requests} requests read instead of {}", self.requests))
            & expect(spent >= waited, format!("{spent:?} for delays of {waited:?}"))
    }
}

const OVERLOADED: Reply = Reply::Response { status: 529, header: "", body: "overloaded" };
const WELL: Reply = Reply::Response { status: 200, header: "", body: "hello" };

/// A GET that ends well.
pub(crate) fn get() -> Scene {
    Scene {
        title: "",
        method: Method::GET,
        options: RetryOptions::default(),
        attempt_timeout: Duration::from_secs(5),
        script: &[WELL],
        decides: |reasons| matches!(reasons, [Reason::StatusNotRetryable { status: 200 }]),
        returns: |outcome| is_response(outcome, 200, "hello"),
        requests: 1,
    }
}

/// Backoff that is over soon, where it is not the point of the scene.
fn quick() -> RetryOptions {
    RetryOptions::default().backoff_initial(Duration::from_millis(100))
}

fn scenes() -> Vec<Scene> {
    use Reason::{Backoff, BudgetExhausted, ErrorNotRetryable, RetriesExhausted, ServerDelay, StatusNotRetryable};
    const QUARTER: Duration = Duration::from_millis(250);
    const SECOND: Duration = Duration::from_secs(1);
    const MINUTE: Duration = Duration::from_secs(60);
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
            title: "a 503 with an HTTP-date in Retry-After: measured against the server's own Date",
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
            title: "a reset after the request was read: it may have been billed, so no second one",
            method: Method::POST,
            script: &[Reply::Reset, WELL],
            decides: |reasons| matches!(reasons, [ErrorNotRetryable { kind: ErrorKind::Connection }]),
            returns: |outcome| is_io_error(outcome, IoErrorKind::ConnectionReset),
            ..get()
        },
        Scene {
            title: "the same reset: reading twice does no harm",
            options: quick(),
            script: &[Reply::Reset, WELL],
            decides: |reasons| matches!(reasons, [Backoff { .. }, StatusNotRetryable { status: 200 }]),
            requests: 2,
            ..get()
        },
        Scene {
            title: "a response that breaks off: an error, though its head said 200",
            options: quick(),
            script: &[Reply::CutOff, WELL],
            decides: |reasons| matches!(reasons, [Backoff { .. }, StatusNotRetryable { status: 200 }]),
            requests: 2,
            ..get()
        },
        Scene {
            title: "nobody listens: nothing was sent, so even a POST is tried again",
            method: Method::POST,
            options: quick(),
            script: &[],
            decides: |reasons| {
                matches!(
                    reasons,
                    [Backoff { .. }, Backoff { .. }, RetriesExhausted { max_retries: 2, requested: None }]
                )
            },
            returns: |outcome| is_io_error(outcome, IoErrorKind::ConnectionRefused),
            requests: 0,
            ..get()
        },
        Scene {
            title: "no answer within the attempt's timeout of half a second",
            options: quick(),
            attempt_timeout: Duration::from_millis(500),
            script: &[Reply::Hang, WELL],
            decides: |reasons| matches!(reasons, [Backoff { .. }, StatusNotRetryable { status: 200 }]),
            requests: 2,
            ..get()
        },
        Scene {
            title: "the same timeout: the server may still be at work on it, so no second one",
            method: Method::POST,
            attempt_timeout: Duration::from_millis(500),
            script: &[Reply::Hang, WELL],
            decides: |reasons| matches!(reasons, [ErrorNotRetryable { kind: ErrorKind::Timeout }]),
            returns: |outcome| matches!(outcome, Err(Error::Timeout(Timeout::Global))),
            ..get()
        },
        Scene {
            title: "a Retry-After that would pass the budget: give up now, not after the wait",
            script: &[Reply::Response { status: 503, header: "Retry-After: 60", body: "back in a minute" }, WELL],
            decides: |reasons| matches!(reasons, [BudgetExhausted { delay: MINUTE, requested: Some(MINUTE), .. }]),
            returns: |outcome| is_response(outcome, 503, "back in a minute"),
            ..get()
        },
    ]
}

/// Whether the caller has the response, body included.
fn is_response(outcome: &Outcome, status: u16, body: &str) -> bool {
    matches!(outcome, Ok(response) if response.status().as_u16() == status && response.body() == body.as_bytes())
}

/// Whether the caller has ureq's own error, as it came.
fn is_io_error(outcome: &Outcome, kind: IoErrorKind) -> bool {
    matches!(outcome, Err(Error::Io(error)) if error.kind() == kind)
}
