//! Deciding allocates nothing, whatever comes in: an allocator that counts watches every path.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use retry_machine::{
    ErrorKind, Event, RetryAfterExcess, RetryHeaders, RetryMachine, RetryOptions, RetryPolicy, RetryQuota,
};

#[test]
fn the_counter_sees_an_allocation() {
    assert_eq!(allocations(|| Box::new(1_u8)), 1);
}

#[test]
fn a_machine_is_made_without_allocating() {
    let policy = RetryPolicy::default();
    let now = Instant::now();
    assert_eq!(allocations(|| RetryMachine::new(&policy, "GET", 1, now).with_wall_clock(noon())), 0);
}

#[test]
fn a_retry_by_backoff_is_granted_without_allocating() {
    check(RetryOptions::default(), Event::response(503, RetryHeaders::default()), "backoff");
    check(RetryOptions::default(), ErrorKind::Timeout, "backoff");
}

#[test]
fn a_retry_at_the_servers_time_is_granted_without_allocating() {
    let options = RetryOptions::default().retry_after_jitter(0.5);
    for name in ["retry-after", "retry-after-ms"] {
        check(options.clone(), busy(&[(name, b"2")]), "server_delay");
    }
    check(options, busy(&[("Retry-After", b"Tue, 01 Dec 2026 12:00:02 GMT")]), "server_delay");
}

#[test]
fn a_call_is_given_up_without_allocating() {
    let options = RetryOptions::default;
    check(options(), Event::response(200, RetryHeaders::default()), "status_not_retryable");
    check(options(), ErrorKind::Other, "error_not_retryable");
    check(options().respect_should_retry(true), busy(&[("x-should-retry", b"false")]), "server_refused");
    check(options().max_retries(0), busy(&[("Retry-After", b"2")]), "retries_exhausted");
    check(
        options().retry_after_excess(RetryAfterExcess::GiveUp),
        busy(&[("Retry-After", b"3600")]),
        "server_delay_too_long",
    );
    check(options().budget(Duration::ZERO), busy(&[("Retry-After", b"2")]), "budget_exhausted");
}

#[test]
fn a_quota_is_used_without_allocating() {
    let now = Instant::now();
    let quota = Arc::new(RetryQuota::new(5));
    let mut machine = RetryMachine::new(&RetryPolicy::default(), "GET", 1, now).with_quota(quota);
    check_next(&mut machine, ErrorKind::Connection, now, "backoff");
    check_next(&mut machine.clone(), ErrorKind::Timeout, now, "quota_exhausted");
    check_next(&mut machine, Event::response(200, RetryHeaders::default()), now, "status_not_retryable");
}

#[test]
fn every_header_value_is_read_without_allocating() {
    let values: [&[u8]; 12] = [
        b"",
        b" 120 ",
        b"-1.5e+3",
        b"1e400",
        b"nonsense",
        b"\xff\xfe",
        b"Sun, 06 Nov 1994 08:49:37 GMT",
        b"Mon, 06 Nov 1994 08:49:37 GMT",
        b"Sunday, 06-Nov-94 08:49:37 GMT",
        b"Sun Nov  6 08:49:37 1994",
        b"Sun, 31 Apr 1994 08:49:37 GMT",
        b"true, 20, 120",
    ];
    for value in values {
        check_value(value);
    }
}

#[test]
fn a_header_value_of_a_megabyte_is_read_without_allocating() {
    for pattern in [&b"9"[..], b"\xff", ", ".as_bytes(), "\u{2003}".as_bytes()] {
        check_value(&pattern.repeat(1_000_000 / pattern.len()));
    }
    check_value(format!("0.{}1", "0".repeat(1_000_000)).as_bytes());
}

#[test]
fn a_policy_answers_without_allocating() {
    let policy = RetryPolicy::default();
    let answers = || {
        let backoffs = [0, 1, 2, 1000, u32::MAX].map(|retry| policy.backoff(retry, 0.5));
        (
            backoffs,
            policy.schedule().count(),
            policy.worst_case_wait(),
            policy.for_method("PUT").is_retryable(ErrorKind::Timeout),
        )
    };
    assert_eq!(allocations(answers), 0);
}

/// Checks that no part of the crate allocates on a response with `value` in any of the headers that are read.
#[track_caller]
fn check_value(value: &[u8]) {
    const DATE: &[u8] = b"Tue, 01 Dec 2026 12:00:02 GMT";
    let policy = RetryPolicy::new(RetryOptions::default().respect_should_retry(true)).unwrap();
    let now = Instant::now();
    let machine = RetryMachine::new(&policy, "GET", 1, now);
    for (pairs, wall_clock) in [
        (&[("Retry-After-Ms", value), ("Retry-After", value), ("X-Should-Retry", value)][..], Some(noon())),
        (&[("Retry-After", value), ("Date", DATE)], None),
        (&[("Retry-After", DATE), ("Date", value)], None),
        (&[("Retry-After", DATE), ("Date", DATE), ("Age", value)], None),
    ] {
        let mut machine = match wall_clock {
            Some(wall_clock) => machine.clone().with_wall_clock(wall_clock),
            None => machine.clone(),
        };
        let allocations = allocations(|| {
            let headers = RetryHeaders::from_pairs(pairs);
            let event = Event::response(503, headers);
            (headers.requested_delay(wall_clock), policy.delay(event, 1, 0.5, wall_clock), machine.decide(event, now))
        });
        assert_eq!(allocations, 0, "{:.80}", format!("{:?}", RetryHeaders::from_pairs(pairs)));
    }
}

/// Checks a new machine's decision on `event`: what it is and that it allocates nothing.
#[track_caller]
fn check<'a>(options: RetryOptions, event: impl Into<Event<'a>>, reason: &str) {
    let now = Instant::now();
    let policy = RetryPolicy::new(options).unwrap();
    let mut machine = RetryMachine::new(&policy, "GET", 1, now).with_wall_clock(noon());
    check_next(&mut machine, event, now, reason);
    if machine.is_finished() {
        assert_eq!(allocations(|| machine.decide(ErrorKind::Timeout, now)), 0, "a finished machine");
    }
}

#[track_caller]
fn check_next<'a>(machine: &mut RetryMachine, event: impl Into<Event<'a>>, now: Instant, reason: &str) {
    let event = event.into();
    let allocations = allocations(|| machine.decide(event, now));
    assert_eq!(machine.reason().map(|reason| reason.name()), Some(reason));
    assert_eq!(allocations, 0, "{reason}");
}

/// How often `what` allocates.
fn allocations<T>(what: impl FnOnce() -> T) -> u64 {
    let mut result = None;
    let counted = allocation_counter::measure(|| result = Some(black_box(what())));
    counted.count_total
}

fn busy<'a>(headers: &'a [(&'a str, &'a [u8])]) -> Event<'a> {
    Event::response(503, RetryHeaders::from_pairs(headers))
}

/// 12:00 on 1 December 2026.
fn noon() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_796_126_400)
}
