//! Options and policies: layers, what is refused, and what it is refused with.

mod common;

use std::time::Duration;

use common::{Call, ms, policy, secs, status};
use retry_machine::{PolicyError, Replay, RetryOptions, RetryOverride, RetryPolicy};

// RB-140: aneoconsulting/ArmoniK.Api#732
// RB-144: resilience4j/resilience4j#2513
#[test]
fn a_fraction_out_of_bounds_is_refused_by_name_and_value() {
    for (value, shown) in [
        (-0.1, "-0.1"),
        (1.1, "1.1"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "inf"),
        (f64::NEG_INFINITY, "-inf"),
        (-f64::MIN_POSITIVE, &(-f64::MIN_POSITIVE).to_string()),
    ] {
        for (option, options) in [
            ("backoff_jitter", RetryOptions::default().backoff_jitter(value)),
            ("retry_after_jitter", RetryOptions::default().retry_after_jitter(value)),
        ] {
            let error = PolicyError::Fraction { option, value };
            assert_eq!(error.to_string(), format!("`{option}`: found {shown}, expected a number from 0 to 1"));
            assert_refused(&options, error);
        }
    }
}

// RB-144: resilience4j/resilience4j#2513
#[test]
fn a_status_out_of_bounds_is_refused_by_name_and_code() {
    for code in [0, 99, 1000, u16::MAX] {
        for (option, options) in [
            ("statuses", RetryOptions::default().statuses([503, code])),
            ("unsafe_statuses", RetryOptions::default().unsafe_statuses([503, code])),
        ] {
            let error = PolicyError::Status { option, code };
            assert_eq!(error.to_string(), format!("`{option}`: found {code}, expected statuses from 100 to 999"));
            assert_refused(&options, error);
        }
    }
}

#[test]
fn the_bounds_themselves_are_good() {
    for fraction in [0.0, -0.0, 1.0] {
        assert_eq!(RetryOptions::default().backoff_jitter(fraction).retry_after_jitter(fraction).validate(), Ok(()));
    }
    assert_eq!(RetryOptions::default().statuses([100, 999]).unsafe_statuses([100, 999]).validate(), Ok(()));
}

#[test]
fn of_several_bad_options_the_first_is_reported() {
    let options = RetryOptions::default().retry_after_jitter(2.0).unsafe_statuses([1]).statuses([2]);
    assert_refused(&options, PolicyError::Status { option: "statuses", code: 2 });
    let options = options.backoff_jitter(f64::NAN);
    assert_refused(&options, PolicyError::Fraction { option: "backoff_jitter", value: f64::NAN });
}

#[test]
fn errors_differ_where_what_they_say_differs() {
    let fraction = |option, value| PolicyError::Fraction { option, value };
    let code = |option, code| PolicyError::Status { option, code };
    assert_eq!(fraction("backoff_jitter", f64::NAN), fraction("backoff_jitter", f64::NAN));
    assert_ne!(fraction("backoff_jitter", 2.0), fraction("backoff_jitter", 3.0));
    assert_ne!(fraction("backoff_jitter", 2.0), fraction("retry_after_jitter", 2.0));
    assert_ne!(code("statuses", 1), code("statuses", 2));
    assert_ne!(code("statuses", 2), code("unsafe_statuses", 2));
    assert_ne!(code("backoff_jitter", 2), fraction("backoff_jitter", 2.0));
    let _: &dyn std::error::Error = &code("statuses", 1);
}

// RB-141: kent8192/reinhardt-web#765
#[test]
fn a_refused_layer_leaves_the_policy_in_use() {
    let base = policy(RetryOptions::default().max_retries(5));
    assert!(base.merge(RetryOptions::default().max_retries(9).backoff_jitter(2.0)).is_err());
    assert_eq!(base.max_retries(), 5);
    Call::new(&base, "GET").at(Duration::ZERO, status(503)).waits(ms(500));
}

