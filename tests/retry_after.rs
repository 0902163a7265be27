//! The delay that a server asks for, as a number: which values are one, and what bounds and jitter make of it.

mod common;

use std::time::Duration;

use common::{Call, ms, policy, response, secs, status};
use retry_machine::{
    DelaySource, ErrorKind, FixedDraw, Reason, RetryAfterExcess, RetryHeaders, RetryOptions, RetryPolicy,
};

#[test]
fn numbers_are_plain_decimals() {
    for (value, seconds) in [("20", 20.0), ("2.5", 2.5), (".5", 0.5), ("5.", 5.0), ("+5", 5.0), ("1e1", 10.0)] {
        assert_eq!(requested("Retry-After", value), Some(Duration::from_secs_f64(seconds)), "{value}");
    }
    for zero in ["", "0", "-0", "  ", "0e9", "-0.0"] {
        assert_eq!(requested("Retry-After", zero), Some(Duration::ZERO), "{zero:?}");
    }
    for spaced in [" 20", "20\t", "\u{a0}20\u{2003}"] {
        assert_eq!(requested("Retry-After", spaced), Some(secs(20)), "{spaced:?}");
    }
}

#[test]
fn what_is_no_number_is_unusable() {
    for value in
        ["-1", "inf", "NaN", "1_000", "0x10", "20s", "20, 30", "2 0", ".", "+", "e5", "1e", "1e+", "--1", "２０"]
    {
        assert_eq!(requested("Retry-After", value), None, "{value}");
        assert_eq!(requested("retry-after-ms", value), None, "{value} ms");
    }
}

#[test]
fn a_number_is_judged_by_its_milliseconds_and_saturates() {
    assert_eq!(requested("Retry-After", "1e305"), Some(Duration::MAX));
    assert_eq!(requested("Retry-After", "1e306"), None);
    assert_eq!(requested("retry-after-ms", "1e306"), Some(Duration::MAX));
    assert_eq!(requested("retry-after-ms", "1e309"), None);
    assert_eq!(requested("Retry-After", &"9".repeat(400)), None);
    assert_eq!(requested("Retry-After", "1e-400"), Some(Duration::ZERO));
}

#[test]
fn a_fraction_of_a_millisecond_is_kept() {
    assert_eq!(requested("Retry-After", "1.0004"), Some(Duration::from_micros(1_000_400)));
    assert_eq!(requested("retry-after-ms", "1500.25"), Some(Duration::from_micros(1_500_250)));
}

#[test]
fn milliseconds_count_before_seconds_and_fall_through_where_unusable() {
    let both = [("Retry-After", "20"), ("retry-after-ms", "1500")];
    assert_eq!(RetryHeaders::from_pairs(both).requested_delay(None), Some(ms(1500)));
    let unusable = [("Retry-After", "20"), ("retry-after-ms", "soon")];
    assert_eq!(RetryHeaders::from_pairs(unusable).requested_delay(None), Some(secs(20)));
}

// RB-032: slackapi/node-slack-sdk#1421
#[test]
fn a_bad_header_raises_nothing_and_stays_as_it_came() {
    let headers = [("Retry-After", "-30"), ("retry-after-ms", "NaN")];
    assert_eq!(RetryHeaders::from_pairs(headers).requested_delay(None), None);
    let mut call = Call::new(&RetryPolicy::default(), "GET");
    call.at(Duration::ZERO, response(429, &headers)).because(Reason::Backoff { retry: 1, delay: ms(500) });
    assert_eq!(headers, [("Retry-After", "-30"), ("retry-after-ms", "NaN")]);
}

#[test]
fn a_requested_delay_is_raised_to_the_minimum_then_lowered_to_the_maximum() {
    let policy = RetryPolicy::default();
    for (value, delay) in [("0", ms(100)), ("99", ms(100)), ("101", ms(101)), ("60000", secs(60)), ("1e9", secs(60))] {
        assert_eq!(policy.delay(response(503, &[("retry-after-ms", value)]), 1, 0.0, None), delay, "{value} ms");
    }
}

#[test]
fn where_the_minimum_is_above_the_maximum_the_maximum_wins() {
    let policy = policy(RetryOptions::default().retry_after_min(secs(9)).retry_after_max(secs(3)));
    for value in ["0", "5", "20"] {
        Call::new(&policy, "GET").at(Duration::ZERO, response(503, &[("Retry-After", value)])).waits(secs(3));
    }
}

