//! What the reference implementations decide, and cases from public bug reports and from corners of the rules: every
//! case, through the library and through the oracle.

#![cfg(feature = "serde")]

use std::path::Path;
use std::time::{Duration, Instant, UNIX_EPOCH};

use oracle::{Answer, Case};
use retry_machine::{Decision, FixedDraw, RetryMachine};
use serde::Deserialize;

#[allow(dead_code, reason = "an example has a `main`")]
#[path = "../examples/oracle.rs"]
mod oracle;

#[test]
fn the_library_decides_as_the_elixir_reference() {
    check_file("reference-elixir.jsonl", 1541);
}

#[test]
fn the_library_decides_as_the_python_reference() {
    check_file("reference-python.jsonl", 1120);
}

#[test]
fn the_library_decides_the_cases_of_public_bug_reports() {
    check_file("cases.jsonl", 273);
}

#[test]
fn the_library_decides_the_cases_beyond_the_references() {
    check_file("beyond.jsonl", 65);
}

/// Runs every case of a file both ways, and names all that fail, not just the first.
#[track_caller]
fn check_file(name: &str, cases: usize) {
    let text = std::fs::read_to_string(Path::new("tests/vectors").join(name)).expect("the vectors are in place");
    let mut failures = Vec::new();
    for line in text.lines() {
        let expected: Expected = serde_json::from_str(line).expect("a vector is a JSON object");
        for (path, outcome) in [("library", by_library(line)), ("oracle", by_oracle(line))] {
            if let Err(failure) = expected.check(&outcome) {
                failures.push(format!("{} by the {path}: {failure}", expected.name));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures in {name}:\n{}", failures.len(), failures.join("\n"));
    assert_eq!(text.lines().count(), cases, "cases in {name}");
}

/// What a case is to give: decisions, or a refused policy.
#[derive(Deserialize)]
struct Expected {
    name: String,
    decisions: Option<Vec<Verdict>>,
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Verdict {
    Retry { retry_after_ms: Millis },
    GiveUp { give_up: String },
}

/// A number that is to be met within half a millisecond, or bounds.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Millis {
    Near(f64),
    Between(f64, f64),
}

/// Decisions as milliseconds or the name of a reason, or an error.
type Outcome = Result<Vec<Result<f64, String>>, String>;

impl Expected {
    fn check(&self, outcome: &Outcome) -> Result<(), String> {
        match (&self.decisions, &self.error, outcome) {
            (Some(expected), None, Ok(decisions)) => {
                let matches = expected.len() == decisions.len()
                    && expected.iter().zip(decisions).all(|(expected, decision)| expected.matches(decision));
                if matches { Ok(()) } else { Err(format!("expected {expected:?}, got {decisions:?}")) }
            }
            (None, Some(expected), Err(error)) if error.contains(expected) => Ok(()),
            (decisions, error, outcome) => Err(format!("expected {decisions:?} or error {error:?}, got {outcome:?}")),
        }
    }
}

impl Verdict {
    fn matches(&self, decision: &Result<f64, String>) -> bool {
        match (self, decision) {
            (Self::Retry { retry_after_ms: Millis::Near(expected) }, Ok(millis)) => (millis - expected).abs() <= 0.5,
            (Self::Retry { retry_after_ms: Millis::Between(low, high) }, Ok(millis)) => (low..=high).contains(&millis),
            (Self::GiveUp { give_up }, Err(reason)) => give_up == reason,
            _ => false,
        }
    }
}

fn by_library(line: &str) -> Outcome {
    let case: Case = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let policy = case.policy()?;
    let start = Instant::now();
    let mut machine = RetryMachine::with_rng(&policy, &case.method, FixedDraw::new(case.draw.unwrap_or(0.0)), start);
    if let Some(wall_ms) = case.wall_ms {
        machine = machine.with_wall_clock(UNIX_EPOCH + Duration::from_millis(wall_ms.try_into().unwrap()));
    }
    let mut decisions = Vec::new();
    for event in &case.events {
        let decision = machine.decide(event.to_event()?, start + Duration::from_millis(event.at_ms));
        decisions.push(match decision {
            Decision::RetryAfter(delay) => Ok(oracle::exact_millis(delay).get().parse().expect("a number")),
            Decision::GiveUp => Err(machine.reason().expect("a decision was taken").name().to_owned()),
        });
        if machine.is_finished() {
            break;
        }
    }
    Ok(decisions)
}

fn by_oracle(line: &str) -> Outcome {
    #[derive(Deserialize)]
    struct Written {
        decisions: Option<Vec<WrittenVerdict>>,
        error: Option<String>,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum WrittenVerdict {
        Retry { retry_after_ms: f64 },
        GiveUp { give_up: String },
    }

    let answer: Answer<'_> = oracle::answer(line.as_bytes());
    let written: Written = serde_json::from_str(&serde_json::to_string(&answer).unwrap()).unwrap();
    match (written.decisions, written.error) {
        (Some(decisions), None) => Ok(decisions
            .into_iter()
            .map(|verdict| match verdict {
                WrittenVerdict::Retry { retry_after_ms } => Ok(retry_after_ms),
                WrittenVerdict::GiveUp { give_up } => Err(give_up),
            })
            .collect()),
        (None, Some(error)) => Err(error),
        both => panic!("an answer has decisions or an error, and not {}", both.1.is_some()),
    }
}
