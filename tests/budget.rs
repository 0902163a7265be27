//! The budget: wall time per call, counted from the machine's start, within which the last attempt has to start.

mod common;

use std::time::Duration;

use common::{Call, ms, policy, response, secs, status};
use retry_machine::{ErrorKind, Reason, RetryOptions, RetryPolicy};

#[test]
fn a_retry_that_starts_just_within_the_budget_is_granted() {
    let mut call = Call::new(&RetryPolicy::default(), "GET");
    call.at(ms(29_500).checked_sub(Duration::from_nanos(1)).unwrap(), status(503)).waits(ms(500));
}

// RB-082: cenkalti/backoff#159
#[test]
fn a_budget_reached_exactly_gives_up_and_says_by_which_numbers() {
    let mut call = Call::new(&RetryPolicy::default(), "GET");
    let answer = call.at(ms(29_500), status(503));
    assert_eq!(answer.reason.to_string(), "500ms more after 29.5s would pass the 30s budget");
    answer.because(Reason::BudgetExhausted { elapsed: ms(29_500), delay: ms(500), budget: secs(30), requested: None });
    assert_eq!(call.machine.retry_count(), 0);
}

#[test]
fn a_zero_budget_never_retries_even_without_delay() {
    let at_once = RetryOptions::default().backoff_initial(Duration::ZERO);
    Call::new(&policy(at_once.clone()), "GET").at(Duration::ZERO, status(503)).waits(Duration::ZERO);
    Call::new(&policy(at_once.budget(Duration::ZERO)), "GET")
        .at(Duration::ZERO, status(503))
        .gives_up("budget_exhausted");
}

#[test]
fn every_retry_counts_from_the_start_of_the_call() {
    let mut call = Call::new(&policy(RetryOptions::default().max_retries(5).budget(secs(10))), "GET");
    call.at(secs(4), status(503)).waits(ms(500));
    call.at(secs(8), ErrorKind::Timeout).waits(ms(1000));
    call.at(ms(9_500), ErrorKind::NotSent).gives_up("budget_exhausted");
}

#[test]
fn an_attempt_may_outlast_the_budget_and_succeed() {
    let mut call = Call::new(&RetryPolicy::default(), "GET");
    call.at(secs(29), status(503)).waits(ms(500));
    call.at(secs(90), status(200)).because(Reason::StatusNotRetryable { status: 200 });
}

#[test]
fn the_delay_that_counts_is_the_one_that_would_be_waited() {
    let an_hour = [("Retry-After", "3600")];
    let minute_and_more = policy(RetryOptions::default().budget(secs(61)));
    // Clamped to 60 s, it fits.
    Call::new(&minute_and_more, "GET").at(ms(999), response(503, &an_hour)).waits(secs(60));
    Call::new(&minute_and_more, "GET").at(ms(1000), response(503, &an_hour)).because(Reason::BudgetExhausted {
        elapsed: secs(1),
        delay: secs(60),
        budget: secs(61),
        requested: Some(secs(3600)),
    });
}

#[test]
fn without_a_budget_there_is_no_limit() {
    let mut call = Call::new(&policy(RetryOptions::default().no_budget()), "GET");
    let a_century = secs(100 * 365 * 86_400);
    call.at(a_century, status(503)).waits(ms(500));
    assert_eq!(call.machine.remaining_budget(call.start + a_century), None);
}

// RB-058: seanmonstar/reqwest#3060
#[test]
fn the_longest_budget_decides_as_none_does() {
    let longest = policy(RetryOptions::default().budget(Duration::MAX));
    let none = policy(RetryOptions::default().no_budget());
    for elapsed in [Duration::ZERO, secs(30), secs(10_000_000_000)] {
        let [by_longest, by_none] =
            [&longest, &none].map(|policy| Call::new(policy, "GET").at(elapsed, status(503)).decision);
        assert_eq!(by_longest, by_none, "after {elapsed:?}");
    }
    let call = Call::new(&longest, "GET");
    assert_eq!(call.machine.remaining_budget(call.start), Some(Duration::MAX));
    assert_eq!(call.machine.remaining_budget(call.start + secs(1)), Some(Duration::MAX.checked_sub(secs(1)).unwrap()));
}

// RB-049: aws/aws-sdk-java-v2#1453
#[test]
fn elapsed_and_delay_add_up_without_overflow() {
    let endless = policy(RetryOptions::default().budget(Duration::MAX).retry_after_max(Duration::MAX));
    let forever = [("Retry-After", "1e300")];
    Call::new(&endless, "GET").at(secs(1), response(503, &forever)).because(Reason::BudgetExhausted {
        elapsed: secs(1),
        delay: Duration::MAX,
        budget: Duration::MAX,
        requested: Some(Duration::MAX),
    });
    Call::new(&endless, "GET").at(secs(1), response(503, &[("Retry-After", "1e9")])).waits(secs(1_000_000_000));
}

#[test]
fn the_remaining_budget_falls_to_zero_and_stays_there() {
    let call = Call::new(&RetryPolicy::default(), "GET");
    for (elapsed, left) in [(0, 30_000), (29_999, 1), (30_000, 0), (90_000, 0)] {
        assert_eq!(call.machine.remaining_budget(call.start + ms(elapsed)), Some(ms(left)), "after {elapsed} ms");
    }
}
