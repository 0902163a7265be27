//! Strategies for transcripts: every option over its full range, headers that are valid, nearly valid or raw bytes.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use retry_machine::{ErrorKind, Replay, RetryAfterExcess};

use crate::model::retry_after::{Form, Headers, MONTHS, WEEKDAYS, calendar};
use crate::model::transcript::{Action, Call, FARTHEST_SECS, Step, Transcript, system_time};
use crate::model::{NANOS_PER_SEC, Outcome, Policy, duration};

pub fn transcript() -> impl Strategy<Value = Transcript> {
    let quota = option::weighted(0.4, prop_oneof![4 => 0_u32..40, 1 => any::<u32>()]);
    (policy(), quota, vec(call(), 1..=3), vec(step(), 1..12)).prop_map(|(policy, quota, calls, steps)| Transcript {
        policy,
        quota,
        calls,
        steps,
    })
}

pub fn policy() -> impl Strategy<Value = Policy> {
    let limits = (max_retries(), option::weighted(0.6, any_duration()));
    let backoff = (any_duration(), any_duration(), fraction());
    let requested = (prop::bool::weighted(0.9), any_duration(), any_duration(), excess(), fraction());
    let kinds = (statuses(), option::of(statuses()), any::<bool>(), replay(), replay());
    (limits, backoff, requested, kinds).prop_map(|(limits, backoff, requested, kinds)| Policy {
        max_retries: limits.0,
        budget: limits.1,
        backoff_initial: backoff.0,
        backoff_max: backoff.1,
        backoff_jitter: backoff.2,
        respect_retry_after: requested.0,
        retry_after_min: requested.1,
        retry_after_max: requested.2,
        retry_after_excess: requested.3,
        retry_after_jitter: requested.4,
        statuses: kinds.0,
        unsafe_statuses: kinds.1,
        respect_should_retry: kinds.2,
        retry_connection_errors: kinds.3,
        retry_timeout_errors: kinds.4,
    })
}

pub fn max_retries() -> impl Strategy<Value = u32> {
    prop_oneof![select(vec![0, 1, 2, u32::MAX]), 0_u32..8, any::<u32>()]
}

/// Zero, one unit, the defaults, around a millisecond, the ends, and anything between on any scale.
pub fn any_duration() -> impl Strategy<Value = Duration> {
    let corners = [
        Duration::ZERO,
        Duration::from_nanos(1),
        Duration::from_nanos(999_999),
        Duration::from_millis(1),
        Duration::from_micros(1_500),
        Duration::from_millis(100),
        Duration::from_millis(500),
        Duration::from_secs(5),
        Duration::from_secs(30),
        Duration::from_secs(60),
        Duration::from_millis(u64::MAX),
        Duration::MAX,
    ];
    prop_oneof![
        3 => select(corners.to_vec()),
        3 => (0_u64..120_000).prop_map(Duration::from_millis),
        2 => (any::<i128>(), 33_u32..127).prop_map(|(nanos, shift)| duration(nanos.saturating_abs() >> shift)),
    ]
}

/// A fraction that an option accepts.
pub fn fraction() -> impl Strategy<Value = f64> {
    prop_oneof![select(vec![0.0, -0.0, 5e-324, 0.25, 1.0 - f64::EPSILON / 2.0, 1.0]), 0.0..=1.0]
}

/// A word of a generator: draws of 0, just below 1, and between.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), any::<u64>()]
}

fn statuses() -> impl Strategy<Value = BTreeSet<u16>> {
    let default = || Policy::default().statuses;
    prop_oneof![
        4 => Just(default()),
        1 => Just(BTreeSet::new()),
        1 => Just((100..=999).collect()),
        1 => btree_set(prop_oneof![100_u16..=999, select(vec![100, 200, 399, 400, 429, 503, 999])], 0..20),
        1 => btree_set(100_u16..=999, 1..5).prop_map(move |more| &default() | &more),
    ]
}

fn excess() -> impl Strategy<Value = RetryAfterExcess> {
    select(vec![RetryAfterExcess::Clamp, RetryAfterExcess::GiveUp])
}

fn replay() -> impl Strategy<Value = Replay> {
    select(vec![Replay::Auto, Replay::Always, Replay::Never])
}

fn call() -> impl Strategy<Value = Call> {
    let methods = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "TRACE", "get", "Get", "GET ", ""];
    let method = prop_oneof![select(methods.map(str::to_owned).to_vec()), "[A-Za-zÀ-ž ]{0,8}"];
    (method, option::of(wall_clock()), vec(word(), 0..5)).prop_map(|(method, wall_clock, words)| Call {
        method,
        wall_clock,
        words,
    })
}

