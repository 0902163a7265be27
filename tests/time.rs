//! Time as an input: `now` in any order and at its ends, and a wall clock that has no part in the budget.

mod common;

use std::time::{Duration, Instant, SystemTime};

use common::{Call, ms, policy, response, secs, status, unix};
use retry_machine::{Decision, Event, FixedDraw, RetryHeaders, RetryMachine, RetryOptions, RetryPolicy};

// RB-159: rust-lang/rust#86470
#[test]
fn a_now_before_the_start_is_the_start() {
    let before = Instant::now();
    let start = before + secs(1000);
    let mut machine = RetryMachine::with_rng(&RetryPolicy::default(), "GET", FixedDraw::new(0.0), start);
    assert_eq!(machine.remaining_budget(before), Some(secs(30)));
    assert_eq!(machine.decide(status(503), before), Decision::RetryAfter(ms(500)));
}

// RB-159: rust-lang/rust#86470
#[test]
fn only_the_start_counts_where_now_runs_backwards() {
    let patient = policy(RetryOptions::default().max_retries(100));
    let before = Instant::now();
    let start = before + secs(1000);
    let mut machine = RetryMachine::with_rng(&patient, "GET", FixedDraw::new(0.0), start);
    for (now, left) in [(start + secs(20), 10), (start, 30), (start + secs(24), 6), (before, 30), (start + secs(1), 29)]
    {
        assert_eq!(machine.remaining_budget(now), Some(secs(left)));
        assert_ne!(machine.decide(status(503), now), Decision::GiveUp);
    }
    assert_eq!(machine.decide(status(503), start + secs(25)), Decision::GiveUp);
}

// RB-158: freenet/freenet-core#2976
#[test]
fn the_budget_counts_what_now_counts() {
    // A clock that stood still while the system slept: nothing has passed.
    let mut call = Call::new(&RetryPolicy::default(), "GET");
    call.at(Duration::ZERO, status(503)).waits(ms(500));
    call.at(Duration::ZERO, status(503)).waits(secs(1));
    assert_eq!(call.machine.remaining_budget(call.start), Some(secs(30)));
}

// RB-157: CrossPaste/crosspaste-desktop#4547
#[test]
fn a_wall_clock_however_wrong_has_no_part_in_the_budget() {
    let year_9000 = unix(221_845_392_000);
    for wall_clock in [SystemTime::UNIX_EPOCH, year_9000, earliest_wall_clock(), latest_wall_clock()] {
        for elapsed in [Duration::ZERO, ms(29_499), ms(29_500), secs(31), secs(100_000)] {
            let with = Call::new(&RetryPolicy::default(), "GET").with_wall_clock(wall_clock).at(elapsed, status(503));
            let without = Call::new(&RetryPolicy::default(), "GET").at(elapsed, status(503));
            assert_eq!((with.decision, with.reason), (without.decision, without.reason), "{wall_clock:?}, {elapsed:?}");
        }
    }
}

#[test]
fn past_the_end_of_the_wall_clock_no_date_counts_but_numbers_do() {
    let mut call = Call::new(&RetryPolicy::default(), "GET").with_wall_clock(latest_wall_clock());
    // A `Date` would do where no wall clock was given; here one was.
    let date = [("Date", "Tue, 01 Dec 2026 12:00:00 GMT"), ("Retry-After", "Tue, 01 Dec 2026 12:00:20 GMT")];
    call.at(secs(1), response(503, &date)).waits(ms(500));
    call.at(secs(1), response(503, &[("Retry-After", "20")])).waits(secs(20));
}

#[test]
fn at_both_ends_of_the_wall_clock_a_date_is_far_or_past() {
    let fixdate = [("Retry-After", "Tue, 01 Dec 2026 12:00:20 GMT")];
    let headers = RetryHeaders::from_pairs(fixdate);
    assert!(headers.requested_delay(Some(earliest_wall_clock())) > Some(secs(1_000_000_000)));
    assert_eq!(headers.requested_delay(Some(latest_wall_clock())), Some(Duration::ZERO));
    // Two digits mean a year within 50 years of the reference: one before 1970, or one that may be past the end.
    let rfc850 = [("Retry-After", "Tuesday, 01-Dec-26 12:00:20 GMT")];
    let headers = RetryHeaders::from_pairs(rfc850);
    assert_eq!(headers.requested_delay(Some(earliest_wall_clock())), None);
    assert!(headers.requested_delay(Some(latest_wall_clock())) < Some(secs(51 * 366 * 86_400)));
}

#[test]
fn the_ends_of_the_monotonic_clock_are_ordinary_inputs() {
    let now = Instant::now();
    let latest = furthest(now, |time, step| time.checked_add(step));
    let earliest = furthest(now, |time, step| time.checked_sub(step));
    let retry = Event::response(503, RetryHeaders::default());
    for (start, now, decision) in [
        (earliest, latest, Decision::GiveUp),
        (latest, earliest, Decision::RetryAfter(ms(500))),
        (latest, latest, Decision::RetryAfter(ms(500))),
        (earliest, earliest, Decision::RetryAfter(ms(500))),
    ] {
        let mut machine = RetryMachine::with_rng(&RetryPolicy::default(), "GET", FixedDraw::new(0.0), start);
        assert_eq!(machine.decide(retry, now), decision, "from {start:?} to {now:?}");
    }
}

fn latest_wall_clock() -> SystemTime {
    furthest(SystemTime::UNIX_EPOCH, |time, step| time.checked_add(step))
}

fn earliest_wall_clock() -> SystemTime {
    furthest(SystemTime::UNIX_EPOCH, |time, step| time.checked_sub(step))
}

/// The last time that steps in one direction lead to: whatever the platform's range is.
fn furthest<T: Copy>(from: T, step: impl Fn(T, Duration) -> Option<T>) -> T {
    let steps = (0..64).rev().map(|bit| secs(1 << bit)).chain((0..30).rev().map(|bit| Duration::from_nanos(1 << bit)));
    steps.fold(from, |time, by| step(time, by).unwrap_or(time))
}
