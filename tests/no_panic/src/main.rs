//! Shows that no decision can panic: disassembles itself, follows every call from the functions in `entries.rs` and lists
//! the calls that never return, which is what a panic is in machine code. It fails on any that [`CANNOT_HAPPEN`] does not
//! explain.
//!
//! The build is optimised, with overflow checks, so that sums which could panic in a debug build show too. The standard
//! library comes as it is, without such checks.
//!
//! `cargo run --release --manifest-path tests/no_panic/Cargo.toml`, on x86-64 Linux with binutils.

mod entries;
mod machine_code;

use std::collections::BTreeSet;
use std::process::ExitCode;

use machine_code::{MachineCode, Panic};

const ENTRIES: [&str; 5] = ["decide", "requested_delay", "backoff", "delay", "from_pairs"];

/// Panics that the compiler keeps in other people's code and that cannot happen: where they are in the source, what they
/// call, and why they cannot. There is none for the source of this crate.
const CANNOT_HAPPEN: [(&str, &str, &str); 8] = [
    (
        "/core/src/num/dec2flt/",
        "core::panicking::panic_bounds_check",
        "`f64::from_str` keeps at most 768 digits, and shifts by at most 60 bits, as its table does",
    ),
    (
        "/core/src/num/dec2flt/",
        "core::slice::index::slice_index_fail",
        "`f64::from_str` cuts its text, and its 768 digits, where it has just counted to",
    ),
    (
        "/httpdate-1.0.3/src/date.rs",
        "core::panicking::panic",
        "an `HttpDate` becomes a time only after its month was found to be 1 to 12",
    ),
    (
        "/httpdate-1.0.3/src/date.rs",
        "core::option::expect_failed",
        "a date becomes a time only if its year has four digits, and a `SystemTime` reaches beyond them",
    ),
    (
        "/httpdate-1.0.3/src/date.rs",
        "core::result::unwrap_failed",
        "the time comes from a date that was found to be in 1970 or later",
    ),
    (
        "/httpdate-1.0.3/src/date.rs",
        "core::panicking::panic_fmt",
        "the time comes from a date whose year has four digits, so it is before the year 10000",
    ),
    (
        "/httpdate-1.0.3/src/date.rs",
        "core::panicking::panic_const::panic_const_sub_overflow",
        "an `HttpDate` becomes a time only after its year was found to be 1970 or later",
    ),
    (
        "/std/src/sys/pal/unix/time.rs",
        "core::option::expect_failed",
        "the difference of two times has less than a second of nanoseconds, so `Duration::new` carries nothing",
    ),
];

fn main() -> ExitCode {
    entries::keep();
    let code = MachineCode::of_this_program();

    if code.panics_from("no_panic::entries::planted").is_empty() {
        println!("the planted panic was not found: the search is blind");
        return ExitCode::FAILURE;
    }

    let panics: BTreeSet<Panic> =
        ENTRIES.iter().flat_map(|entry| code.panics_from(&format!("no_panic::entries::{entry}"))).collect();
    let mut unexplained = 0;
    for panic in &panics {
        let explained = CANNOT_HAPPEN.iter().find(|(place, callee, _)| panic.callee == *callee && panic.is_in(place));
        println!("{panic}\n    {}", explained.map_or("NOT EXPLAINED", |(_, _, reason)| reason));
        unexplained += usize::from(explained.is_none());
    }
    println!("{} places that look like a panic, {unexplained} of them not explained", panics.len());
    if unexplained == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