pub fn wall_clock() -> impl Strategy<Value = SystemTime> {
    let end = i128::from(i64::MAX) * NANOS_PER_SEC;
    let nanos = prop_oneof![
        6 => (era(), prop_oneof![Just(0), 0..100 * NANOS_PER_SEC]).prop_map(|(secs, nanos)| secs * NANOS_PER_SEC + nanos),
        1 => select(vec![-1, 1, -end, end, end, end, 253_402_300_799 * NANOS_PER_SEC + 999_999_999]),
        1 => -end..=end,
    ];
    nanos.prop_map(system_time)
}

/// Around which wall clocks and dates lie, in seconds: mostly today, else a leap day, a turn of a century or of what two
/// digits mean, or an end of what dates can say.
fn era() -> impl Strategy<Value = i128> {
    let others = [0, 951_782_400, 1_709_164_800, 3_155_760_000, 3_786_912_000, 4_107_542_400, 253_402_300_000];
    select([&[DECEMBER_2026; 20][..], &others].concat())
}

fn step() -> impl Strategy<Value = Step> {
    let action = prop_oneof![
        8 => outcome().prop_map(Action::Decide),
        1 => Just(Action::Clone),
    ];
    (0_usize..3, offset(), action).prop_map(|(call, at, action)| Step { call, at, action })
}

/// `now`, relative to the start.
fn offset() -> impl Strategy<Value = i128> {
    let farthest = FARTHEST_SECS * NANOS_PER_SEC;
    prop_oneof![
        6 => 0..40 * NANOS_PER_SEC,
        1 => select(vec![0, 1, -1, 30 * NANOS_PER_SEC, 30 * NANOS_PER_SEC - 1, farthest, -farthest]),
        1 => -40 * NANOS_PER_SEC..0,
        1 => -farthest..=farthest,
    ]
}

pub fn outcome() -> impl Strategy<Value = Outcome> {
    let kinds = vec![
        ErrorKind::Connection,
        ErrorKind::Timeout,
        ErrorKind::PoolTimeout,
        ErrorKind::NotSent,
        ErrorKind::NotSent,
        ErrorKind::Other,
    ];
    let status = prop_oneof![
        8 => select(vec![408, 429, 500, 503, 599]),
        3 => select(vec![0, 99, 100, 200, 200, 200, 399, 399, 400, 404, 999, 1000, u16::MAX]),
        1 => any::<u16>(),
    ];
    prop_oneof![
        1 => select(kinds).prop_map(Outcome::Error),
        3 => (status, headers()).prop_map(|(status, headers)| Outcome::Response { status, headers }),
    ]
}

/// The headers that matter and one that does not, some of them repeated, in any order and any case.
pub fn headers() -> impl Strategy<Value = Headers> {
    let should_retry = prop_oneof![
        4 => select(vec!["true", "false", " true ", "\u{a0}false\t"]).prop_map(|value| value.as_bytes().to_vec()),
        1 => select(vec!["", "True", "1", "true,false"]).prop_map(|value| value.as_bytes().to_vec()),
        1 => raw_bytes(),
    ];
    let header = prop_oneof![
        1 => (Just("retry-after-ms"), value()),
        4 => (Just("retry-after"), value()),
        2 => (Just("date"), dated()),
        1 => (Just("age"), age()),
        1 => (Just("x-should-retry"), should_retry.boxed()),
        1 => (Just("server"), raw_bytes().boxed()),
    ];
    let cased = (header, 0_u8..3).prop_map(|((name, value), case)| {
        let name = match case {
            0 => name.to_owned(),
            1 => name.to_ascii_uppercase(),
            _ => name.split('-').map(|part| part[..1].to_ascii_uppercase() + &part[1..]).collect::<Vec<_>>().join("-"),
        };
        (name, value)
    });
    // All that a date is measured by.
    let dated = (dated(), dated(), option::of(age())).prop_map(|(retry_after, date, age)| {
        let headers = [("retry-after", Some(retry_after)), ("date", Some(date)), ("age", age)];
        headers.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    });
    prop_oneof![3 => vec(cased, 0..5), 1 => dated]
}

/// What may stand in `Retry-After` or `retry-after-ms`.
fn value() -> BoxedStrategy<Vec<u8>> {
    prop_oneof![
        4 => disturbed(padded(number())),
        5 => dated(),
        1 => raw_bytes(),
    ]
    .boxed()
}

fn dated() -> BoxedStrategy<Vec<u8>> {
    disturbed(padded(date())).boxed()
}

fn age() -> BoxedStrategy<Vec<u8>> {
    let member = prop_oneof!["[0-9]{1,4}", "[0-9]{1,4} ?, ?[0-9a-z]{0,3}", "[0-9]{18,22}", "[-+]?[0-9]{0,2}"];
    prop_oneof![4 => disturbed(padded(member)), 1 => raw_bytes()].boxed()
}

