//! Reasons: each carries its numbers, and says them in one line.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{Call, ms, policy, response, secs, status};
use retry_machine::{
    Decision, DelaySource, ErrorKind, Reason, RetryAfterExcess, RetryMachine, RetryOptions, RetryPolicy, RetryQuota,
};

#[test]
fn a_granted_retry_tells_its_number_and_its_delay() {
    let mut call = Call::new(&RetryPolicy::default(), "GET");
    call.at(secs(0), status(503)).because(Reason::Backoff { retry: 1, delay: ms(500) });
    call.at(secs(1), ErrorKind::Timeout).because(Reason::Backoff { retry: 2, delay: secs(1) });
}

// RB-169: basecamp/basecamp-sdk#781
#[test]
fn a_servers_delay_is_told_as_it_was_asked_for_and_as_it_is_waited() {
    let mut call = Call::new(&policy(RetryOptions::default().no_budget()), "GET");
    call.at(secs(0), response(429, &[("Retry-After", "3000000")])).because(Reason::ServerDelay {
        retry: 1,
        source: DelaySource::RetryAfterSeconds,
        requested: secs(3_000_000),
        delay: secs(60),
    });
}

#[test]
fn the_source_of_a_servers_delay_is_told() {
    let date = [("Date", "Tue, 01 Dec 2026 12:00:00 GMT"), ("Retry-After", "Tue, 01 Dec 2026 12:00:20 GMT")];
    for (headers, expected) in [
        (&[("retry-after-ms", "5")][..], DelaySource::RetryAfterMs),
        (&[("retry-after-ms", "x"), ("Retry-After", "5")], DelaySource::RetryAfterSeconds),
        (&date, DelaySource::RetryAfterDate),
    ] {
        let reason = Call::new(&RetryPolicy::default(), "GET").at(secs(0), response(503, headers)).reason;
        assert!(matches!(reason, Reason::ServerDelay { source, .. } if source == expected), "{reason:?}");
    }
}

// RB-165: sigstore/rekor#2796
#[test]
fn a_give_up_tells_what_the_server_last_asked_for() {
    let once = policy(RetryOptions::default().max_retries(1));
    let an_hour = response(429, &[("Retry-After", "3600")]);
    let mut call = Call::new(&once, "GET");
    call.at(secs(0), status(503)).waits(ms(500));
    call.at(secs(1), an_hour).because(Reason::RetriesExhausted { max_retries: 1, requested: Some(secs(3600)) });

    Call::new(&once, "GET").at(secs(1), an_hour).because(Reason::BudgetExhausted {
        elapsed: secs(1),
        delay: secs(60),
        budget: secs(30),
        requested: Some(secs(3600)),
    });

    // A server that is not listened to has asked for nothing.
    let deaf = policy(RetryOptions::default().max_retries(0).respect_retry_after(false));
    let nothing = Reason::RetriesExhausted { max_retries: 0, requested: None };
    Call::new(&deaf, "GET").at(secs(0), an_hour).because(nothing);
    Call::new(&RetryPolicy::never(), "GET").at(secs(0), response(503, &[("Retry-After", "soon")])).because(nothing);
}

// RB-166: googleapis/google-cloud-node-core#203
// RB-168: IBM/go-sdk-core#142
#[test]
fn a_give_up_has_one_shape_and_only_the_reason_tells_why() {
    let gives_up = |options: RetryOptions, at: Duration, event| {
        let answer = Call::new(&policy(options), "POST").at(at, event);
        assert_eq!(answer.decision, Decision::GiveUp);
        answer.reason.name()
    };
    let options = RetryOptions::default;
    assert_eq!(gives_up(options(), secs(0), status(200)), "status_not_retryable");
    assert_eq!(gives_up(options(), secs(0), ErrorKind::Timeout.into()), "error_not_retryable");
    assert_eq!(gives_up(options().max_retries(0), secs(0), status(503)), "retries_exhausted");
    assert_eq!(gives_up(options().max_retries(0), secs(0), ErrorKind::NotSent.into()), "retries_exhausted");
    assert_eq!(gives_up(options(), secs(30), status(503)), "budget_exhausted");
    assert_eq!(gives_up(options(), secs(30), ErrorKind::NotSent.into()), "budget_exhausted");
}

