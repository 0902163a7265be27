//! Retries around `reqwest`: the machine in an async loop on tokio.
//!
//! To use it, copy [`client`], [`send`] and [`error_kind`]. `main` plays one call against a server that is busy at first.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, Request};
use retry_machine::{Decision, ErrorKind, Event, Reason, RetryMachine, RetryPolicy};
use tokio::time::Instant;
use transports::{Answer, FaultServer};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let busy = Answer::new(429).header("retry-after-ms", "250").body("busy");
    let server = FaultServer::start([busy.into(), Answer::new(200).body("done").into()]);

    // The server is on loopback, which no proxy reaches.
    let client = client().connect_timeout(Duration::from_secs(5)).no_proxy().build()?;
    let request = client.post(format!("http://{}/orders", server.address())).body("one order").build()?;
    let response = send(&client, request, &RetryPolicy::default(), Some(ATTEMPT_TIMEOUT), |reason| {
        println!("{reason}");
    })
    .await?;
    println!("{}: {:?}", response.status(), response.body());

    assert_eq!(response.body(), "done");
    assert_eq!(server.requests()[1].header(RETRY_COUNT.as_str()), Some("1"));
    Ok(())
}

/// A client that leaves retries to the machine.
///
/// reqwest itself would send again what a server of HTTP/2 refused: [`reqwest::retry::never`] ends that. hyper-util
/// below it takes a request that found its kept-alive connection closed to another connection. reqwest has no switch for
/// that, and it does no harm: not one byte of such a request was written.
///
/// Set a `connect_timeout` too: it proves that nothing was sent, which the timeout of an attempt does not.
///
/// Redirects are not followed: where a later hop cannot be reached, [`reqwest::Error::is_connect`] holds, although the
/// first hop has seen the request.
pub(crate) fn client() -> ClientBuilder {
    Client::builder().retry(reqwest::retry::never()).redirect(reqwest::redirect::Policy::none())
}

/// Sends a request until the machine gives up, and returns what the last attempt gave, its body included.
///
/// `log` hears of every decision. Dropping the future ends the call wherever it is, in an attempt or in a wait.
pub(crate) async fn send(
    client: &Client,
    mut request: Request,
    policy: &RetryPolicy,
    attempt_timeout: Option<Duration>,
    log: impl Fn(Reason),
) -> reqwest::Result<http::Response<Bytes>> {
    // A body that is a stream is gone once it was sent.
    let can_be_sent_again = request.body().is_none_or(|body| body.as_bytes().is_some());
    let policy = if can_be_sent_again { policy } else { &RetryPolicy::never() };
    let mut machine =
        RetryMachine::new(policy, request.method(), rand::random(), now()).with_wall_clock(SystemTime::now());
    loop {
        request.headers_mut().insert(RETRY_COUNT, HeaderValue::from(machine.retry_count()));
        let remaining_budget = machine.remaining_budget(now()).map(|left| left.max(SHORTEST_ATTEMPT));
        *request.timeout_mut() = [attempt_timeout, remaining_budget].into_iter().flatten().min();
        let next = request.try_clone();

        let outcome = attempt(client, request).await;
        let event = match &outcome {
            Ok(response) => Event::from(response),
            Err(error) => Event::from(error_kind(error)),
        };
        let decision = machine.decide(event, now());
        machine.reason().into_iter().for_each(&log);
        match (decision, next) {
            (Decision::RetryAfter(delay), Some(next)) => {
                tokio::time::sleep(delay).await;
                request = next;
            }
            _ => return outcome,
        }
    }
}

/// One attempt. Its outcome is known only when the body is complete: one that breaks off takes the place of its head.
async fn attempt(client: &Client, request: Request) -> reqwest::Result<http::Response<Bytes>> {
    let mut response = client.execute(request).await?;
    let mut complete = http::Response::new(Bytes::new());
    *complete.status_mut() = response.status();
    *complete.headers_mut() = std::mem::take(response.headers_mut());
    *complete.body_mut() = response.bytes().await?;
    Ok(complete)
}

/// What an error of reqwest says of the request: may the server have seen it?
pub(crate) fn error_kind(error: &reqwest::Error) -> ErrorKind {
    if error.is_builder() || error.is_redirect() || error.is_status() {
        // A bad URL or header, a redirect policy that refused, and `error_for_status`, which this loop does not call.
        // Another attempt would end alike.
        ErrorKind::Other
    } else if error.is_connect() {
        // A request is given to a connection only when that stands, with a proxy's CONNECT and the TLS handshake behind
        // it. So nothing of this one was sent: no address, connection refused, connect timeout, a handshake that broke.
        // Hence this comes before `is_timeout`, which holds for a connect timeout too. With TLS, a certificate that was
        // rejected is here as well: look for your TLS library's error in the chain of `source`, and answer `Other`.
        ErrorKind::NotSent
    } else if error.is_timeout() {
        // The timeout of the whole attempt. It does not say how far the attempt had come.
        ErrorKind::Timeout
    } else {
        // `is_request`: reset, closed early, no HTTP. `is_body` and `is_decode`: the response's body broke off.
        ErrorKind::Connection
    }
}

/// tokio's clock, which a test can pause.
fn now() -> std::time::Instant {
    Instant::now().into_std()
}

/// Tells the server which retry it sees; 0 for the first attempt.
pub(crate) const RETRY_COUNT: HeaderName = HeaderName::from_static("x-retry-count");

/// The longest that one attempt may take, from connecting to the end of the body.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// What an attempt gets if a wait has used up the budget: with no time at all it can only time out.
const SHORTEST_ATTEMPT: Duration = Duration::from_millis(200);
