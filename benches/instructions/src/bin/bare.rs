//! Decisions on a response without headers.

use std::hint::black_box;
use std::time::Instant;

use retry_machine::{Decision, Event, RetryHeaders, RetryMachine};

fn main() {
    let (scenario, rounds) = instructions::arguments();
    let now = instructions::start_of_a_second();
    let mut machine = instructions::fresh_machine(now);
    let status = match scenario.as_str() {
        "clone" => return instructions::repeat(rounds, &machine, |_| Decision::GiveUp),
        "planted-slow-loop" => {
            return instructions::repeat(rounds, &machine, |machine| {
                for turn in 0..100 {
                    black_box(turn);
                }
                decide(machine, 503, now)
            });
        }
        "no-header" => 503,
        "not-retried" => 404,
        "retry-1000" => {
            while machine.retry_count() < 999 {
                assert_ne!(decide(&mut machine, 503, now), Decision::GiveUp);
            }
            503
        }
        _ => panic!("no scenario is called {scenario}"),
    };
    instructions::repeat(rounds, &machine, |machine| decide(machine, black_box(status), now));
}

#[inline(never)]
fn decide(machine: &mut RetryMachine, status: u16, now: Instant) -> Decision {
    machine.decide(Event::response(status, RetryHeaders::default()), now)
}
