//! Ten thousand calls in flight at once, through one policy and one quota, against a server that fails in many ways.

#[expect(dead_code, reason = "an example's `main` is not called here")]
#[path = "../examples/hyper_service/main.rs"]
mod hyper_service;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Either;
use hyper_service::retry::RetryLayer;
use hyper_service::transport::{RequestBody, Transport, TransportError};
use retry_machine::{Decision, Reason, RetryMachine, RetryOptions, RetryPolicy, RetryQuota};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tower::limit::ConcurrencyLimit;
use tower::{Layer, Service, ServiceExt};
use transports::{Answer, FaultServer, RefusedPort, Reply};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_calls_end_and_every_send_is_accounted_for() {
    let server = FaultServer::start_by_turn(RefusedPort::new(), reply_to);
    let refused = RefusedPort::new();
    let decisions = Arc::new(Decisions::default());
    let layer = RetryLayer {
        policy: Arc::new(policy()),
        quota: Arc::new(RetryQuota::default()),
        attempt_timeout: Some(Duration::from_secs(60)),
        log: {
            let decisions = Arc::clone(&decisions);
            Arc::new(move |reason| decisions.count(reason))
        },
    };
    let quota = Arc::clone(&layer.quota);
    // No connection is free until all the calls wait for one.
    let connections = Arc::new(Semaphore::new(0));
    let sends = Arc::new(Sends::default());
    let transport = CountedTransport {
        transport: Transport::new(None),
        refused: format!("http://{}/", refused.address()).parse().unwrap(),
        sends: Arc::clone(&sends),
    };
    let service = layer.layer(ConcurrencyLimit::with_semaphore(transport, Arc::clone(&connections)));

    let memory_before = resident_bytes();
    let in_flight = Arc::new(AtomicUsize::new(0));
    let mut bytes_of_a_future = 0;
    let mut calls = JoinSet::new();
    for index in 0..CALLS {
        let method = if index % 2 == 0 { "GET" } else { "POST" };
        let request = Request::builder().method(method).uri(format!("http://{}/", server.address()));
        let request = request.body(Either::Left(Bytes::from_static(b"one order").into())).unwrap();
        let call = service.clone().oneshot(request);
        bytes_of_a_future = size_of_val(&call);
        let in_flight = Arc::clone(&in_flight);
        calls.spawn(async move {
            in_flight.fetch_add(1, Ordering::SeqCst);
            call.await
        });
    }
    while in_flight.load(Ordering::SeqCst) < CALLS {
        tokio::task::yield_now().await;
    }
    let memory_of_calls = resident_bytes().saturating_sub(memory_before);
    let start = Instant::now();
    connections.add_permits(CONNECTIONS);
    let outcomes = calls.join_all().await;
    let elapsed = start.elapsed();

    let successes = outcomes.iter().flatten().filter(|response| response.status() == 200).count();
    let retries = decisions.retries.load(Ordering::Relaxed);
    let sent = sends.all.load(Ordering::Relaxed);
    let never_left = sends.refused.load(Ordering::Relaxed);
    println!("{CALLS} calls in {elapsed:?} over {CONNECTIONS} connections: {successes} succeeded, {retries} retries");
    println!("{sent} sends: {} read, {} reset unread, {never_left} refused", server.requests().len(), server.unread());
    println!(
        "given up: {} by the quota, which has {} left",
        decisions.by_quota.load(Ordering::Relaxed),
        quota.available()
    );
    println!(
        "bytes: {} a machine, {bytes_of_a_future} a call's future with its machine, {} a call resident in all",
        size_of::<RetryMachine>(),
        memory_of_calls / CALLS
    );

    assert_eq!(decisions.ended.load(Ordering::Relaxed), CALLS);
    assert_eq!(sent, CALLS + retries, "a send is a first attempt or a retry that was granted");
    assert_eq!(server.requests().len() + server.unread(), sent - never_left);
    assert_eq!(connections.available_permits(), CONNECTIONS);
    assert!(quota.available() <= quota.capacity());
    assert!(retries > 0 && decisions.by_quota.load(Ordering::Relaxed) > 0 && never_left > 0 && server.unread() > 0);
}

/// About three in ten fail. None closes a connection that the client believes to be idle: it would be left open whether
/// the next request was sent.
fn reply_to(turn: usize) -> Reply {
    match turn % 20 {
        0 => Answer::new(503).into(),
        1 => Answer::new(429).header("retry-after-ms", "120").into(),
        2 => Reply::CloseBeforeHead,
        3 => Reply::ResetAfterRequest,
        4 => Reply::ResetUnread,
        5 => Reply::TruncateBody,
        _ => Answer::new(200).body("done").into(),
    }
}

/// Without a budget: how long a call waits for a connection depends on the machine that runs this.
fn policy() -> RetryPolicy {
    RetryPolicy::new(RetryOptions::default().backoff_initial(Duration::from_millis(20)).no_budget()).unwrap()
}

/// The transport, but for one send in sixteen, whose connection is refused.
#[derive(Clone)]
struct CountedTransport {
    transport: Transport,
    refused: Uri,
    sends: Arc<Sends>,
}

#[derive(Default)]
struct Sends {
    all: AtomicUsize,
    refused: AtomicUsize,
}

impl Service<Request<RequestBody>> for CountedTransport {
    type Response = Response<Bytes>;
    type Error = TransportError;
    type Future = <Transport as Service<Request<RequestBody>>>::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        self.transport.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<RequestBody>) -> Self::Future {
        if self.sends.all.fetch_add(1, Ordering::Relaxed) % 16 == 0 {
            self.sends.refused.fetch_add(1, Ordering::Relaxed);
            *request.uri_mut() = self.refused.clone();
        }
        self.transport.call(request)
    }
}

/// What the machines decided.
#[derive(Default)]
struct Decisions {
    retries: AtomicUsize,
    ended: AtomicUsize,
    by_quota: AtomicUsize,
}

impl Decisions {
    fn count(&self, reason: Reason) {
        if reason.decision() == Decision::GiveUp {
            self.ended.fetch_add(1, Ordering::Relaxed);
        } else {
            self.retries.fetch_add(1, Ordering::Relaxed);
        }
        if matches!(reason, Reason::QuotaExhausted { .. }) {
            self.by_quota.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The memory of this process, where the system tells.
fn resident_bytes() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kibibytes =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB")?.trim().parse().ok());
    kibibytes.unwrap_or(0) * 1024
}

const CALLS: usize = 10_000;

/// Far below the usual limit of open files: there are two for each connection, as the server is in this process.
const CONNECTIONS: usize = 200;
