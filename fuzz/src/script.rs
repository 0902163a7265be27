//! Transcripts as text, one fact a line, so that a corpus file can be read and an idea can be written by hand. Any bytes
//! are a script: a line that makes no sense is passed over, a number out of bounds is brought within them.
//!
//! ```text
//! max_retries 5
//! budget 30000000000
//! call POST
//! wall_clock 1796083200000000000
//! draw 9223372036854775808
//! at 1000000000
//! status 503
//! retry-after Tue, 01 Dec 2026 00:00:20 GMT
//! on 1
//! error timeout
//! clone
//! ```
//!
//! Options carry their names, durations and times are nanoseconds. `call` starts the description of one more call, `on`
//! says which call the steps that follow are of, `at` when they are. A header belongs to the last `status`.

use std::collections::BTreeSet;

use retry_machine::{ErrorKind, Replay, RetryAfterExcess};

use crate::model::transcript::{Action, Call, FARTHEST_SECS, Step, Transcript, system_time};
use crate::model::{NANOS_PER_SEC, Outcome, duration};

/// The last whole second that a wall clock can show, in nanoseconds.
pub(crate) const END_OF_TIME: i128 = i64::MAX as i128 * NANOS_PER_SEC;

const MOST_CALLS: usize = 4;
const MOST_STEPS: usize = 100;

pub(crate) fn transcript(script: &[u8]) -> Transcript {
    let mut transcript = Transcript::default();
    let (mut call, mut at) = (0, 0);
    for line in script.split(|byte| *byte == b'\n') {
        let space = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
        let (word, value) = (&line[..space], line.get(space + 1..).unwrap_or_default());
        let word = String::from_utf8_lossy(word);
        let text = String::from_utf8_lossy(value);
        match &*word {
            "call" if transcript.calls.len() < MOST_CALLS => {
                transcript.calls.push(Call { method: text.into_owned(), ..Call::default() });
            }
            "wall_clock" => {
                last_call(&mut transcript).wall_clock = Some(system_time(nanos(&text, END_OF_TIME)));
            }
            "draw" => last_call(&mut transcript).words.push(text.trim().parse().unwrap_or(0)),
            "on" => call = text.trim().parse().unwrap_or(0),
            "at" => at = nanos(&text, FARTHEST_SECS * NANOS_PER_SEC),
            _ => match action(&word, &text) {
                Some(action) if transcript.steps.len() < MOST_STEPS => {
                    transcript.steps.push(Step { call, at, action });
                }
                Some(_) => {}
                None if is_header(&word) => add_header(&mut transcript, &word, value),
                None => set_option(&mut transcript, &word, &text),
            },
        }
    }
    // At least one call.
    last_call(&mut transcript);
    transcript
}

fn last_call(transcript: &mut Transcript) -> &mut Call {
    if transcript.calls.is_empty() {
        transcript.calls.push(Call { method: "GET".to_owned(), ..Call::default() });
    }
    transcript.calls.last_mut().expect("there is one now")
}

fn action(word: &str, text: &str) -> Option<Action> {
    match word {
        "status" => {
            let status = text.trim().parse().unwrap_or(0);
            Some(Action::Decide(Outcome::Response { status, headers: Vec::new() }))
        }
        "error" => {
            let kind = match text.trim() {
                "connection" => ErrorKind::Connection,
                "timeout" => ErrorKind::Timeout,
                "pool_timeout" => ErrorKind::PoolTimeout,
                "not_sent" => ErrorKind::NotSent,
                _ => ErrorKind::Other,
            };
            Some(Action::Decide(Outcome::Error(kind)))
        }
        "clone" => Some(Action::Clone),
        _ => None,
    }
}

fn is_header(word: &str) -> bool {
    ["retry-after-ms", "retry-after", "date", "age", "x-should-retry"]
        .iter()
        .any(|name| name.eq_ignore_ascii_case(word))
}

fn add_header(transcript: &mut Transcript, name: &str, value: &[u8]) {
    let last = transcript.steps.last_mut().map(|step| &mut step.action);
    if let Some(Action::Decide(Outcome::Response { headers, .. })) = last {
        headers.push((name.to_owned(), value.to_vec()));
    }
}

fn set_option(transcript: &mut Transcript, word: &str, text: &str) {
    let policy = &mut transcript.policy;
    let time = || duration(nanos(text, i128::MAX).abs());
    match word {
        "max_retries" => policy.max_retries = text.trim().parse().unwrap_or(u32::MAX),
        "backoff_initial" => policy.backoff_initial = time(),
        "backoff_max" => policy.backoff_max = time(),
        "backoff_jitter" => policy.backoff_jitter = fraction(text),
        "statuses" => policy.statuses = statuses(text),
        "unsafe_statuses" => policy.unsafe_statuses = (text.trim() != "same").then(|| statuses(text)),
        "respect_retry_after" => policy.respect_retry_after = text.trim() == "true",
        "retry_after_min" => policy.retry_after_min = time(),
        "retry_after_max" => policy.retry_after_max = time(),
        "retry_after_excess" => policy.retry_after_excess = excess(text),
        "retry_after_jitter" => policy.retry_after_jitter = fraction(text),
        "respect_should_retry" => policy.respect_should_retry = text.trim() == "true",
        "retry_connection_errors" => policy.retry_connection_errors = replay(text),
        "retry_timeout_errors" => policy.retry_timeout_errors = replay(text),
        "budget" => policy.budget = (text.trim() != "none").then(time),
        "quota" => transcript.quota = Some(text.trim().parse().unwrap_or(u32::MAX)),
        _ => {}
    }
}

/// A number of nanoseconds, no farther from zero than `farthest`.
pub(crate) fn nanos(text: &str, farthest: i128) -> i128 {
    text.trim().parse().unwrap_or(farthest).clamp(-farthest, farthest)
}

fn fraction(text: &str) -> f64 {
    let fraction: f64 = text.trim().parse().unwrap_or(1.0);
    if fraction.is_nan() { 0.0 } else { fraction.clamp(0.0, 1.0) }
}

fn excess(text: &str) -> RetryAfterExcess {
    if text.trim() == "give_up" { RetryAfterExcess::GiveUp } else { RetryAfterExcess::Clamp }
}

fn replay(text: &str) -> Replay {
    match text.trim() {
        "true" => Replay::Always,
        "false" => Replay::Never,
        _ => Replay::Auto,
    }
}

/// Codes and ranges, `429 500-599`, as far as they are within bounds.
fn statuses(text: &str) -> BTreeSet<u16> {
    let codes = text.split_whitespace().flat_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let code = |text: &str| text.parse().unwrap_or(100_u16).clamp(100, 999);
        code(first)..=code(last)
    });
    codes.collect()
}
