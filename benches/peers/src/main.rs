//! Compares with crates for parts of the same task: `cargo run --release --manifest-path benches/peers/Cargo.toml`.
//!
//! Every row is measured in the same run, turn by turn with the machine's own way to the same result, and says what the
//! peer leaves to its caller. Of each, the fastest of many rounds counts: noise only ever adds.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use backoff::backoff::Backoff as _;
use backon::BackoffBuilder as _;
use http::HeaderValue;
use retry_after::RetryAfter;
use retry_machine::{Decision, ErrorKind, Event, RetryHeaders, RetryMachine, RetryPolicy, RetryQuota};
use retry_policies::RetryPolicy as _;
use tower::retry::budget::{Budget as _, TpsBudget};

const INITIAL: Duration = Duration::from_millis(500);
const MAX: Duration = Duration::from_secs(5);

fn main() {
    println!("| what | peer | its time by ours | what the peer does not do |");
    println!("| --- | --- | ---: | --- |");
    first_backoff();
    retry_after_header();
    quota();
}

/// From a shared policy to the delay before the first retry.
fn first_backoff() {
    let policy = RetryPolicy::default();
    let now = Instant::now();
    let mut seed = 0;
    let mut ours = || {
        seed += 1;
        RetryMachine::new(black_box(&policy), "GET", seed, now).decide(ErrorKind::Connection, now)
    };
    let row = |peer, ratio, lacks| println!("| first backoff | {peer} | {ratio:.2} | {lacks} |");

    let backon = backon::ExponentialBuilder::new().with_min_delay(INITIAL).with_max_delay(MAX).with_jitter();
    row(
        "`backon`",
        ratio(&mut ours, || black_box(&backon).build().next()),
        "judge the outcome, read headers, a time budget that counts the attempts, say why",
    );
    let exponential = exponential_backoff::Backoff::new(3, INITIAL, MAX);
    row(
        "`exponential-backoff`",
        ratio(&mut ours, || black_box(&exponential).iter().next()),
        "judge the outcome, read headers, a time budget, say why, replay from a seed",
    );
    let tokio_retry2 = tokio_retry2::strategy::ExponentialBackoff::from_millis(2).factor(250).max_delay(MAX);
    row(
        "`tokio-retry2`",
        ratio(&mut ours, || black_box(&tokio_retry2).clone().map(tokio_retry2::strategy::jitter).next()),
        "judge the outcome, read headers, a time budget, limit retries, say why, replay from a seed",
    );
    let mut builder = backoff::ExponentialBackoffBuilder::new();
    builder.with_initial_interval(INITIAL).with_max_interval(MAX).with_max_elapsed_time(Some(Duration::from_secs(30)));
    row(
        "`backoff`",
        ratio(&mut ours, || black_box(&builder).build().next_backoff()),
        "judge the outcome, read headers, limit retries, say why, replay from a seed; it reads the clock",
    );
    let policies =
        retry_policies::policies::ExponentialBackoff::builder().retry_bounds(INITIAL, MAX).build_with_max_retries(2);
    row(
        "`retry-policies`",
        ratio(&mut ours, || black_box(&policies).should_retry(black_box(UNIX_EPOCH), 0)),
        "judge the outcome, read headers, say why, replay from a seed; it reads the clock",
    );
}

/// From the bytes of a `Retry-After` to what they say.
fn retry_after_header() {
    let noon = UNIX_EPOCH + Duration::from_secs(1_796_126_400);
    let lacks = "white space, fractions, a wrong weekday, the time until a date, `Date` and `Age`, `retry-after-ms`";
    for (what, value) in [
        ("`Retry-After: 20`", "20"),
        ("IMF-fixdate", "Tue, 01 Dec 2026 12:00:20 GMT"),
        ("RFC 850 date", "Tuesday, 01-Dec-26 12:00:20 GMT"),
        ("asctime date", "Tue Dec  1 12:00:20 2026"),
    ] {
        let value = HeaderValue::from_static(value);
        let ours = || {
            let headers = RetryHeaders::from_fn(|name| (name == "retry-after").then_some(black_box(&value)));
            let delay = headers.requested_delay(Some(noon));
            assert_eq!(delay, Some(Duration::from_secs(20)));
        };
        let ratio = ratio(ours, || RetryAfter::try_from(black_box(&value)).expect("it is well formed"));
        println!("| {what} | `retry-after` | {ratio:.2} | {lacks} |");
    }
}

/// A retry that is paid for, and the success after it.
fn quota() {
    let policy = RetryPolicy::default();
    let quota = Arc::new(RetryQuota::default());
    let now = Instant::now();
    let ours = || {
        let mut machine = RetryMachine::new(black_box(&policy), "GET", 1, now).with_quota(Arc::clone(&quota));
        assert_ne!(machine.decide(ErrorKind::Connection, now), Decision::GiveUp);
        machine.decide(Event::response(200, RetryHeaders::default()), now)
    };
    // A retry for every request, so that it never refuses one.
    let budget = TpsBudget::new(Duration::from_secs(10), 10, 1.0);
    let ratio = ratio(ours, || {
        budget.deposit();
        assert!(black_box(&budget).withdraw());
    });
    println!(
        "| retry and success with a quota | `tower`'s `TpsBudget` | {ratio:.2} | decide anything else; it reads the clock |"
    );
}

/// The time of a peer's way divided by the time of ours.
fn ratio<A, B>(mut ours: impl FnMut() -> A, mut peers: impl FnMut() -> B) -> f64 {
    const ROUNDS: u32 = 500;
    let (mut our_time, mut peers_time) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        our_time = our_time.min(time(&mut ours));
        peers_time = peers_time.min(time(&mut peers));
    }
    peers_time.as_secs_f64() / our_time.as_secs_f64()
}

/// The time of a thousand calls.
fn time<T>(call: &mut impl FnMut() -> T) -> Duration {
    let start = Instant::now();
    for _ in 0..1000 {
        black_box(call());
    }
    start.elapsed()
}