// RB-144: resilience4j/resilience4j#2513
#[test]
fn checking_fills_nothing_in() {
    let options = RetryOptions::default().max_retries(7);
    let before = options.clone();
    assert_eq!(options.validate(), Ok(()));
    assert_eq!(options, before);
    // So it can still be merged as a set of changes.
    let base = policy(RetryOptions::default().backoff_max(secs(9)));
    assert_eq!(base.merge(options).map(|policy| (policy.max_retries(), policy.backoff_max())), Ok((7, secs(9))));
}

// RB-136: palantir/conjure-go-runtime#153
#[test]
fn set_to_nothing_differs_from_unset() {
    let base = policy(RetryOptions::default().max_retries(5).unsafe_statuses([429]));
    let zeros = RetryOptions::default()
        .max_retries(0)
        .backoff_initial(Duration::ZERO)
        .backoff_max(Duration::ZERO)
        .backoff_jitter(0.0)
        .statuses([])
        .same_unsafe_statuses()
        .retry_after_min(Duration::ZERO)
        .retry_after_max(Duration::ZERO)
        .no_budget();
    let merged = base.merge(&zeros).expect("valid");
    assert_eq!((merged.max_retries(), merged.budget(), merged.unsafe_statuses()), (0, None, None));
    assert_eq!([merged.backoff_initial(), merged.backoff_max()], [Duration::ZERO; 2]);
    assert_eq!([merged.retry_after_min(), merged.retry_after_max()], [Duration::ZERO; 2]);
    assert_eq!((merged.backoff_jitter(), merged.statuses().iter().count()), (0.0, 0));
    // As a layer of options likewise.
    assert_eq!(RetryOptions::default().max_retries(5).budget(secs(9)).merge(zeros.clone()), zeros);
    assert_eq!(
        base.merge(RetryOptions::default().budget(Duration::ZERO)).expect("valid").budget(),
        Some(Duration::ZERO)
    );
    assert_eq!(base.merge(RetryOptions::default()), Ok(base));
}

// RB-146: resilience4j/resilience4j#1605
#[test]
fn layers_that_set_different_options_come_in_any_order() {
    let initial = RetryOptions::default().backoff_initial(secs(20));
    let max = RetryOptions::default().backoff_max(secs(40));
    let expected = policy(initial.clone().backoff_max(secs(40)));
    for [first, second] in [[&initial, &max], [&max, &initial]] {
        assert_eq!(policy(first.clone()).merge(second), Ok(expected.clone()));
        assert_eq!(RetryPolicy::new(first.clone().merge(second.clone())), Ok(expected.clone()));
    }
    // In between, the first delay is above the maximum: that is in order too.
    assert_eq!(policy(initial).backoff(1, 0.0), secs(5));
}

#[test]
fn a_policy_is_made_of_options_or_a_policy_owned_or_borrowed() {
    let options = RetryOptions::default().max_retries(7);
    let seven = policy(options.clone());
    assert_eq!(RetryPolicy::new(&options), Ok(seven.clone()));
    assert_eq!(RetryPolicy::new(&seven), Ok(seven.clone()));
    assert_eq!(RetryPolicy::new(seven.clone()), Ok(seven.clone()));
    // The mark of a policy comes along.
    assert_eq!(RetryPolicy::new(seven.for_method("GET")), Ok(seven.for_method("GET")));
    for by in [RetryOverride::from(&options), RetryOverride::from(&seven)] {
        assert_eq!(RetryPolicy::default().merge(by), Ok(seven.clone()));
    }
}

#[test]
fn a_toggle_is_a_bool_or_auto() {
    assert_eq!(
        [Replay::from(true), Replay::from(false), Replay::default()],
        [Replay::Always, Replay::Never, Replay::Auto]
    );
    let taken_back = RetryOptions::default().retry_timeout_errors(true).retry_timeout_errors(Replay::Auto);
    assert_eq!(policy(taken_back), RetryPolicy::default());
}

/// Expects the same error from `validate`, `new` and `merge`.
#[track_caller]
fn assert_refused(options: &RetryOptions, error: PolicyError) {
    assert_eq!(options.validate(), Err(error));
    assert_eq!(RetryPolicy::new(options), Err(error));
    assert_eq!(RetryPolicy::never().merge(options), Err(error));
}