fn number() -> impl Strategy<Value = String> {
    let odd = [
        "",
        "-0",
        "-0.0",
        "-1e-400",
        "1e308",
        "1e306",
        "1e305",
        "1e400",
        "1e19",
        "1.8446744073709552e19",
        "18446744073709551615",
        "1e-9",
        "0.0000000005",
        "4.9e-10",
        "1_000",
        "0x10",
        "inf",
        "nan",
        "infinity",
        ".",
        "+",
        "-",
        "e5",
        ".e5",
        "1e",
        "1e+",
        "5 s",
        "1,2",
        "5;",
        "--1",
        "+-1",
        "\u{663}",
        "1\u{a0}000",
        "1.2.3",
    ];
    prop_oneof![
        4 => "[+-]?[0-9]{1,3}",
        2 => "[+-]?([0-9]{1,20}\\.?[0-9]{0,12}|\\.[0-9]{1,12})([eE][+-]?[0-9]{1,3})?",
        2 => select(odd.map(str::to_owned).to_vec()),
        1 => (1_usize..400).prop_map(|digits| "9".repeat(digits)),
        1 => "[-+.eE0-9 ]{0,8}",
    ]
}

/// A date in any of the forms: mostly soon after a likely reference, else of any fields, existing or not.
fn date() -> impl Strategy<Value = String> {
    let near =
        prop_oneof![2 => select(vec![-1, 0, 1, 20]), 2 => 0_i128..100_000, 1 => -60_000_000_000_i128..60_000_000_000];
    let near = (era(), near).prop_map(|(secs, delta)| calendar(secs + delta));
    let in_fifty_years = (era(), -1_i128..=1).prop_map(|(secs, delta)| {
        let [year, month, day, hour, minute, second] = calendar(secs + delta);
        [year + 50, month, day, hour, minute, second]
    });
    let year =
        prop_oneof![select(vec![1969, 1970, 1972, 1976, 2000, 2026, 2070, 2076, 2077, 2100, 9999]), 0_i128..10_000,];
    let fields = (year, 1_i128..=12, 0_i128..=32, 0_i128..=24, 0_i128..=60, 0_i128..=60)
        .prop_map(|(year, month, day, hour, minute, second)| [year, month, day, hour, minute, second]);
    let leap_day = (1960_i128..2110).prop_map(|year| [year, 2, 29, 12, 0, 0]);
    let fields = prop_oneof![5 => near, 1 => in_fifty_years, 1 => fields, 1 => leap_day];
    let form = select(vec![Form::ImfFixdate, Form::Rfc850, Form::Asctime]);
    (form, select(WEEKDAYS.to_vec()), fields).prop_map(|(form, weekday, fields)| write_date(form, weekday, fields))
}

fn write_date(form: Form, weekday: &str, [year, month, day, hour, minute, second]: [i128; 6]) -> String {
    let (short, month) = (&weekday[..3], MONTHS[usize::try_from(month - 1).unwrap()]);
    let time = format!("{hour:02}:{minute:02}:{second:02}");
    match form {
        Form::ImfFixdate => format!("{short}, {day:02} {month} {year:04} {time} GMT"),
        Form::Rfc850 => format!("{weekday}, {day:02}-{month}-{:02} {time} GMT", year.rem_euclid(100)),
        Form::Asctime => format!("{short} {month} {day:2} {time} {year:04}"),
    }
}

/// Sometimes in white space, Unicode's too.
fn padded(text: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<u8>> {
    let space = || select([&[""; 40][..], &[" ", "\t", "\r\n", "\u{a0}", "\u{3000} ", "\u{85}"]].concat());
    (space(), text, space()).prop_map(|(before, text, after)| format!("{before}{text}{after}").into_bytes())
}

/// Sometimes with one byte changed, removed, added, or in another case.
fn disturbed(bytes: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let byte = select((0..=u8::MAX).chain(b"0123456789 ,:-+.eEGMTCU".repeat(10)).collect::<Vec<_>>());
    (bytes, any::<prop::sample::Index>(), byte, 0_u8..30).prop_map(|(mut bytes, at, byte, how)| {
        let place = at.index(bytes.len() + 1);
        match how {
            0 => bytes.insert(place, byte),
            1 if place < bytes.len() => bytes[place] = byte,
            2 if place < bytes.len() => drop(bytes.remove(place)),
            3 => bytes.make_ascii_lowercase(),
            _ => {}
        }
        bytes
    })
}

fn raw_bytes() -> BoxedStrategy<Vec<u8>> {
    vec(any::<u8>(), 0..20).boxed()
}

/// The first second of December 2026.
pub const DECEMBER_2026: i128 = 1_796_083_200;
