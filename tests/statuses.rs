//! Statuses: which responses are retried, and what the server may say of it.

mod common;

use std::time::Duration;

use common::{Call, policy, response, secs, status};
use retry_machine::{PolicyError, Reason, RetryOptions, RetryPolicy};

#[test]
fn the_default_statuses_are_408_429_and_500_to_599() {
    let policy = RetryPolicy::default();
    for code in 0..=u16::MAX {
        let expected = matches!(code, 408 | 429 | 500..=599);
        assert_eq!(policy.is_retryable(status(code)), expected, "{code}");
        assert_eq!(policy.statuses().contains(code), expected, "{code}");
    }
}

// RB-103: PaddleHQ/paddle-python-sdk#157
#[test]
fn every_code_of_three_digits_can_be_set_by_itself_or_in_a_range() {
    for code in 100..=999 {
        let alone = policy(RetryOptions::default().statuses([code]));
        assert_eq!(alone.statuses().iter().collect::<Vec<_>>(), [code]);
        assert!(alone.is_retryable(status(code)), "{code}");
        assert!(!alone.is_retryable(status(code - 1)) && !alone.is_retryable(status(code + 1)), "{code}");
    }
    let all = policy(RetryOptions::default().statuses(100..=999));
    assert!(all.statuses().iter().eq(100..=999));
    assert!([0, 99, 1000, 1024, u16::MAX].iter().all(|code| !all.is_retryable(status(*code))));
}

// RB-103: PaddleHQ/paddle-python-sdk#157
#[test]
fn the_first_code_that_is_out_of_bounds_is_reported() {
    for code in [0, 99, 1000, 1034, u16::MAX] {
        let error = Err(PolicyError::Status { option: "statuses", code });
        assert_eq!(RetryOptions::default().statuses([429, code, 1]).validate(), error);
    }
    // The last setting counts: a good one takes a bad one back.
    assert_eq!(RetryOptions::default().statuses([99]).statuses([429]).validate(), Ok(()));
}

#[test]
fn the_codes_come_back_in_order_and_once() {
    let statuses = policy(RetryOptions::default().statuses([503, 429, 503, 100])).statuses();
    assert!(statuses.iter().eq([100, 429, 503]));
    assert_eq!(format!("{statuses:?}"), "{100, 429, 503}");
    assert_eq!(format!("{:?}", RetryPolicy::default().statuses()), "{408, 429, 500-599}");
}

#[test]
fn no_statuses_means_that_none_is_retried() {
    let none = policy(RetryOptions::default().statuses([]));
    assert_eq!(none.statuses().iter().count(), 0);
    Call::new(&none, "GET").at(Duration::ZERO, status(503)).because(Reason::StatusNotRetryable { status: 503 });
}

#[test]
fn a_success_can_be_retried_if_the_policy_lists_it() {
    let poll = policy(RetryOptions::default().statuses([202]));
    Call::new(&poll, "GET").at(Duration::ZERO, response(202, &[("Retry-After", "3")])).waits(secs(3));
}

// RB-149: sindresorhus/got#1663
#[test]
fn unsafe_statuses_follow_the_merged_statuses_until_they_are_set() {
    let base = RetryPolicy::default();
    let merged = base.merge(RetryOptions::default().statuses([418])).expect("valid").for_method("POST");
    assert_eq!(merged.unsafe_statuses(), None);
    assert!(merged.is_retryable(status(418)) && !merged.is_retryable(status(503)));
}

#[test]
fn unsafe_statuses_are_for_methods_that_are_not_safe_to_replay() {
    let careful = policy(RetryOptions::default().unsafe_statuses([429]));
    for safe in ["GET", "HEAD", "OPTIONS"] {
        assert!(careful.for_method(safe).is_retryable(status(503)), "{safe}");
    }
    for other in [careful.for_method("POST"), careful.for_method("get"), careful.clone()] {
        assert!(other.is_retryable(status(429)) && !other.is_retryable(status(503)));
    }
    let as_before = careful.merge(RetryOptions::default().same_unsafe_statuses()).expect("valid");
    assert!(as_before.for_method("POST").is_retryable(status(503)));
}

#[test]
fn the_server_is_heard_on_whether_to_retry_only_where_asked_to() {
    let listening = policy(RetryOptions::default().respect_should_retry(true));
    let (yes, no) = ([("x-should-retry", "true")], [("X-Should-Retry", " false ")]);
    for (code, headers, retried) in
        [(400, &yes, true), (404, &yes, true), (1000, &yes, true), (399, &yes, false), (200, &yes, false)]
    {
        assert_eq!(listening.is_retryable(response(code, headers)), retried, "{code}");
        assert!(!RetryPolicy::default().is_retryable(response(code, headers)), "{code}");
    }
    Call::new(&listening, "GET").at(secs(0), response(503, &no)).because(Reason::ServerRefused);
    // It also stands over the retry count and the budget: step 2 comes first.
    Call::new(&policy(RetryOptions::from(&listening).max_retries(0)), "GET")
        .at(secs(99), response(503, &no))
        .because(Reason::ServerRefused);
}

#[test]
fn what_the_server_says_of_a_retry_is_true_or_false_and_nothing_else() {
    let listening = policy(RetryOptions::default().respect_should_retry(true));
    for value in ["TRUE", "1", "yes", "", "true, false", "\"true\"", "False"] {
        let headers = [("x-should-retry", value)];
        assert!(!listening.is_retryable(response(404, &headers)), "{value:?}");
        assert!(listening.is_retryable(response(503, &headers)), "{value:?}");
    }
}

#[test]
fn a_retry_that_the_server_asked_for_is_still_counted_and_budgeted() {
    let listening = policy(RetryOptions::default().respect_should_retry(true).max_retries(1));
    let yes = response(404, &[("x-should-retry", "true")]);
    let mut call = Call::new(&listening, "POST");
    call.at(secs(0), yes).waits(Duration::from_millis(500));
    call.at(secs(1), yes).gives_up("retries_exhausted");
    Call::new(&listening, "POST").at(secs(30), yes).gives_up("budget_exhausted");
}
