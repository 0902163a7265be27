//! The schedule of backoffs, and the longest wait that it adds up to.

mod common;

use std::time::Duration;

use common::{ms, policy, secs};
use retry_machine::{RetryOptions, RetryPolicy};

#[test]
fn the_schedule_has_the_range_of_every_retry() {
    let policy = policy(RetryOptions::default().max_retries(5));
    let schedule: Vec<_> = policy.schedule().collect();
    assert_eq!(
        schedule,
        [ms(375)..=ms(500), ms(750)..=secs(1), ms(1500)..=secs(2), secs(3)..=secs(4), ms(3750)..=secs(5)]
    );
    assert!((1..=5).map(|retry| policy.backoff_range(retry)).eq(schedule));
    assert_eq!(policy.worst_case_wait(), ms(12_500));
}

#[test]
fn a_policy_without_retries_waits_for_nothing() {
    assert_eq!(RetryPolicy::never().schedule().count(), 0);
    assert_eq!(RetryPolicy::never().worst_case_wait(), Duration::ZERO);
}

#[test]
fn the_longest_wait_is_the_sum_of_the_schedule() {
    for max_retries in [0, 1, 2, 5, 93, 94, 95, 96, 1000] {
        for initial in [Duration::ZERO, Duration::from_nanos(1), ms(500), secs(9)] {
            for max in [Duration::ZERO, Duration::from_nanos(3), secs(5), Duration::MAX] {
                let options = RetryOptions::default().max_retries(max_retries);
                let policy = policy(options.backoff_initial(initial).backoff_max(max));
                let sum = policy.schedule().fold(Duration::ZERO, |sum, range| sum.saturating_add(*range.end()));
                assert_eq!(policy.worst_case_wait(), sum, "{max_retries} retries, {initial:?} to {max:?}");
            }
        }
    }
}

#[test]
fn any_number_of_retries_adds_up_in_no_time() {
    let endless = policy(RetryOptions::default().max_retries(u32::MAX));
    let growing = ms(500 + 1000 + 2000 + 4000);
    assert_eq!(endless.worst_case_wait(), growing + secs(5) * (u32::MAX - 4));
    // Lazy from both ends.
    assert_eq!(endless.schedule().next(), Some(ms(375)..=ms(500)));
    assert_eq!(endless.schedule().next_back(), Some(ms(3750)..=secs(5)));
}

// RB-044: yoshuawuyts/exponential-backoff#12
#[test]
fn the_sum_of_the_longest_delays_saturates() {
    let options = RetryOptions::default().max_retries(u32::MAX);
    let longest = policy(options.backoff_initial(Duration::MAX).backoff_max(Duration::MAX));
    assert_eq!(longest.worst_case_wait(), Duration::MAX);
    assert_eq!(longest.schedule().next().map(|range| *range.end()), Some(Duration::MAX));
}

#[test]
fn retries_that_cannot_fit_their_budget_show_before_they_ship() {
    let cannot_fit = policy(RetryOptions::default().max_retries(10));
    assert!(cannot_fit.worst_case_wait() >= cannot_fit.budget().expect("a budget"));
    assert!(Some(RetryPolicy::default().worst_case_wait()) < RetryPolicy::default().budget());
}
