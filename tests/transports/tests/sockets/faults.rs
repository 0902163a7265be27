//! Every fault on real sockets, with every stack: the kind that its error maps to, and the decision that follows.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use retry_machine::{Decision, ErrorKind, Reason, RetryOptions};
use transports::{Answer, FaultServer, RefusedPort, Reply, SilentPort};

use crate::stack::{BODY, Call, Report, Stack};

/// Makes a test of each behaviour with each stack.
macro_rules! with_every_stack {
    ($($behaviour:ident,)*) => {
        mod ureq { $(#[test] fn $behaviour() { super::$behaviour(crate::stack::Stack::Ureq); })* }
        mod reqwest { $(#[test] fn $behaviour() { super::$behaviour(crate::stack::Stack::Reqwest); })* }
        mod hyper { $(#[test] fn $behaviour() { super::$behaviour(crate::stack::Stack::Hyper); })* }
    };
}

with_every_stack! {
    a_connection_closed_before_the_status_line_is_a_connection_error,
    a_reset_after_the_request_was_read_is_a_connection_error,
    a_reset_before_the_request_was_read_is_a_connection_error,
    a_truncated_body_is_a_connection_error_whatever_the_head_said,
    three_hundred_headers_are_a_connection_error,
    a_header_value_of_a_megabyte_is_an_error,
    a_stall_before_the_head_is_a_timeout,
    a_slow_drip_of_header_bytes_is_a_timeout,
    a_stall_in_the_body_is_a_timeout_whatever_the_head_said,
    a_refused_connection_is_a_request_not_sent,
    an_unanswered_connection_is_a_request_not_sent,
    a_request_that_never_left_is_sent_when_the_port_opens,
    a_kept_alive_connection_that_was_closed_is_replaced,
    a_kept_alive_connection_that_resets_the_next_request_is_a_connection_error,
    a_busy_status_is_retried_for_every_method,
    a_header_value_that_is_no_utf8_is_ignored,
    a_redirect_is_not_followed_to_where_an_error_would_hide_the_first_send,
    the_retry_count_header_arrives,
    the_last_response_comes_back_with_its_body,
    what_is_left_of_the_budget_shortens_an_attempt,
}

fn a_connection_closed_before_the_status_line_is_a_connection_error(stack: Stack) {
    assert_may_have_been_sent(stack, &Reply::CloseBeforeHead, ErrorKind::Connection);
}

fn a_reset_after_the_request_was_read_is_a_connection_error(stack: Stack) {
    assert_may_have_been_sent(stack, &Reply::ResetAfterRequest, ErrorKind::Connection);
}

fn a_reset_before_the_request_was_read_is_a_connection_error(stack: Stack) {
    // The server has read nothing, but the client cannot know that.
    assert_may_have_been_sent(stack, &Reply::ResetUnread, ErrorKind::Connection);
}

fn a_truncated_body_is_a_connection_error_whatever_the_head_said(stack: Stack) {
    assert_may_have_been_sent(stack, &Reply::TruncateBody, ErrorKind::Connection);
}

fn three_hundred_headers_are_a_connection_error(stack: Stack) {
    let answer = (0..300).fold(Answer::new(200), |answer, index| answer.header(&format!("x-{index}"), "x"));
    assert_may_have_been_sent(stack, &answer.into(), ErrorKind::Connection);
}

fn a_header_value_of_a_megabyte_is_an_error(stack: Stack) {
    let answer = Answer::new(200).header("x-long", vec![b'x'; 1 << 20]);
    // hyper does not say of a head that it cannot read whether it was only too large.
    let kind = if stack == Stack::Ureq { ErrorKind::Other } else { ErrorKind::Connection };
    assert_may_have_been_sent(stack, &answer.into(), kind);
}

fn a_stall_before_the_head_is_a_timeout(stack: Stack) {
    assert_may_have_been_sent(stack, &Reply::StallBeforeHead, ErrorKind::Timeout);
}

fn a_slow_drip_of_header_bytes_is_a_timeout(stack: Stack) {
    assert_may_have_been_sent(stack, &Reply::DripHead, ErrorKind::Timeout);
}

fn a_stall_in_the_body_is_a_timeout_whatever_the_head_said(stack: Stack) {
    assert_may_have_been_sent(stack, &Reply::StallInBody, ErrorKind::Timeout);
}

fn a_refused_connection_is_a_request_not_sent(stack: Stack) {
    let port = RefusedPort::new();
    for method in METHODS {
        let report = stack.send(&Call::new(method), port.address());
        assert_eq!(error_of(&report), ErrorKind::NotSent);
        assert_eq!(attempts(&report), 3);
    }
}

fn an_unanswered_connection_is_a_request_not_sent(stack: Stack) {
    let port = SilentPort::new();
    let call = Call { connect_timeout: Some(Duration::from_millis(100)), ..Call::new("POST") };
    let report = stack.send(&call, port.address());
    assert_eq!(error_of(&report), ErrorKind::NotSent);
    assert_eq!(attempts(&report), 3);
}

fn a_request_that_never_left_is_sent_when_the_port_opens(stack: Stack) {
    let port = RefusedPort::new();
    let address = port.address();
    let (port, server) = (Mutex::new(Some(port)), Arc::new(OnceLock::new()));
    let open = {
        let server = Arc::clone(&server);
        move |_| {
            if let Some(port) = port.lock().unwrap().take() {
                server.set(FaultServer::start_on(port, [Answer::new(201).into()])).unwrap();
            }
        }
    };
    let report = stack.send_watched(&Call::new("POST"), address, open);
    assert_eq!(status_of(&report), 201);
    assert_eq!(attempts(&report), 2);
    let requests = server.get().unwrap().requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].body(), BODY.as_bytes());
}

fn a_kept_alive_connection_that_was_closed_is_replaced(stack: Stack) {
    for method in METHODS {
        let script = [Reply::AnswerThenClose(Answer::new(503)), Answer::new(200).into()];
        let server = Arc::new(FaultServer::start(script));
        // The connection has ended before the wait begins, and in the wait the client sees that.
        let wait_for_end = {
            let server = Arc::clone(&server);
            move |reason: Reason| assert!(reason.decision() == Decision::GiveUp || server.has_closed_all())
        };
        let call = Call::new(method).with(RetryOptions::default().backoff_initial(Duration::from_millis(100)));
        let report = stack.send_watched(&call, server.address(), wait_for_end);
        assert_eq!(status_of(&report), 200);
        assert_eq!((server.requests().len(), server.connections()), (2, 2));
    }
}

fn a_kept_alive_connection_that_resets_the_next_request_is_a_connection_error(stack: Stack) {
    // As if the server had closed the idle connection just when the request was on its way.
    let script = [Answer::new(503).into(), Reply::ResetUnread, Answer::new(200).into()];
    let server = FaultServer::start(script.clone());
    let report = stack.send(&Call::new("GET"), server.address());
    assert_eq!(status_of(&report), 200);
    assert_eq!((server.requests().len(), server.unread(), server.connections()), (2, 1, 2));

    let server = FaultServer::start(script);
    let report = stack.send(&Call::new("POST"), server.address());
    assert_eq!(error_of(&report), ErrorKind::Connection);
    assert_eq!((server.requests().len(), server.unread(), server.connections()), (1, 1, 1));
}

fn a_busy_status_is_retried_for_every_method(stack: Stack) {
    for method in METHODS {
        let server = FaultServer::start([429, 503, 200].map(|status| Answer::new(status).into()));
        let report = stack.send(&Call::new(method), server.address());
        assert_eq!(status_of(&report), 200);
        assert_eq!(server.requests().len(), 3);
        assert!(server.requests().iter().all(|request| request.method() == method));

        let server = FaultServer::start([Answer::new(404).into()]);
        let report = stack.send(&Call::new(method), server.address());
        assert_eq!(status_of(&report), 404);
        assert_eq!(server.requests().len(), 1);
    }
}

fn a_header_value_that_is_no_utf8_is_ignored(stack: Stack) {
    let busy = Answer::new(503).header("retry-after-ms", b"60000\xff").header("retry-after", b"\xc3\x28");
    let server = FaultServer::start([busy.into(), Answer::new(200).into()]);
    let report = stack.send(&Call::new("POST"), server.address());
    assert_eq!(status_of(&report), 200);
    assert!(matches!(report.reasons[0], Reason::Backoff { retry: 1, .. }), "{report:?}");
}

fn a_redirect_is_not_followed_to_where_an_error_would_hide_the_first_send(stack: Stack) {
    let refused = RefusedPort::new();
    let moved = Answer::new(303).header("location", format!("http://{}/", refused.address()));
    let server = FaultServer::start([moved.into()]);
    let report = stack.send(&Call::new("POST"), server.address());
    assert_eq!(status_of(&report), 303);
    assert_eq!(server.requests().len(), 1);
}

fn the_retry_count_header_arrives(stack: Stack) {
    let server = FaultServer::start([Answer::new(503).into()]);
    let report = stack.send(&Call::new("POST"), server.address());
    assert_eq!(attempts(&report), 3);
    let requests = server.requests();
    let counts: Vec<_> = requests.iter().map(|request| request.header("x-retry-count")).collect();
    assert_eq!(counts, [Some("0"), Some("1"), Some("2")]);
    assert!(requests.iter().all(|request| request.body() == BODY.as_bytes()));
}

fn the_last_response_comes_back_with_its_body(stack: Stack) {
    let server = FaultServer::start(["first", "second", "third"].map(|body| Answer::new(503).body(body).into()));
    let report = stack.send(&Call::new("POST"), server.address());
    assert_eq!(status_of(&report), 503);
    assert_eq!(report.outcome.unwrap().body(), "third");
    assert!(matches!(report.reasons[2], Reason::RetriesExhausted { max_retries: 2, .. }));
}

fn what_is_left_of_the_budget_shortens_an_attempt(stack: Stack) {
    let server = FaultServer::start([Reply::StallBeforeHead]);
    let budget = Duration::from_millis(300);
    let report = stack.send(&Call::new("GET").with(RetryOptions::default().budget(budget)), server.address());
    assert_eq!(error_of(&report), ErrorKind::Timeout);
    assert!(matches!(report.reasons[..], [Reason::BudgetExhausted { .. }]), "{report:?}");
    assert!((budget..Duration::from_secs(10)).contains(&report.elapsed), "{report:?}");
}

/// Plays a fault in every attempt: the error has this kind, a GET is retried unless that is pointless, and a POST is never
/// sent twice.
#[track_caller]
fn assert_may_have_been_sent(stack: Stack, fault: &Reply, kind: ErrorKind) {
    for method in METHODS {
        let is_retried = method == "GET" && kind != ErrorKind::Other;
        let sends = if is_retried { 3 } else { 1 };
        let server = FaultServer::start([fault.clone()]);
        let mut call = Call::new(method);
        if kind == ErrorKind::Timeout {
            call = call.attempt_timeout(Duration::from_millis(250));
        }
        let report = stack.send(&call, server.address());
        assert_eq!(error_of(&report), kind, "{report:?}");
        assert_eq!(attempts(&report), sends, "{report:?}");
        assert!(server.has_closed_all());
        assert_eq!(server.requests().len() + server.unread(), sends, "{report:?}");
        let ending = report.reasons[sends - 1];
        if is_retried {
            assert!(matches!(ending, Reason::RetriesExhausted { .. }), "{report:?}");
        } else {
            assert_eq!(ending, Reason::ErrorNotRetryable { kind });
        }
    }
}

/// There is one decision for each attempt.
fn attempts(report: &Report) -> usize {
    report.reasons.len()
}

#[track_caller]
fn status_of(report: &Report) -> u16 {
    report.outcome.as_ref().expect("a response").status().as_u16()
}

#[track_caller]
fn error_of(report: &Report) -> ErrorKind {
    *report.outcome.as_ref().expect_err("no response")
}

const METHODS: [&str; 2] = ["GET", "POST"];
