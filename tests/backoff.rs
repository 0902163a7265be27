//! Backoff: exact exponential delays, and the jitter that is subtracted from them.

mod common;

use std::time::Duration;

use common::{ms, policy, secs};
use retry_machine::{RetryOptions, RetryPolicy};

#[test]
fn each_delay_is_twice_the_one_before_until_the_maximum() {
    let policy = RetryPolicy::default();
    let delays = [1, 2, 3, 4, 5, 6].map(|retry| policy.backoff(retry, 0.0));
    assert_eq!(delays, [500, 1000, 2000, 4000, 5000, 5000].map(ms));
}

#[test]
fn the_first_delay_is_capped_too() {
    let policy = policy(exact().backoff_initial(secs(9)).backoff_max(secs(5)));
    assert_eq!(policy.backoff(1, 0.0), secs(5));
}

#[test]
fn doubling_loses_no_nanosecond() {
    let policy = policy(exact().backoff_initial(Duration::new(1, 1)).backoff_max(Duration::MAX));
    assert_eq!(policy.backoff(33, 0.0), Duration::new(1 << 32, 0) + Duration::from_nanos(1 << 32));
}

#[test]
fn a_zero_initial_or_maximal_delay_disables_backoff() {
    for options in [exact().backoff_initial(Duration::ZERO), exact().backoff_max(Duration::ZERO)] {
        let policy = policy(options.backoff_jitter(0.25));
        for retry in [1, 2, u32::MAX] {
            assert_eq!(policy.backoff(retry, 0.5), Duration::ZERO);
        }
    }
}

// RB-053: jd/tenacity#526
// RB-059: BaseIntelligence/bounty-challenge#5061
#[test]
fn the_last_retry_number_costs_no_more_than_another_and_is_capped() {
    let policy = RetryPolicy::default();
    // A loop over the retry number would not come to its end here.
    for _ in 0..10_000 {
        assert_eq!(policy.backoff(u32::MAX, 0.0), secs(5));
    }
    assert_eq!(policy.backoff(u32::MAX, 0.7), policy.backoff(100, 0.7));
    assert_eq!(policy.backoff_range(u32::MAX), ms(3750)..=secs(5));
    assert_eq!(policy.backoff_range(100), ms(3750)..=secs(5));
}

#[test]
fn a_single_nanosecond_grows_to_the_longest_duration() {
    let policy = policy(exact().backoff_initial(Duration::from_nanos(1)).backoff_max(Duration::MAX));
    assert_eq!(policy.backoff(94, 0.0), Duration::from_nanos(1 << 63).saturating_mul(1 << 30));
    for retry in [95, 96, 1000, u32::MAX] {
        assert_eq!(policy.backoff(retry, 0.0), Duration::MAX, "retry {retry}");
    }
}

// RB-059: BaseIntelligence/bounty-challenge#5061
#[test]
fn retry_zero_counts_as_the_first() {
    let policy = RetryPolicy::default();
    assert_eq!(policy.backoff(0, 0.0), ms(500));
    assert_eq!(policy.backoff_range(0), policy.backoff_range(1));
}

// RB-044: yoshuawuyts/exponential-backoff#12
#[test]
fn the_longest_durations_overflow_nothing() {
    let longest = RetryOptions::default().backoff_initial(Duration::MAX).backoff_max(Duration::MAX).max_retries(3);
    let policy = policy(longest);
    assert_eq!(policy.backoff(1, 0.0), Duration::MAX);
    assert_eq!(policy.backoff(2, 0.0), Duration::MAX);
    assert_eq!(policy.backoff(1, 1.0).as_secs_f64(), Duration::MAX.as_secs_f64() * 0.75);
    assert_eq!(*policy.backoff_range(1).end(), Duration::MAX);
    assert_eq!(policy.schedule().count(), 3);
    assert_eq!(policy.worst_case_wait(), Duration::MAX);
}

#[test]
fn jitter_is_subtracted_and_rounded_to_the_nearest_millisecond() {
    let policy = RetryPolicy::default();
    // 500 ms less an eighth: 437.5 ms, and the half is rounded up.
    assert_eq!(policy.backoff(1, 0.5), ms(438));
    assert_eq!(policy.backoff(1, 0.501), ms(437));
    assert_eq!(policy.backoff(1, 1.0), ms(375));
    // Rounding never goes above the delay itself: 1.6 ms do not become 2 ms.
    assert_eq!(backoff_of(Duration::from_micros(1600), 0.25, 0.0), Duration::from_micros(1600));
    assert_eq!(backoff_of(Duration::from_micros(1600), 0.25, 1.0), ms(1));
}

#[test]
fn without_jitter_the_delay_is_exact_to_the_nanosecond() {
    let odd = Duration::new(1, 234_567_891);
    assert_eq!(backoff_of(odd, 0.0, 0.9), odd);
}

// RB-069: home-operations/external-dns-unifi-webhook#230
#[test]
fn delays_below_a_millisecond_are_not_rounded_away() {
    for nanos in [1, 2, 999, 1_000, 123_456, 999_999] {
        let initial = Duration::from_nanos(nanos);
        for jitter in [0.0, 0.25, 1.0] {
            for draw in [0.0, 0.5, 1.0] {
                let delay = backoff_of(initial, jitter, draw);
                let exact = nanos as f64 * (1.0 - draw * jitter);
                assert!((delay.as_nanos() as f64 - exact).abs() <= 0.5, "{initial:?} x {jitter} x {draw}: {delay:?}");
            }
        }
    }
}

#[test]
fn a_draw_is_clamped_and_nan_is_zero() {
    let policy = RetryPolicy::default();
    let delay = |draw| policy.backoff(1, draw);
    assert_eq!([-1.0, -0.0, f64::NEG_INFINITY, f64::NAN].map(delay), [ms(500); 4]);
    assert_eq!([1.0, 1.5, f64::INFINITY].map(delay), [ms(375); 3]);
}

#[test]
fn the_range_holds_every_backoff_of_its_retry() {
    let policy = policy(RetryOptions::default().backoff_jitter(0.5));
    assert_eq!(policy.backoff_range(2), ms(500)..=ms(1000));
    for percent in 0..=100 {
        assert!(policy.backoff_range(2).contains(&policy.backoff(2, f64::from(percent) / 100.0)), "{percent} %");
    }
}

/// Options without jitter.
fn exact() -> RetryOptions {
    RetryOptions::default().backoff_jitter(0.0)
}

/// The backoff before the first retry.
#[track_caller]
fn backoff_of(initial: Duration, jitter: f64, draw: f64) -> Duration {
    policy(RetryOptions::default().backoff_initial(initial).backoff_jitter(jitter)).backoff(1, draw)
}
