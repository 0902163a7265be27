//! What the measured programs share: each repeats one decision as often as it is told, for `benches/instructions.sh` to
//! count the instructions.
//!
//! Each program has one call of `decide`, as a caller's retry loop has, so the compiler has the same freedom.

use std::hint::black_box;
use std::time::{Duration, Instant};

use retry_machine::{Decision, RetryMachine, RetryOptions, RetryPolicy};

/// The name of a scenario and how often to repeat it, from the command line.
pub fn arguments() -> (String, u32) {
    let mut arguments = std::env::args().skip(1);
    let scenario = arguments.next().expect("the name of a scenario");
    let rounds = arguments.next().and_then(|rounds| rounds.parse().ok()).expect("how often to repeat it");
    (scenario, rounds)
}

/// A moment at the start of a second, so that sums of nanoseconds carry alike in every run. (std shows them only so.)
pub fn start_of_a_second() -> Instant {
    let now = Instant::now();
    let shown = format!("{now:?}");
    let nanos = shown.split("tv_nsec: ").nth(1).and_then(|rest| rest.trim_end_matches(" }").parse().ok());
    now + Duration::from_secs(1) - Duration::from_nanos(nanos.expect("the nanoseconds, as std for Linux shows them"))
}

/// A machine that has retries without end and a budget that 120 s fit into.
pub fn fresh_machine(start: Instant) -> RetryMachine {
    let options = RetryOptions::default().max_retries(u32::MAX).budget(Duration::from_secs(600));
    let policy = RetryPolicy::new(options).expect("the options are within bounds");
    RetryMachine::new(&policy, "GET", 1, start)
}

/// Lets every one of so many clones of a machine decide.
pub fn repeat(rounds: u32, machine: &RetryMachine, decide: impl Fn(&mut RetryMachine) -> Decision) {
    for _ in 0..rounds {
        let _ = black_box(decide(&mut copy(black_box(machine))));
    }
}

/// A call, so that it costs the same wherever it is made.
#[inline(never)]
fn copy(machine: &RetryMachine) -> RetryMachine {
    machine.clone()
}
