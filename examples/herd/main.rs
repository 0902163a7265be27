//! A simulated outage: what a fleet of 100,000 clients does to a service that fails for 30 s and comes back, with and
//! without jitter, with a delay that the server requests, and with a shared quota.
//!
//! `cargo run --release --example herd [FILE]` prints a table and draws a chart, into `herd.svg` beside this file if no
//! other is named. Time is virtual and every draw follows from one seed, so that both are the same in every run. What is
//! simulated, and what is left out, is at the head of `simulation.rs`.
//!
//! In the table, loads are attempts a second. The peak is that of the busiest second. Recovery is from the end of the
//! outage to the last attempt that is a retry or is refused. A call is lost if it ends in failure; what is still on its way
//! after two minutes is neither lost nor answered.
//!
//! Not all of it is to the credit of what is shown:
//!
//! - The default jitter, a quarter, hardly spreads the first retries: the peak in the outage is the same as with none. It
//!   tells over several retries.
//! - Jitter does not make the attempts much fewer. A requested delay does, and a quota.
//! - A requested delay is waited out even if the service is back: with `retry_after_jitter` no call is lost, but recovery
//!   takes longer than with backoff.
//! - A quota loses the most calls, among them every one that was open when the service failed. It spares the service, not
//!   its callers.

mod chart;
mod simulation;

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use simulation::{Outcome, Scene};

fn main() -> Result<(), Box<dyn Error>> {
    let beside_this_file = || Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/herd/herd.svg");
    let path = env::args_os().nth(1).map_or_else(beside_this_file, PathBuf::from);

    let start = Instant::now();
    let scenes = Scene::all()?.map(|scene| {
        let outcome = scene.run(CLIENTS, SEED, start);
        (scene, outcome)
    });
    print_table(&scenes);
    chart::draw(&path, CLIENTS, &scenes)?;
    println!("\nThe chart is in {}", path.display());
    Ok(())
}

/// The table is in Markdown, so that it can be copied into a page.
fn print_table(scenes: &[(Scene, Outcome)]) {
    println!("| scene | peak in the outage | peak after it | attempts | time to recovery | calls lost | answered |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for (scene, outcome) in scenes {
        println!(
            "| {} | {} | {} | {} | {} | {} | {} |",
            scene.name,
            grouped(outcome.peak_in_outage()),
            grouped(outcome.peak_after_outage()),
            grouped(outcome.total_attempts()),
            recovery(outcome),
            grouped(outcome.calls_lost),
            grouped(outcome.total_answers()),
        );
    }
}

fn recovery(outcome: &Outcome) -> String {
    format!("{:.1} s", outcome.time_to_recovery().as_secs_f64())
}

/// A number with a comma between thousands.
fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

const CLIENTS: u32 = 100_000;
const SEED: u64 = 1;
