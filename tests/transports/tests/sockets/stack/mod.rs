//! The three stacks behind one face, so that one script can play on each of them.

#[expect(dead_code, reason = "an example's `main` is not called here")]
#[path = "../../../examples/hyper_service/main.rs"]
pub(crate) mod hyper_service;
#[expect(dead_code, reason = "an example's `main` is not called here")]
#[path = "../../../examples/reqwest_loop.rs"]
pub(crate) mod reqwest_loop;
pub(crate) mod ureq;

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Either;
use retry_machine::{ErrorKind, Reason, RetryOptions, RetryPolicy};
use tokio::runtime::Runtime;
use tower::{Layer, ServiceExt};

/// What sends a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stack {
    Ureq,
    Reqwest,
    Hyper,
}

/// One call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: &'static str,
    pub(crate) policy: RetryPolicy,
    pub(crate) attempt_timeout: Option<Duration>,
    pub(crate) connect_timeout: Option<Duration>,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) outcome: Outcome,
    pub(crate) reasons: Vec<Reason>,
    /// From the start to the end of the call, by the clock that its waits went by.
    pub(crate) elapsed: Duration,
}

impl Stack {
    /// Sends a call to this address.
    pub(crate) fn send(self, call: &Call, address: SocketAddr) -> Report {
        self.send_watched(call, address, drop)
    }

    /// The same with an eye on every decision: what `watch` does is done before the wait begins.
    pub(crate) fn send_watched(
        self,
        call: &Call,
        address: SocketAddr,
        watch: impl Fn(Reason) + Send + Sync + 'static,
    ) -> Report {
        let reasons = Arc::new(Mutex::new(Vec::new()));
        let log = {
            let reasons = Arc::clone(&reasons);
            move |reason| {
                reasons.lock().unwrap().push(reason);
                watch(reason);
            }
        };
        let (outcome, elapsed) = match self {
            Self::Ureq => send_by_ureq(call, address, log),
            Self::Reqwest | Self::Hyper => call.runtime().block_on(async {
                let start = tokio::time::Instant::now();
                (self.send_on_tokio(call, address, log).await, start.elapsed())
            }),
        };
        let reasons = reasons.lock().unwrap().clone();
        Report { outcome, reasons, elapsed }
    }

    /// The same as a future. Dropping it drops the client too.
    pub(crate) async fn send_on_tokio(
        self,
        call: &Call,
        address: SocketAddr,
        log: impl Fn(Reason) + Send + Sync + 'static,
    ) -> Outcome {
        match self {
            Self::Ureq => panic!("ureq blocks"),
            Self::Reqwest => send_by_reqwest(call, address, log).await,
            Self::Hyper => send_by_hyper(call, address, log).await,
        }
    }
}

impl Call {
    /// A call whose attempts have time enough, under the default policy but for short backoffs.
    pub(crate) fn new(method: &'static str) -> Self {
        let backoffs = RetryOptions::default().backoff_initial(Duration::from_millis(20));
        let policy = RetryPolicy::new(backoffs).unwrap();
        Self { method, policy, attempt_timeout: Some(Duration::from_secs(20)), connect_timeout: None }
    }

    /// The same call with this changed.
    pub(crate) fn with(self, options: RetryOptions) -> Self {
        Self { policy: self.policy.merge(options).unwrap(), ..self }
    }

    /// The same call with attempts that may take only so long.
    pub(crate) fn attempt_timeout(self, timeout: Duration) -> Self {
        Self { attempt_timeout: Some(timeout), ..self }
    }

    /// The same call without a limit for attempts, nor for their total: its waits are the only timers, so a stack on
    /// tokio can have them in virtual time, although it uses real sockets. (tokio's paused clock jumps to the next timer
    /// whenever there is nothing else to do, and waiting for a socket is nothing to do.)
    pub(crate) fn without_limits(self) -> Self {
        Self { attempt_timeout: None, ..self.with(RetryOptions::default().no_budget()) }
    }

    /// What the call runs on.
    pub(crate) fn runtime(&self) -> Runtime {
        let is_virtual = self.attempt_timeout.is_none() && self.policy.budget().is_none();
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(is_virtual).build().unwrap()
    }
}

pub(crate) const BODY: &str = "one order";

pub(crate) type Outcome = Result<Response<Bytes>, ErrorKind>;

fn send_by_ureq(call: &Call, address: SocketAddr, log: impl Fn(Reason)) -> (Outcome, Duration) {
    let start = Instant::now();
    let request = Request::builder().method(call.method).uri(format!("http://{address}/"));
    let request = request.body(body_of(call).into()).unwrap();
    let wait = |delay| {
        std::thread::sleep(delay);
        ControlFlow::Continue(())
    };
    let agent = ureq::agent(call.connect_timeout);
    let outcome = ureq::send(&agent, request, &call.policy, call.attempt_timeout, log, wait);
    (outcome.map_err(|error| ureq::error_kind(&error)), start.elapsed())
}

async fn send_by_reqwest(call: &Call, address: SocketAddr, log: impl Fn(Reason)) -> Outcome {
    let mut client = reqwest_loop::client().no_proxy().pool_idle_timeout(None);
    if let Some(timeout) = call.connect_timeout {
        client = client.connect_timeout(timeout);
    }
    let client = client.build().unwrap();
    let method = call.method.parse().unwrap();
    let request = client.request(method, format!("http://{address}/")).body(body_of(call)).build().unwrap();
    let outcome = reqwest_loop::send(&client, request, &call.policy, call.attempt_timeout, log).await;
    outcome.map_err(|error| reqwest_loop::error_kind(&error))
}

async fn send_by_hyper(call: &Call, address: SocketAddr, log: impl Fn(Reason) + Send + Sync + 'static) -> Outcome {
    let layer = hyper_service::retry::RetryLayer {
        policy: call.policy.clone().into(),
        quota: Arc::default(),
        attempt_timeout: call.attempt_timeout,
        log: Arc::new(log),
    };
    let service = layer.layer(hyper_service::transport::Transport::new(call.connect_timeout));
    let request = Request::builder().method(call.method).uri(format!("http://{address}/"));
    let request = request.body(Either::Left(body_of(call).into())).unwrap();
    let outcome = service.oneshot(request).await;
    outcome.map_err(|error| hyper_service::transport::error_kind(&error))
}

/// A GET has none.
fn body_of(call: &Call) -> &'static str {
    if call.method == "GET" { "" } else { BODY }
}
