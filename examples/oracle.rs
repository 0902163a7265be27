//! The stand-alone oracle: a judge of other implementations of the same policy.
//!
//! It reads JSON Lines on standard input, one case a line, and writes one JSON line for each:
//!
//! ```text
//! $ echo '{"name":"busy","policy":{},"method":"GET","draw":0.5,
//!          "events":[{"at_ms":400,"status":529,"headers":[["Retry-After","20"]]},{"at_ms":21000,"error":"timeout"}]}' |
//!     tr -d '\n' | cargo run --quiet --features serde --example oracle
//! {"name":"busy","decisions":[{"retry_after_ms":20000.0,"because":"server_delay"},{"retry_after_ms":875.0,"because":"backoff"}]}
//! ```
//!
//! A case must have:
//!
//! - `policy`: options of the crate in their `serde` form;
//! - `method`: the request's method, in capitals;
//! - `events`: each with `at_ms`, the monotonic time since the start of the call in whole milliseconds, and either a
//!   `status`, and `headers` if there are any, or an `error`: `connection`, `timeout`, `pool_timeout`, `not_sent` or `other`.
//!
//! It may have a `name`; `wall_ms`, the wall time at its start in whole Unix milliseconds; and `draw`, what every draw
//! gives, or else `seed`, which the draws follow from (0 if left out). Other keys are ignored.
//!
//! The answer has one decision per event up to the first give-up: `{"retry_after_ms":…,"because":"…"}`, milliseconds exact
//! to the nanosecond, or `{"give_up":"…"}`. The reasons are the names of `Reason::name`. A line that cannot be run, a blank
//! one too, is answered with `{"name":…,"error":"…"}`, and makes the exit status 1 in the end.
//!
//! To judge another implementation, let its own loop run and record when each event came: random times seldom hit a bound.
//! And run the cases of `tests/vectors/`, in which `decisions` is what is expected (a number to be met within half a
//! millisecond, or the lowest and the highest), and `error` a part of what must be said of the policy.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant, UNIX_EPOCH};

use retry_machine::rand_core::Rng;
use retry_machine::{
    Decision, ErrorKind, Event, FixedDraw, Reason, RetryHeaders, RetryMachine, RetryPolicy, SeededRng,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

fn main() -> io::Result<ExitCode> {
    let mut input = io::stdin().lock();
    let mut output = io::BufWriter::new(io::stdout().lock());
    let mut exit_code = ExitCode::SUCCESS;
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        let answer = answer(&line);
        if answer.is_error() {
            exit_code = ExitCode::FAILURE;
        }
        serde_json::to_writer(&mut output, &answer)?;
        // At once, so that a program at the other end of a pipe can wait for each answer.
        output.write_all(b"\n")?;
        output.flush()?;
        line.clear();
    }
    Ok(exit_code)
}

/// The oracle's answer to one line.
pub(crate) fn answer(line: &[u8]) -> Answer<'_> {
    let outcome = serde_json::from_slice::<Case>(line).map_err(|error| error.to_string()).and_then(|case| case.run());
    let (decisions, error) = match outcome {
        Ok(reasons) => (Some(reasons.iter().map(Verdict::from).collect()), None),
        Err(error) => (None, Some(error)),
    };
    // Even a line that cannot be run may have a name.
    let name = serde_json::from_slice(line).map_or(None, |named: Named<'_>| named.name);
    Answer { name, decisions, error }
}

