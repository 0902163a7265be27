//! A blocking loop around `ureq`, for the tests.

use std::ops::ControlFlow;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use retry_machine::{Decision, Event, Reason, RetryMachine, RetryPolicy};
use ureq::Agent;

// What users copy is what is tested.
#[path = "../../../../../examples/ureq_loop/errors.rs"]
mod errors;
pub(crate) use errors::error_kind;

/// An agent that leaves retries, redirects and the judgement of statuses to its caller. ureq 3 sends nothing again by
/// itself.
pub(crate) fn agent(connect_timeout: Option<Duration>) -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_connect(connect_timeout)
        .proxy(None)
        .build()
        .into()
}

/// Sends a request until the machine gives up, or until `wait` breaks off.
pub(crate) fn send(
    agent: &Agent,
    mut request: http::Request<Vec<u8>>,
    policy: &RetryPolicy,
    attempt_timeout: Option<Duration>,
    log: impl Fn(Reason),
    wait: impl Fn(Duration) -> ControlFlow<()>,
) -> Result<http::Response<Bytes>, ureq::Error> {
    let mut machine =
        RetryMachine::new(policy, request.method(), rand::random(), Instant::now()).with_wall_clock(SystemTime::now());
    loop {
        request.headers_mut().insert("x-retry-count", machine.retry_count().into());
        let timeout = [attempt_timeout, machine.remaining_budget(Instant::now())].into_iter().flatten().min();
        let outcome = attempt(agent, request.clone(), timeout);
        let event = match &outcome {
            Ok(response) => Event::from(response),
            Err(error) => Event::from(error_kind(error)),
        };
        let decision = machine.decide(event, Instant::now());
        machine.reason().into_iter().for_each(&log);
        match decision {
            Decision::RetryAfter(delay) if wait(delay).is_continue() => {}
            _ => return outcome,
        }
    }
}

/// One attempt, to the end of the body.
fn attempt(
    agent: &Agent,
    request: http::Request<Vec<u8>>,
    timeout: Option<Duration>,
) -> Result<http::Response<Bytes>, ureq::Error> {
    let request = agent.configure_request(request).timeout_global(timeout).build();
    let (head, mut body) = agent.run(request)?.into_parts();
    Ok(http::Response::from_parts(head, body.read_to_vec()?.into()))
}