#[test]
fn the_steps_are_taken_in_order() {
    // Everything speaks against a retry; one after the other is taken away.
    let listening = RetryOptions::default().respect_should_retry(true).retry_after_excess(RetryAfterExcess::GiveUp);
    let none_left = policy(listening.clone().max_retries(0));
    let some_left = policy(listening);
    let (refused, too_long) = ([("x-should-retry", "false"), ("Retry-After", "90")], [("Retry-After", "90")]);
    for (policy, event, name) in [
        (&none_left, response(503, &refused), "server_refused"),
        (&none_left, response(404, &too_long), "status_not_retryable"),
        (&none_left, response(503, &too_long), "retries_exhausted"),
        (&some_left, response(503, &too_long), "server_delay_too_long"),
        (&some_left, status(503), "budget_exhausted"),
    ] {
        let mut call = Call::new(policy, "GET");
        call.machine = call.machine.with_quota(Arc::new(RetryQuota::new(0)));
        call.at(secs(30), event).gives_up(name);
    }
    let mut call = Call::new(&some_left, "GET");
    call.machine = call.machine.with_quota(Arc::new(RetryQuota::new(0)));
    call.at(secs(29), status(503)).gives_up("quota_exhausted");
}

// RB-165: sigstore/rekor#2796
#[test]
fn every_reason_has_a_name_a_decision_and_one_line_with_its_numbers() {
    let (go, stop) = (|delay| Decision::RetryAfter(delay), Decision::GiveUp);
    let exhausted = |max_retries, requested| Reason::RetriesExhausted { max_retries, requested };
    let over_budget =
        |delay, requested| Reason::BudgetExhausted { elapsed: ms(20_800), delay, budget: secs(30), requested };
    for (reason, name, decision, line) in [
        (
            server_delay(DelaySource::RetryAfterMs),
            "server_delay",
            go(secs(60)),
            "the server asked for 90s (retry-after-ms); waiting 60s before retry 3",
        ),
        (
            server_delay(DelaySource::RetryAfterSeconds),
            "server_delay",
            go(secs(60)),
            "the server asked for 90s (Retry-After); waiting 60s before retry 3",
        ),
        (
            server_delay(DelaySource::RetryAfterDate),
            "server_delay",
            go(secs(60)),
            "the server asked for 90s (Retry-After date); waiting 60s before retry 3",
        ),
        (Reason::Backoff { retry: 2, delay: ms(875) }, "backoff", go(ms(875)), "backing off 875ms before retry 2"),
        (status_reason(200), "status_not_retryable", stop, "status 200 needs no retry"),
        (status_reason(399), "status_not_retryable", stop, "status 399 needs no retry"),
        (status_reason(400), "status_not_retryable", stop, "status 400 is not retried"),
        (
            Reason::ErrorNotRetryable { kind: ErrorKind::Timeout },
            "error_not_retryable",
            stop,
            "a timeout is not retried: the server may have acted on the request",
        ),
        (
            Reason::ErrorNotRetryable { kind: ErrorKind::Connection },
            "error_not_retryable",
            stop,
            "a connection error is not retried: the server may have acted on the request",
        ),
        (
            Reason::ErrorNotRetryable { kind: ErrorKind::Other },
            "error_not_retryable",
            stop,
            "a permanent error is never retried",
        ),
        (Reason::ServerRefused, "server_refused", stop, "the server asked not to retry (x-should-retry: false)"),
        (exhausted(0, None), "retries_exhausted", stop, "no retry is allowed (max_retries 0)"),
        (exhausted(1, None), "retries_exhausted", stop, "the only retry allowed has been made (max_retries 1)"),
        (
            exhausted(2, Some(secs(20))),
            "retries_exhausted",
            stop,
            "all 2 retries allowed have been made; the server asked for 20s",
        ),
        (
            Reason::ServerDelayTooLong { requested: secs(90), max: secs(60) },
            "server_delay_too_long",
            stop,
            "the server asked for 90s, longer than the 60s that are accepted",
        ),
        (
            over_budget(secs(20), Some(secs(20))),
            "budget_exhausted",
            stop,
            "20s more after 20.8s would pass the 30s budget",
        ),
        (
            over_budget(secs(60), Some(secs(90))),
            "budget_exhausted",
            stop,
            "60s more after 20.8s would pass the 30s budget; the server asked for 90s",
        ),
        (
            Reason::QuotaExhausted { available: 2, cost: 5 },
            "quota_exhausted",
            stop,
            "a retry costs 5 tokens and the quota has 2",
        ),
    ] {
        assert_eq!((reason.name(), reason.decision(), reason.to_string().as_str()), (name, decision, line));
    }
}

#[test]
fn before_the_first_event_there_is_no_reason() {
    let machine = RetryMachine::new(&RetryPolicy::default(), "GET", 1, std::time::Instant::now());
    assert_eq!((machine.reason(), machine.retry_count(), machine.is_finished()), (None, 0, false));
}

fn server_delay(source: DelaySource) -> Reason {
    Reason::ServerDelay { retry: 3, source, requested: secs(90), delay: secs(60) }
}

fn status_reason(status: u16) -> Reason {
    Reason::StatusNotRetryable { status }
}