#[derive(Serialize)]
pub(crate) struct Answer<'a> {
    /// As it came; null if the line has none or is no JSON object.
    name: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decisions: Option<Vec<Verdict>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Answer<'_> {
    pub(crate) fn is_error(&self) -> bool {
        self.error.is_some()
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Verdict {
    Retry { retry_after_ms: Box<RawValue>, because: &'static str },
    GiveUp { give_up: &'static str },
}

impl From<&Reason> for Verdict {
    fn from(reason: &Reason) -> Self {
        match reason.decision() {
            Decision::RetryAfter(delay) => Self::Retry { retry_after_ms: exact_millis(delay), because: reason.name() },
            Decision::GiveUp => Self::GiveUp { give_up: reason.name() },
        }
    }
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
}

/// One case, as it stands in a line.
#[derive(Deserialize)]
pub(crate) struct Case<'a> {
    // Kept as text: a map in between would swallow a repeated key.
    #[serde(borrow)]
    policy: &'a RawValue,
    pub(crate) method: String,
    pub(crate) wall_ms: Option<i64>,
    pub(crate) draw: Option<f64>,
    seed: Option<u64>,
    pub(crate) events: Vec<CaseEvent>,
}

#[derive(Deserialize)]
pub(crate) struct CaseEvent {
    pub(crate) at_ms: u64,
    status: Option<u16>,
    #[serde(default)]
    headers: Vec<(String, String)>,
    error: Option<ErrorName>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ErrorName {
    Connection,
    Timeout,
    PoolTimeout,
    NotSent,
    Other,
}

impl Case<'_> {
    /// Why each decision is taken, up to the first give-up.
    fn run(&self) -> Result<Vec<Reason>, String> {
        match self.draw {
            Some(draw) => self.run_with(FixedDraw::new(draw)),
            None => self.run_with(SeededRng::new(self.seed.unwrap_or(0))),
        }
    }

    fn run_with<R: Rng>(&self, rng: R) -> Result<Vec<Reason>, String> {
        // Any start will do: what counts is the time since then.
        let start = Instant::now();
        let mut machine = RetryMachine::with_rng(&self.policy()?, &self.method, rng, start);
        if let Some(wall_ms) = self.wall_ms {
            let distance = Duration::from_millis(wall_ms.unsigned_abs());
            let at_start =
                if wall_ms < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
            machine = machine.with_wall_clock(at_start.ok_or_else(|| format!("`wall_ms`: {wall_ms} is out of range"))?);
        }
        let mut reasons = Vec::new();
        for event in &self.events {
            let now = start.checked_add(Duration::from_millis(event.at_ms));
            let now = now.ok_or_else(|| format!("`at_ms`: {} is out of range", event.at_ms))?;
            let decision = machine.decide(event.to_event()?, now);
            reasons.extend(machine.reason());
            if decision == Decision::GiveUp {
                break;
            }
        }
        Ok(reasons)
    }

    pub(crate) fn policy(&self) -> Result<RetryPolicy, String> {
        serde_json::from_str(self.policy.get()).map_err(|error| format!("`policy`: {error}"))
    }
}

impl CaseEvent {
    pub(crate) fn to_event(&self) -> Result<Event<'_>, String> {
        match (self.status, self.error) {
            (Some(status), None) => Ok(Event::response(status, RetryHeaders::from_pairs(&self.headers))),
            (None, Some(error)) => Ok(Event::from(match error {
                ErrorName::Connection => ErrorKind::Connection,
                ErrorName::Timeout => ErrorKind::Timeout,
                ErrorName::PoolTimeout => ErrorKind::PoolTimeout,
                ErrorName::NotSent => ErrorKind::NotSent,
                ErrorName::Other => ErrorKind::Other,
            })),
            _ => Err(format!("the event at {} ms must have either a `status` or an `error`", self.at_ms)),
        }
    }
}

/// A duration's milliseconds as a JSON number with every digit, which an `f64` could not hold.
pub(crate) fn exact_millis(duration: Duration) -> Box<RawValue> {
    let (millis, nanos) = (duration.as_millis(), duration.subsec_nanos() % 1_000_000);
    let text = format!("{millis}.{nanos:06}");
    let trimmed = text.trim_end_matches('0');
    // At least one digit stays behind the point.
    let number = if trimmed.ends_with('.') { format!("{trimmed}0") } else { trimmed.to_owned() };
    RawValue::from_string(number).expect("digits around a point are a JSON number")
}
