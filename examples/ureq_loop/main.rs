//! A blocking retry loop over [`ureq`] 3, tried on real sockets.
//!
//! ```text
//! cargo run --example ureq_loop                        # the scenes of `scenes.rs`, against a flaky server on loopback
//! cargo run --example ureq_loop -- http://127.0.0.1:8080/ --method POST --max-retries 5 --budget-ms 10000
//! ```
//!
//! [`call`], [`attempt`], [`event`], [`error_kind`] and [`agent_config`] are for you to lift out. The arguments, the
//! scenes, the server and the printing live in the modules beside this file.
//!
//! Exit status: 0 if every scene went as expected, or the URL answered with a status below 400; 1 if not; 2 for a bad
//! argument.

mod args;
mod errors;
pub(crate) mod scene;
pub(crate) mod scenes;
pub(crate) mod server;
mod timeline;

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use retry_machine::{Decision, Event, RetryHeaders, RetryMachine, RetryPolicy};
use ureq::config::ConfigBuilder;
use ureq::http::{Method, Request, Response, Uri};
use ureq::typestate::AgentScope;
use ureq::{Agent, AsSendBody};

pub(crate) use errors::error_kind;
use timeline::Timeline;

/// What an attempt gave, and so what a call gives: a whole response whatever its status, or ureq's own error.
pub(crate) type Outcome = Result<Response<Vec<u8>>, ureq::Error>;

/// Sends a request until the machine gives up, and returns what the last attempt gave.
pub(crate) fn call<B: AsSendBody + Clone>(
    agent: &Agent,
    request: &Request<B>,
    policy: &RetryPolicy,
    timeline: &mut Timeline<'_>,
) -> Outcome {
    // No two calls draw the same jitter. The machine gets no wall clock: a `Retry-After` date is then measured against
    // the response's own `Date`, so the two clocks need not agree.
    let seed = RandomState::new().hash_one(0);
    let mut machine = RetryMachine::new(policy, request.method().as_str(), seed, Instant::now());
    loop {
        let started = Instant::now();
        let outcome = attempt(agent, request, machine.remaining_budget(started));
        let decision = machine.decide(event(&outcome), Instant::now());
        timeline.attempt(started, &outcome, machine.reason()); // or your log
        match decision {
            Decision::RetryAfter(delay) => thread::sleep(delay),
            Decision::GiveUp => return outcome, // a success ends here too
        }
    }
}

/// Sends a request once, within the agent's own timeout and what is left of the budget, and reads the whole response.
pub(crate) fn attempt<B: AsSendBody + Clone>(
    agent: &Agent,
    request: &Request<B>,
    remaining_budget: Option<Duration>,
) -> Outcome {
    let remaining_budget = remaining_budget.map(|left| left.max(SHORTEST_ATTEMPT));
    let timeout = [agent.config().timeouts().global, remaining_budget].into_iter().flatten().min();
    let request = agent.configure_request(request.clone()).timeout_global(timeout).build();
    let (head, mut body) = agent.run(request)?.into_parts();
    // Before the decision: a body that breaks off is the outcome *instead of* its head, which may well say 200. It also
    // hands the connection back to the agent's pool.
    let body = body.read_to_vec()?;
    Ok(Response::from_parts(head, body))
}

/// With no time at all ureq sends nothing and reports a timeout, which must be taken for a request that was sent.
const SHORTEST_ATTEMPT: Duration = Duration::from_millis(200);

/// The outcome as the machine wants to know it. It borrows: the response stays the caller's, body included.
pub(crate) fn event(outcome: &Outcome) -> Event<'_> {
    match outcome {
        Ok(response) => Event::response(response.status().as_u16(), RetryHeaders::from_pairs(response.headers())),
        Err(error) => Event::from(error_kind(error)),
    }
}

/// An agent's settings that the loop relies on.
pub(crate) fn agent_config() -> ConfigBuilder<AgentScope> {
    Agent::config_builder()
        // Else a 4xx or 5xx is an error that has lost its headers and its body.
        .http_status_as_error(false)
        // A refused connection proves that nothing was sent only if it is the first hop's. So a redirect is a response
        // like any other: follow it with a call of its own.
        .max_redirects(0)
        // Of one attempt. The loop lowers it to what is left of the budget.
        .timeout_global(Some(Duration::from_secs(10)))
        // Below the attempt's, so that a host that does not answer shows as a timeout while connecting: nothing was sent.
        .timeout_connect(Some(Duration::from_secs(3)))
}

fn main() -> ExitCode {
    let args = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned());
    match run(args, &mut io::stdout()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(bad_argument) => {
            eprintln!("ureq_loop: {bad_argument}");
            ExitCode::from(2)
        }
    }
}

/// Does what the arguments say, and tells whether it went well; an error is about the arguments.
pub(crate) fn run(args: impl IntoIterator<Item = String>, output: &mut dyn Write) -> Result<bool, String> {
    let Some(target) = args::parse(args)? else {
        return Ok(scenes::run_all(output));
    };
    let policy = RetryPolicy::new(&target.options).map_err(|error| error.to_string())?;
    let agent = agent_config().build().new_agent();
    let body = [Method::POST, Method::PUT, Method::PATCH].contains(&target.method).then_some("");
    let mut timeline = Timeline::new(&format!("{} {}", target.method, target.url), output);
    let outcome = call_with(&agent, &target.method, &target.url, body, &policy, &mut timeline);
    timeline.end(&outcome, &policy, None);
    Ok(outcome.is_ok_and(|response| response.status().as_u16() < 400))
}

/// [`call`] for a method that is known only now. ureq sends a `Content-Length` with every body but `()`.
fn call_with(
    agent: &Agent,
    method: &Method,
    url: &Uri,
    body: Option<&'static str>,
    policy: &RetryPolicy,
    timeline: &mut Timeline<'_>,
) -> Outcome {
    let request = Request::builder().method(method).uri(url);
    match body {
        Some(body) => call(agent, &request.body(body)?, policy, timeline),
        None => call(agent, &request.body(())?, policy, timeline),
    }
}
