//! What a call does, printed while it happens: a line for each attempt, then what the call cost.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use retry_machine::{Decision, Reason, RetryPolicy};
use ureq::Error;

use super::Outcome;

/// The timeline of one call, which begins with it.
pub(crate) struct Timeline<'a> {
    output: &'a mut dyn Write,
    start: Instant,
    reasons: Vec<Reason>,
}

impl<'a> Timeline<'a> {
    pub(crate) fn new(title: &str, output: &'a mut dyn Write) -> Self {
        print_line(output, title);
        Self { output, start: Instant::now(), reasons: Vec::new() }
    }

    /// An attempt is over, and has been decided on: so there is a reason.
    pub(crate) fn attempt(&mut self, started: Instant, outcome: &Outcome, reason: Option<Reason>) {
        let Some(reason) = reason else { return };
        let time = started.saturating_duration_since(self.start).as_secs_f64();
        let line = format!("  {time:.3}s  {:<10} {} {reason}", brief(outcome), sign(outcome, reason));
        print_line(self.output, &line);
        self.reasons.push(reason);
    }

    /// The call is over: what the caller is left with, and what it cost.
    pub(crate) fn end(&mut self, outcome: &Outcome, policy: &RetryPolicy, requests_read: Option<usize>) {
        let returned = match outcome {
            Ok(response) => {
                let body: String = String::from_utf8_lossy(response.body()).chars().take(60).collect();
                format!("{}, body {body:?}", response.status().as_u16())
            }
            Err(error) => format!("the error \"{error}\""),
        };
        print_line(self.output, &format!("  returned  {returned}"));

        let attempts = self.reasons.len();
        let plural = if attempts == 1 { "" } else { "s" };
        let read = requests_read.map_or(String::new(), |count| format!(" ({count} read by the server)"));
        let spent = self.elapsed().as_secs_f64();
        let budget = policy.budget().map_or("without a budget".to_owned(), |budget| format!("of a {budget:?} budget"));
        let waited = self.waited().as_secs_f64();
        let line =
            format!("  cost      {attempts} attempt{plural}{read}; {spent:.2}s {budget}, {waited:.2}s of it waiting");
        print_line(self.output, &line);
    }

    /// Why each decision was taken.
    pub(crate) fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// The time since the call began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// The delays that were granted, in all.
    pub(crate) fn waited(&self) -> Duration {
        let delay = |reason: &Reason| match reason.decision() {
            Decision::RetryAfter(delay) => delay,
            Decision::GiveUp => Duration::ZERO,
        };
        self.reasons.iter().map(delay).sum()
    }
}

/// Prints a line at once. An output that is closed is no reason to break off a call.
pub(crate) fn print_line(output: &mut dyn Write, line: &str) {
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

/// What the signs in a timeline mean.
pub(crate) const LEGEND: &str = "↻ wait and retry   ✓ done   ✗ give up";

/// The decision at a glance.
fn sign(outcome: &Outcome, reason: Reason) -> char {
    match (reason.decision(), outcome) {
        (Decision::RetryAfter(_), _) => '↻',
        (Decision::GiveUp, Ok(response)) if response.status().as_u16() < 400 => '✓',
        (Decision::GiveUp, _) => '✗',
    }
}

/// The outcome in a word or two; [`Timeline::end`] says the last one in full.
fn brief(outcome: &Outcome) -> String {
    match outcome {
        Ok(response) => return response.status().as_u16().to_string(),
        Err(Error::Timeout(_)) => "timed out",
        Err(Error::Io(error)) => match error.kind() {
            io::ErrorKind::ConnectionRefused => "refused",
            io::ErrorKind::ConnectionReset => "reset",
            io::ErrorKind::UnexpectedEof => "cut off",
            _ => "IO error",
        },
        Err(_) => "error",
    }
    .to_owned()
}
