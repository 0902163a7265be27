//! Decisions on a 503 with 15 header pairs, of which `Retry-After` is the twelfth. A date is measured against a wall clock.

use std::hint::black_box;
use std::time::{Duration, Instant, UNIX_EPOCH};

use retry_machine::{Decision, Event, RetryHeaders, RetryMachine};

type Pairs<'a> = [(&'a str, &'a str); 15];

fn main() {
    let (scenario, rounds) = instructions::arguments();
    let now = instructions::start_of_a_second();
    let machine = instructions::fresh_machine(now);
    let timed = machine.clone().with_wall_clock(UNIX_EPOCH + Duration::from_secs(1_796_126_400));
    let digits = "9".repeat(2_000_000);
    let (machine, retry_after) = match scenario.as_str() {
        "seconds" => (machine, "120"),
        "imf-fixdate" => (timed, IN_TWO_MINUTES),
        "megabyte" => (machine, &digits[..1_000_000]),
        "two-megabytes" => (machine, &*digits),
        _ => panic!("no scenario is called {scenario}"),
    };
    let pairs = pairs(retry_after);
    instructions::repeat(rounds, &machine, |machine| decide(machine, black_box(&pairs), now));
}

#[inline(never)]
fn decide(machine: &mut RetryMachine, pairs: &Pairs<'_>, now: Instant) -> Decision {
    machine.decide(Event::response(503, RetryHeaders::from_pairs(pairs)), now)
}

/// The headers of a response as an API behind a proxy sends it.
fn pairs(retry_after: &str) -> Pairs<'_> {
    [
        ("Server", "nginx"),
        ("Date", "Tue, 01 Dec 2026 12:00:00 GMT"),
        ("Content-Type", "application/json"),
        ("Content-Length", "96"),
        ("Connection", "keep-alive"),
        ("Cache-Control", "no-store"),
        ("Vary", "Accept-Encoding"),
        ("X-Request-Id", "b7c1f4a2"),
        ("X-RateLimit-Limit", "600"),
        ("X-RateLimit-Remaining", "0"),
        ("X-RateLimit-Reset", "120"),
        ("Retry-After", retry_after),
        ("Strict-Transport-Security", "max-age=63072000"),
        ("X-Content-Type-Options", "nosniff"),
        ("Via", "1.1 edge"),
    ]
}

const IN_TWO_MINUTES: &str = "Tue, 01 Dec 2026 12:02:00 GMT";
