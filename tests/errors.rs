//! Errors: which kinds are retried for which method.

mod common;

use std::time::Duration;

use common::{Call, policy, secs, status};
use retry_machine::{ErrorKind, Reason, Replay, RetryOptions, RetryPolicy};

#[test]
fn get_head_and_options_are_safe_to_replay_and_nothing_else_is() {
    for method in ["GET", "HEAD", "OPTIONS"] {
        assert_eq!(retried(&RetryPolicy::default(), method), [true, true, true, true, false], "{method}");
    }
    // Method tokens are case-sensitive, and idempotent is not safe.
    for method in ["POST", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "QUERY", "get", "Get", " GET", "", "GET\0"] {
        assert_eq!(retried(&RetryPolicy::default(), method), [false, false, true, true, false], "{method:?}");
    }
}

#[test]
fn an_explicit_setting_is_left_alone_by_the_method() {
    for method in ["GET", "POST"] {
        let always = RetryOptions::default().retry_connection_errors(true).retry_timeout_errors(Replay::Always);
        assert_eq!(retried(&policy(always), method), [true, true, true, true, false], "always, {method}");
        let never = RetryOptions::default().retry_connection_errors(false).retry_timeout_errors(Replay::Never);
        assert_eq!(retried(&policy(never), method), [false, false, true, true, false], "never, {method}");
    }
}

#[test]
fn connection_errors_and_timeouts_are_set_apart() {
    let connection_only = policy(RetryOptions::default().retry_connection_errors(true));
    assert_eq!(retried(&connection_only, "POST"), [true, false, true, true, false]);
    let timeout_only = policy(RetryOptions::default().retry_timeout_errors(true));
    assert_eq!(retried(&timeout_only, "POST"), [false, true, true, true, false]);
}

// RB-088: dotnet/extensions#6548
#[test]
fn with_no_method_marked_what_depends_on_it_is_refused() {
    let unmarked = RetryPolicy::default();
    assert_eq!(ALL.map(|kind| unmarked.is_retryable(kind)), [false, false, true, true, false]);
}

// RB-088: dotnet/extensions#6548
#[test]
fn the_last_method_marked_wins_and_a_machine_marks_its_own() {
    let marked = RetryPolicy::default().for_method("GET");
    assert!(marked.is_retryable(ErrorKind::Timeout));
    assert!(!marked.for_method("POST").is_retryable(ErrorKind::Timeout));
    assert_eq!(retried(&marked, "POST"), [false, false, true, true, false]);
    assert_eq!(retried(&marked.for_method("POST"), "GET"), [true, true, true, true, false]);
}

// RB-088: dotnet/extensions#6548
#[test]
fn merging_options_keeps_the_mark_and_a_marked_policy_brings_its_own() {
    let get = RetryPolicy::default().for_method("GET");
    let merged = get.merge(RetryOptions::default().statuses([404])).expect("valid");
    assert!(merged.is_retryable(ErrorKind::Timeout));
    assert!(merged.is_retryable(status(404)) && !merged.is_retryable(status(503)));
    // An unmarked policy has no method to bring.
    assert!(get.merge(RetryPolicy::never()).expect("valid").is_retryable(ErrorKind::Timeout));
    assert!(!get.merge(RetryPolicy::never().for_method("POST")).expect("valid").is_retryable(ErrorKind::Timeout));
}

#[test]
fn a_retryable_error_is_still_subject_to_the_retry_count_and_the_budget() {
    for kind in [ErrorKind::Connection, ErrorKind::Timeout, ErrorKind::PoolTimeout, ErrorKind::NotSent] {
        Call::new(&RetryPolicy::never(), "GET").at(Duration::ZERO, kind).gives_up("retries_exhausted");
        Call::new(&RetryPolicy::default(), "GET").at(secs(30), kind).gives_up("budget_exhausted");
    }
}

#[test]
fn a_refused_error_is_refused_before_anything_is_counted() {
    let mut call = Call::new(&RetryPolicy::never(), "POST");
    call.at(secs(99), ErrorKind::Timeout).because(Reason::ErrorNotRetryable { kind: ErrorKind::Timeout });
}

#[test]
fn a_status_is_retried_for_every_method() {
    for method in ["GET", "POST", "DELETE", "made-up"] {
        assert!(RetryPolicy::default().for_method(method).is_retryable(status(503)), "{method}");
    }
}

const ALL: [ErrorKind; 5] =
    [ErrorKind::Connection, ErrorKind::Timeout, ErrorKind::PoolTimeout, ErrorKind::NotSent, ErrorKind::Other];

/// Which of [`ALL`] kinds a machine for this method retries; the policy, marked, has to agree.
#[track_caller]
fn retried(policy: &RetryPolicy, method: &str) -> [bool; 5] {
    ALL.map(|kind| {
        let mut call = Call::new(policy, method);
        let refused = call.at(Duration::ZERO, kind).reason == Reason::ErrorNotRetryable { kind };
        assert_eq!(policy.for_method(method).is_retryable(kind), !refused, "{kind:?}");
        !refused
    })
}
