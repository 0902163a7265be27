//! The retries: a tower layer, its service, and the future of a call with the machine in it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response};
use http_body_util::Either;
use pin_project_lite::pin_project;
use retry_machine::{Decision, Event, Reason, RetryMachine, RetryPolicy, RetryQuota};
use tokio::time::{Instant, Sleep, sleep};
use tower::{Layer, Service};

use super::transport::{RequestBody, TransportError, error_kind};

/// Adds retries to a service. What is in here is shared by all the calls.
#[derive(Clone)]
pub(crate) struct RetryLayer {
    pub(crate) policy: Arc<RetryPolicy>,
    pub(crate) quota: Arc<RetryQuota>,
    /// The longest that one attempt may take; what is left of the budget shortens it.
    pub(crate) attempt_timeout: Option<Duration>,
    /// Hears of every decision.
    pub(crate) log: Arc<dyn Fn(Reason) + Send + Sync>,
}

impl<S> Layer<S> for RetryLayer {
    type Service = Retry<S>;

    fn layer(&self, inner: S) -> Retry<S> {
        Retry { inner, layer: self.clone() }
    }
}

/// A service with retries.
#[derive(Clone)]
pub(crate) struct Retry<S> {
    inner: S,
    layer: RetryLayer,
}

impl<S> Service<Request<RequestBody>> for Retry<S>
where
    S: Service<Request<RequestBody>, Response = Response<Bytes>, Error = TransportError> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = RetryFuture<S, S::Future>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        // Each attempt waits for the inner service by itself: a place taken here would be held during the waits.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let never = RetryPolicy::never();
        let policy = if matches!(request.body(), Either::Left(_)) { &self.layer.policy } else { &never };
        let machine = RetryMachine::new(policy, request.method(), rand::random(), now())
            .with_wall_clock(SystemTime::now())
            .with_quota(Arc::clone(&self.layer.quota));
        RetryFuture {
            service: self.inner.clone(),
            layer: self.layer.clone(),
            machine,
            next: Some(request),
            state: State::Preparing,
        }
    }
}

pin_project! {
    /// One call: all that it holds is in here, so dropping it ends the call wherever it is.
    pub(crate) struct RetryFuture<S, F> {
        service: S,
        layer: RetryLayer,
        machine: RetryMachine,
        // The next attempt's request, as long as there may be one.
        next: Option<Request<RequestBody>>,
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F> {
        // Until the inner service takes a request.
        Preparing,
        Attempting { #[pin] attempt: F, #[pin] timeout: Option<Sleep> },
        Waiting { #[pin] delay: Sleep },
    }
}

impl<S> Future for RetryFuture<S, S::Future>
where
    S: Service<Request<RequestBody>, Response = Response<Bytes>, Error = TransportError>,
{
    type Output = Result<S::Response, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.state.as_mut().project() {
                StateProjection::Preparing => {
                    ready!(this.service.poll_ready(cx))?;
                    let request = this.next.take().expect("a retry is granted only to a request that was copied");
                    let (mut head, body) = request.into_parts();
                    if let (Either::Left(bytes), true) = (&body, may_be_retried(this.machine)) {
                        *this.next = Some(Request::from_parts(head.clone(), Either::Left(bytes.clone())));
                    }
                    head.headers.insert(RETRY_COUNT, HeaderValue::from(this.machine.retry_count()));
                    let attempt = this.service.call(Request::from_parts(head, body));
                    let remaining_budget = this.machine.remaining_budget(now()).map(|left| left.max(SHORTEST_ATTEMPT));
                    let timeout = [this.layer.attempt_timeout, remaining_budget].into_iter().flatten().min().map(sleep);
                    this.state.set(State::Attempting { attempt, timeout });
                }
                StateProjection::Attempting { attempt, timeout } => {
                    let outcome = match (attempt.poll(cx), timeout.as_pin_mut()) {
                        (Poll::Ready(outcome), _) => outcome,
                        (Poll::Pending, None) => return Poll::Pending,
                        (Poll::Pending, Some(timeout)) => {
                            ready!(timeout.poll(cx));
                            Err(TransportError::Timeout)
                        }
                    };
                    let event = match &outcome {
                        Ok(response) => Event::from(response),
                        Err(error) => Event::from(error_kind(error)),
                    };
                    let decision = this.machine.decide(event, now());
                    this.machine.reason().into_iter().for_each(|reason| (this.layer.log)(reason));
                    match decision {
                        // The old state goes, and with it an attempt that timed out: hyper closes its connection.
                        Decision::RetryAfter(delay) => this.state.set(State::Waiting { delay: sleep(delay) }),
                        Decision::GiveUp => return Poll::Ready(outcome),
                    }
                }
                StateProjection::Waiting { delay } => {
                    ready!(delay.poll(cx));
                    this.state.set(State::Preparing);
                }
            }
        }
    }
}

fn may_be_retried(machine: &RetryMachine) -> bool {
    machine.retry_count() < machine.policy().max_retries()
}

/// tokio's clock, which a test can pause.
fn now() -> std::time::Instant {
    Instant::now().into_std()
}

/// Tells the server which retry it sees; 0 for the first attempt.
pub(crate) const RETRY_COUNT: HeaderName = HeaderName::from_static("x-retry-count");

/// What an attempt gets if a wait has used up the budget: with no time at all it can only time out.
const SHORTEST_ATTEMPT: Duration = Duration::from_millis(200);
