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
fn every_reason_says_its_numbers_in_one_line() {
    let server_delay = |source| Reason::ServerDelay { retry: 3, source, requested: secs(90), delay: secs(60) };
    let refused = |status| Reason::StatusNotRetryable { status };
    let broken = |kind| Reason::ErrorNotRetryable { kind };
    let exhausted = |max_retries, requested| Reason::RetriesExhausted { max_retries, requested };
    let over_budget =
        |delay, requested| Reason::BudgetExhausted { elapsed: ms(20_800), delay, budget: secs(30), requested };

    let asked = "the server asked for 90s";
    says(server_delay(DelaySource::RetryAfterMs), &format!("{asked} (retry-after-ms); waiting 60s before retry 3"));
    says(server_delay(DelaySource::RetryAfterSeconds), &format!("{asked} (Retry-After); waiting 60s before retry 3"));
    says(server_delay(DelaySource::RetryAfterDate), &format!("{asked} (Retry-After date); waiting 60s before retry 3"));
    says(Reason::Backoff { retry: 2, delay: ms(875) }, "backing off 875ms before retry 2");

    says(refused(200), "status 200 needs no retry");
    says(refused(399), "status 399 needs no retry");
    says(refused(400), "status 400 is not retried");
    let may_have_acted = "is not retried: the server may have acted on the request";
    says(broken(ErrorKind::Connection), &format!("a connection error {may_have_acted}"));
    says(broken(ErrorKind::Timeout), &format!("a timeout {may_have_acted}"));
    says(broken(ErrorKind::Other), "a permanent error is never retried");
    says(Reason::ServerRefused, "the server asked not to retry (x-should-retry: false)");

    says(exhausted(0, None), "no retry is allowed (max_retries 0)");
    says(exhausted(1, None), "the only retry allowed has been made (max_retries 1)");
    says(exhausted(2, Some(secs(90))), &format!("all 2 retries allowed have been made; {asked}"));
    let too_long = Reason::ServerDelayTooLong { requested: secs(90), max: secs(60) };
    says(too_long, &format!("{asked}, longer than the 60s that are accepted"));
    // Where the delay is what the server asked for, that is not said twice.
    says(over_budget(secs(90), Some(secs(90))), "90s more after 20.8s would pass the 30s budget");
    let clamped = over_budget(secs(60), Some(secs(90)));
    says(clamped, &format!("60s more after 20.8s would pass the 30s budget; {asked}"));
    says(Reason::QuotaExhausted { available: 2, cost: 5 }, "a retry costs 5 tokens and the quota has 2");
}

#[test]
fn every_reason_has_a_name_and_goes_with_a_decision() {
    let (delay, requested) = (secs(1), None);
    for (reason, name, decision) in [
        (Reason::Backoff { retry: 1, delay }, "backoff", Decision::RetryAfter(delay)),
        (
            Reason::ServerDelay { retry: 1, source: DelaySource::RetryAfterMs, requested: secs(2), delay },
            "server_delay",
            Decision::RetryAfter(delay),
        ),
        (Reason::StatusNotRetryable { status: 404 }, "status_not_retryable", Decision::GiveUp),
        (Reason::ErrorNotRetryable { kind: ErrorKind::Other }, "error_not_retryable", Decision::GiveUp),
        (Reason::ServerRefused, "server_refused", Decision::GiveUp),
        (Reason::RetriesExhausted { max_retries: 2, requested }, "retries_exhausted", Decision::GiveUp),
        (Reason::ServerDelayTooLong { requested: delay, max: delay }, "server_delay_too_long", Decision::GiveUp),
        (
            Reason::BudgetExhausted { elapsed: delay, delay, budget: delay, requested },
            "budget_exhausted",
            Decision::GiveUp,
        ),
        (Reason::QuotaExhausted { available: 0, cost: 5 }, "quota_exhausted", Decision::GiveUp),
    ] {
        assert_eq!((reason.name(), reason.decision()), (name, decision));
    }
}

#[test]
fn before_the_first_event_there_is_no_reason() {
    let machine = RetryMachine::new(&RetryPolicy::default(), "GET", 1, std::time::Instant::now());
    assert_eq!((machine.reason(), machine.retry_count(), machine.is_finished()), (None, 0, false));
}

#[track_caller]
fn says(reason: Reason, line: &str) {
    assert_eq!(reason.to_string(), line);
}