#[test]
fn the_retry_number_advances_on_the_servers_delays_too() {
    let mut call = Call::new(&policy(RetryOptions::default().max_retries(4)), "GET");
    call.at(secs(0), response(503, &[("Retry-After", "1")])).waits(secs(1));
    call.at(secs(1), status(503)).because(Reason::Backoff { retry: 2, delay: secs(1) });
    call.at(secs(2), response(503, &[("retry-after-ms", "200")])).because(Reason::ServerDelay {
        retry: 3,
        source: DelaySource::RetryAfterMs,
        requested: ms(200),
        delay: ms(200),
    });
    call.at(secs(3), ErrorKind::Timeout).because(Reason::Backoff { retry: 4, delay: secs(4) });
}

#[test]
fn a_server_that_is_not_listened_to_gets_backoff() {
    let deaf = policy(RetryOptions::default().respect_retry_after(false));
    let busy = response(503, &[("Retry-After", "20")]);
    Call::new(&deaf, "GET").at(Duration::ZERO, busy).because(Reason::Backoff { retry: 1, delay: ms(500) });
    assert_eq!(deaf.delay(busy, 2, 0.0, None), secs(1));
}

// RB-106: psf/requests#4555
#[test]
fn a_requested_delay_can_be_read_without_a_policy_and_is_not_clamped() {
    // A 202 that says when to poll again, and a 301: neither is retried.
    for code in [202, 301] {
        let headers = [("Retry-After", "86400")];
        assert!(!RetryPolicy::default().is_retryable(response(code, &headers)));
        assert_eq!(RetryHeaders::from_pairs(headers).requested_delay(None), Some(secs(86_400)));
    }
}

#[test]
fn an_excessive_delay_gives_up_where_the_policy_says_so() {
    let options = RetryOptions::default().retry_after_max(secs(10)).retry_after_excess(RetryAfterExcess::GiveUp);
    let strict = policy(options.clone());
    Call::new(&strict, "GET").at(secs(0), response(503, &[("Retry-After", "10")])).waits(secs(10));
    let too_long = response(503, &[("Retry-After", "10.001")]);
    let reason = Reason::ServerDelayTooLong { requested: ms(10_001), max: secs(10) };
    Call::new(&strict, "GET").at(secs(0), too_long).because(reason);
    // After an exhausted retry count and before the budget.
    let none_left = policy(options.clone().max_retries(0));
    Call::new(&none_left, "GET").at(secs(0), too_long).gives_up("retries_exhausted");
    Call::new(&strict, "GET").at(secs(99), too_long).because(reason);
    // What is compared is the delay as it came, before the minimum; and `delay` alone always clamps.
    let raised = policy(options.retry_after_min(secs(20)));
    Call::new(&raised, "GET").at(secs(0), response(503, &[("Retry-After", "1")])).waits(secs(10));
    assert_eq!(strict.delay(too_long, 1, 0.0, None), secs(10));
}

#[test]
fn jitter_is_added_to_a_servers_delay_after_the_bounds() {
    let spread = policy(RetryOptions::default().retry_after_jitter(0.5).budget(secs(120)));
    for (value, delay) in [("20", secs(25)), ("3600", secs(75)), ("0", ms(125))] {
        Call::with_rng(&spread, "GET", FixedDraw::new(0.5))
            .at(secs(0), response(503, &[("Retry-After", value)]))
            .waits(delay);
    }
    // Backoff has its own jitter.
    Call::with_rng(&spread, "GET", FixedDraw::new(0.5)).at(secs(0), status(503)).waits(ms(438));
}

#[test]
fn added_jitter_saturates_and_never_shortens() {
    let endless = policy(RetryOptions::default().retry_after_jitter(1.0).retry_after_max(Duration::MAX));
    assert_eq!(endless.delay(response(503, &[("Retry-After", "1e300")]), 1, 1.0, None), Duration::MAX);
    // An f64 of so many seconds has no room for every nanosecond, and may come out below.
    for nanos in 0..1000 {
        let max = Duration::new(1_000_000_007, nanos);
        let bound = policy(RetryOptions::default().retry_after_jitter(1.0).retry_after_max(max));
        assert!(bound.delay(response(503, &[("Retry-After", "1e300")]), 1, 0.0, None) >= max, "{max:?}");
    }
}

/// What a single header asks for.
fn requested(name: &str, value: &str) -> Option<Duration> {
    RetryHeaders::from_pairs([(name, value)]).requested_delay(None)
}
