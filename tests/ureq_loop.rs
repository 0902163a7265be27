//! The `ureq_loop` example: its scenes, and what they leave out.

use std::io;
use std::time::Duration;

use retry_machine::{ErrorKind, Reason, RetryOptions};
use ureq::Error;
use ureq::http::{Method, Request};

use ureq_loop::scene::Scene;
use ureq_loop::scenes::{self, WELL, get, is_io_error, is_response, quick};
use ureq_loop::server::{Reply, Server};
use ureq_loop::{agent_config, attempt, error_kind, run};

#[allow(dead_code, reason = "an example has a `main`")]
#[path = "../examples/ureq_loop/main.rs"]
mod ureq_loop;

const UNAVAILABLE: Reply = Reply::Response { status: 503, header: "", body: "later" };

#[test]
fn every_scene_goes_as_expected_and_fits_a_terminal() {
    let mut output = Vec::new();
    let as_expected = scenes::run_all(&mut output);
    let output = String::from_utf8(output).expect("the timeline is text");
    assert!(as_expected, "{output}");
    for line in output.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn a_scene_that_goes_otherwise_is_noticed() {
    play(&get());
    let differing = [
        Scene { decides: |_| false, ..get() },
        Scene { returns: |_| false, ..get() },
        Scene { requests: 2, ..get() },
        // A server that wrongly gets a second request.
        Scene { script: &[UNAVAILABLE, WELL], options: quick(), ..get() },
    ];
    for scene in differing {
        let mut output = Vec::new();
        assert!(!scene.play(&mut output));
        assert!(String::from_utf8_lossy(&output).contains("NOT AS EXPECTED"));
    }
}

#[test]
fn after_all_retries_the_caller_has_the_last_response_with_its_body() {
    play(&Scene {
        options: quick(),
        script: &[Reply::Response { status: 500, header: "", body: "first" }, UNAVAILABLE, UNAVAILABLE, WELL],
        decides: |reasons| matches!(reasons.last(), Some(Reason::RetriesExhausted { max_retries: 2, .. })),
        returns: |outcome| is_response(outcome, 503, "later"),
        requests: 3,
        ..get()
    });
}

#[test]
fn at_the_end_of_the_budget_the_caller_has_ureqs_own_error() {
    play(&Scene {
        method: Method::POST,
        options: RetryOptions::default().backoff_jitter(0.0).budget(Duration::from_millis(500)),
        script: &[],
        decides: |reasons| matches!(reasons, [Reason::BudgetExhausted { .. }]),
        returns: |outcome| is_io_error(outcome, io::ErrorKind::ConnectionRefused),
        requests: 0,
        ..get()
    });
}

#[test]
fn an_attempt_gets_no_more_time_than_is_left_of_the_budget() {
    play(&Scene {
        options: RetryOptions::default().budget(Duration::from_millis(300)),
        attempt_timeout: Duration::from_secs(10),
        script: &[Reply::Hang, WELL],
        decides: |reasons| matches!(reasons, [Reason::BudgetExhausted { elapsed, .. }] if elapsed.as_secs() < 5),
        returns: |outcome| matches!(outcome, Err(Error::Timeout(_))),
        ..get()
    });
}

#[test]
fn the_first_attempt_is_made_even_without_a_budget_to_retry_in() {
    play(&Scene { options: RetryOptions::default().budget(Duration::ZERO), ..get() });
}

#[test]
fn a_redirect_is_the_callers_to_follow() {
    play(&Scene {
        method: Method::POST,
        script: &[Reply::Response { status: 303, header: "Location: /elsewhere", body: "over there" }, WELL],
        decides: |reasons| matches!(reasons, [Reason::StatusNotRetryable { status: 303 }]),
        returns: |outcome| is_response(outcome, 303, "over there"),
        ..get()
    });
}

#[test]
fn a_post_that_breaks_off_is_given_up_although_its_head_says_200() {
    play(&Scene {
        method: Method::POST,
        script: &[Reply::CutOff, WELL],
        decides: |reasons| matches!(reasons, [Reason::ErrorNotRetryable { kind: ErrorKind::Connection }]),
        returns: |outcome| is_io_error(outcome, io::ErrorKind::UnexpectedEof),
        ..get()
    });
}

#[test]
fn errors_before_there_is_a_connection_prove_that_nothing_was_sent() {
    for error in [
        Error::HostNotFound,
        Error::Timeout(ureq::Timeout::Resolve),
        Error::Timeout(ureq::Timeout::Connect),
        Error::ConnectProxyFailed("407".to_owned()),
        io_error(io::ErrorKind::ConnectionRefused),
        io_error(io::ErrorKind::AddrNotAvailable),
    ] {
        assert_eq!(error_kind(&error), ErrorKind::NotSent, "{error:?}");
    }
}

#[test]
fn later_timeouts_may_have_reached_the_server() {
    use ureq::Timeout::{Global, PerCall, PerRead, PerWrite, RecvBody, RecvResponse, SendBody, SendRequest};
    for timeout in [Global, PerCall, PerRead, PerWrite, SendRequest, SendBody, RecvResponse, RecvBody] {
        assert_eq!(error_kind(&Error::Timeout(timeout)), ErrorKind::Timeout, "{timeout:?}");
    }
    assert_eq!(error_kind(&io_error(io::ErrorKind::TimedOut)), ErrorKind::Timeout);
}

#[test]
fn broken_and_unknown_exchanges_may_have_reached_the_server() {
    for error in [
        Error::ConnectionFailed,
        Error::Other("of a connector".into()),
        // Hidden in ureq: it stands for the variants that this example does not know.
        Error::BodyStalled,
        io_error(io::ErrorKind::ConnectionReset),
        io_error(io::ErrorKind::ConnectionAborted),
        io_error(io::ErrorKind::BrokenPipe),
        io_error(io::ErrorKind::UnexpectedEof),
        // A connection in use can lose its route too.
        io_error(io::ErrorKind::HostUnreachable),
        io_error(io::ErrorKind::NetworkUnreachable),
        io_error(io::ErrorKind::Other),
    ] {
        assert_eq!(error_kind(&error), ErrorKind::Connection, "{error:?}");
    }
}

#[test]
fn what_another_attempt_would_only_repeat_is_permanent() {
    let bad_header = Request::builder().header("no spaces", "").body(()).expect_err("a space is not allowed");
    for error in [
        Error::BadUri("no scheme".to_owned()),
        Error::Http(bad_header),
        Error::InvalidProxyUrl,
        Error::RequireHttpsOnly("http://localhost/".to_owned()),
        Error::TlsRequired,
        Error::Tls("no name for a certificate"),
        Error::LargeResponseHeader(2, 1),
        Error::BodyExceedsLimit(1),
        Error::RedirectFailed,
        Error::TooManyRedirects,
        Error::StatusCode(503),
        io_error(io::ErrorKind::InvalidData),
        io_error(io::ErrorKind::NotConnected),
    ] {
        assert_eq!(error_kind(&error), ErrorKind::Other, "{error:?}");
    }
}

/// Tells whether std's words for a failed lookup are still the ones that the example looks for.
#[test]
#[cfg(unix)]
fn a_name_that_cannot_be_resolved_proves_that_nothing_was_sent() {
    // A label of more than 63 octets: refused on this machine, without asking anybody.
    let url = format!("http://{}.invalid/", "a".repeat(64));
    let error = attempt_at(&url).expect_err("there is no such host");
    assert_eq!(error_kind(&error), ErrorKind::NotSent, "{error:?}");
}

#[test]
fn an_answer_that_is_no_http_may_follow_an_action() {
    let server = Server::start(&[Reply::Response { status: 7, header: "", body: "" }]).expect("a free port");
    let error = attempt_at(&format!("http://{}/", server.address())).expect_err("7 is no status");
    assert!(matches!(error, Error::Protocol(_)), "{error:?}");
    assert_eq!(error_kind(&error), ErrorKind::Connection);
    assert_eq!(server.stop(), 1);
}

#[test]
fn a_url_is_called_as_the_flags_say() {
    let server = Server::start(&[UNAVAILABLE, WELL]).expect("a free port");
    let url = format!("http://{}/", server.address());
    let (went_well, output) = run_with(&[&url, "--method", "POST", "--max-retries", "0", "--budget-ms", "9000"]);
    assert_eq!(went_well, Ok(false), "{output}");
    assert!(output.contains("no retry is allowed (max_retries 0)"), "{output}");
    assert!(output.contains("returned  503, body \"later\""), "{output}");
    assert!(output.contains("of a 9s budget"), "{output}");

    assert_eq!(run_with(&[&url]).0, Ok(true));
    assert_eq!(server.stop(), 2);
}

#[test]
fn a_bad_argument_gets_one_clear_line() {
    for (args, line) in [
        (&["--fast"][..], "unknown flag `--fast`: there are --method, --max-retries and --budget-ms"),
        (&["http://localhost/", "--method"], "`--method` needs a value"),
        (&["http://localhost/", "--max-retries"], "`--max-retries` needs a value"),
        (&["http://localhost/", "--budget-ms"], "`--budget-ms` needs a value"),
        (
            &["http://localhost/", "--method", "get"],
            "`--method`: `get` is none of GET, HEAD, OPTIONS, POST, PUT, PATCH and DELETE",
        ),
        (
            &["http://localhost/", "--max-retries", "-1"],
            "`--max-retries`: `-1` is not a whole number of the right size: invalid digit found in string",
        ),
        (
            &["http://localhost/", "--budget-ms", "18446744073709551616"],
            "`--budget-ms`: `18446744073709551616` is not a whole number of the right size: number too large to fit in \
             target type",
        ),
        (&["--max-retries", "1"], "a URL is needed with these flags"),
        (&["http://localhost/", "http://localhost/"], "unexpected argument `http://localhost/`: one URL is enough"),
        (&["https://localhost/"], "`https://localhost/`: this example is built without TLS, so it takes http:// only"),
        (&["ftp://localhost/"], "`ftp://localhost/` is not a URL: it needs http:// and a host"),
        (&["localhost"], "`localhost` is not a URL: it needs http:// and a host"),
        (&["http://:80/"], "`http://:80/` is not a URL: it needs http:// and a host"),
        (&["http://local host/"], "`http://local host/` is not a URL: invalid uri character"),
        (&[""], "`` is not a URL: empty string"),
    ] {
        let (result, output) = run_with(args);
        assert_eq!(result, Err(line.to_owned()));
        assert_eq!(output, "");
    }
}

#[track_caller]
fn play(scene: &Scene) {
    let mut output = Vec::new();
    assert!(scene.play(&mut output), "{}", String::from_utf8_lossy(&output));
}

fn run_with(args: &[&str]) -> (Result<bool, String>, String) {
    let mut output = Vec::new();
    let result = run(args.iter().map(|&arg| arg.to_owned()), &mut output);
    (result, String::from_utf8(output).expect("the timeline is text"))
}

fn attempt_at(url: &str) -> ureq_loop::Outcome {
    let agent = agent_config().proxy(None).build().new_agent();
    attempt(&agent, &Request::get(url).body(()).expect("a request"), None)
}

fn io_error(kind: io::ErrorKind) -> Error {
    Error::Io(kind.into())
}
