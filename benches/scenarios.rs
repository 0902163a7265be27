//! How long whole scenarios take, and that they allocate nothing: `cargo bench`, about a minute.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use divan::counter::ItemsCount;
use divan::{AllocProfiler, Bencher, black_box};
use retry_machine::{Decision, ErrorKind, Event, RetryHeaders, RetryMachine, RetryOptions, RetryPolicy};

/// Shows allocations beside the times, where there are any.
#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// The first decision of a fresh machine.
mod decision {
    use super::{Bencher, ErrorKind, Event, Instant, RetryHeaders, RetryMachine, RetryPolicy, black_box, noon};

    #[divan::bench]
    fn success(bencher: Bencher) {
        decide(bencher, || Event::response(200, RetryHeaders::default()));
    }

    #[divan::bench]
    fn error_not_retried(bencher: Bencher) {
        decide(bencher, || ErrorKind::Other.into());
    }

    #[divan::bench]
    fn backoff(bencher: Bencher) {
        decide(bencher, || Event::response(503, RetryHeaders::default()));
    }

    #[divan::bench(args = [
        ("retry-after-ms", "1500"),
        ("Retry-After", "20"),
        ("Retry-After", "Tue, 01 Dec 2026 12:00:20 GMT"),
        ("Retry-After", "Tuesday, 01-Dec-26 12:00:20 GMT"),
        ("Retry-After", "Tue Dec  1 12:00:20 2026"),
        ("Retry-After", "Wed, 01 Dec 2026 12:00:20 GMT"),
        ("Retry-After", "in a minute or so"),
    ])]
    fn header(bencher: Bencher, (name, value): (&str, &str)) {
        let pairs = [("Content-Type", "application/json"), ("Content-Length", "96"), (name, value)];
        decide(bencher, || Event::response(503, RetryHeaders::from_pairs(black_box(&pairs))));
    }

    #[divan::bench]
    fn megabyte_of_digits(bencher: Bencher) {
        let digits = "9".repeat(1_000_000);
        let pairs = [("Retry-After", digits.as_str())];
        decide(bencher, || Event::response(503, RetryHeaders::from_pairs(black_box(&pairs))));
    }

    fn decide<'a>(bencher: Bencher, event: impl Fn() -> Event<'a> + Sync) {
        let now = Instant::now();
        let machine = RetryMachine::new(&RetryPolicy::default(), "GET", 1, now).with_wall_clock(noon());
        bencher.with_inputs(|| machine.clone()).bench_refs(|machine| machine.decide(event(), black_box(now)));
    }
}

mod policy {
    use super::{Bencher, Duration, RetryOptions, RetryPolicy, black_box};

    #[divan::bench]
    fn merge(bencher: Bencher) {
        let client = RetryPolicy::default();
        let call = RetryOptions::default().max_retries(5).statuses([429, 503]).budget(Duration::from_secs(60));
        bencher.bench(|| black_box(&client).merge(black_box(&call)));
    }

    #[divan::bench]
    fn for_method(bencher: Bencher) {
        let policy = RetryPolicy::default();
        bencher.bench(|| black_box(&policy).for_method(black_box("GET")));
    }

    #[divan::bench(args = [1, 2, 1000, u32::MAX])]
    fn backoff(bencher: Bencher, retry: u32) {
        let policy = RetryPolicy::default();
        bencher.bench(|| black_box(&policy).backoff(black_box(retry), black_box(0.5)));
    }
}

/// A million calls, each with a machine of its own: an error, a 503 that names a delay, a success.
#[divan::bench(threads = [1, 2], sample_count = 20, sample_size = 1)]
fn million_calls(bencher: Bencher) {
    const CALLS: u64 = 1_000_000;
    let policy = RetryPolicy::default();
    let pairs = [("Content-Type", "application/json"), ("Retry-After", "2")];
    let start = Instant::now();
    bencher.counter(ItemsCount::new(CALLS)).bench(|| {
        let mut retries = 0;
        for seed in 0..CALLS {
            let mut machine = RetryMachine::new(black_box(&policy), "GET", seed, start);
            let busy = Event::response(503, RetryHeaders::from_pairs(black_box(&pairs)));
            for event in [ErrorKind::Connection.into(), busy, Event::response(200, RetryHeaders::default())] {
                match machine.decide(event, start) {
                    Decision::RetryAfter(_) => retries += 1,
                    Decision::GiveUp => break,
                }
            }
        }
        assert_eq!(retries, 2 * CALLS);
    });
}

/// 12:00 on 1 December 2026.
fn noon() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_796_126_400)
}
