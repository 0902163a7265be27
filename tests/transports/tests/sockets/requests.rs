//! Requests that cannot be sent again, and those that cannot be sent at all.

use std::cell::Cell;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Either, Full};
use retry_machine::{ErrorKind, Reason, RetryPolicy};
use tower::{Layer, ServiceExt};
use transports::{Answer, FaultServer};

use crate::stack::hyper_service::retry::RetryLayer;
use crate::stack::hyper_service::transport::{self, Transport};
use crate::stack::{BODY, reqwest_loop};

#[tokio::test]
async fn a_stream_is_sent_once_by_hyper() {
    let server = FaultServer::start([Answer::new(503).into()]);
    let stream = UnsyncBoxBody::new(Full::from(BODY).map_err(|never| match never {}));
    let request = Request::post(format!("http://{}/", server.address())).body(Either::Right(stream)).unwrap();
    let reason = Arc::new(Mutex::new(None));
    let log: Arc<dyn Fn(Reason) + Send + Sync> = {
        let reason = Arc::clone(&reason);
        Arc::new(move |latest| *reason.lock().unwrap() = Some(latest))
    };
    let layer = RetryLayer { log, ..retry_layer() };
    let response = layer.layer(Transport::new(None)).oneshot(request).await.unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(*reason.lock().unwrap(), Some(NO_RETRY));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_stream_is_sent_once_by_reqwest() {
    let server = FaultServer::start([Answer::new(503).into()]);
    let client = reqwest_loop::client().no_proxy().build().unwrap();
    let stream = reqwest::Body::wrap(Full::<Bytes>::from(BODY));
    let request = client.post(format!("http://{}/", server.address())).body(stream).build().unwrap();
    let reason = Cell::new(None);
    let log = |latest| reason.set(Some(latest));
    let response = reqwest_loop::send(&client, request, &RetryPolicy::default(), None, log).await.unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(reason.get(), Some(NO_RETRY));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_request_that_hyper_hands_back_was_not_sent() {
    let server = FaultServer::start([Answer::new(200).into()]);
    let transport = Transport::new(None);
    let request = || {
        let request = Request::post(format!("http://{}/", server.address()));
        request.body(Either::Left(Full::from(BODY))).unwrap()
    };
    transport.clone().oneshot(request()).await.unwrap();
    let_a_kept_alive_connection_end_unnoticed(&server).await;
    let error = transport.oneshot(request()).await.unwrap_err();
    assert_eq!(transport::error_kind(&error), ErrorKind::NotSent, "{error:?}");
    assert_eq!((server.requests().len(), server.unread()), (1, 0));
}

#[tokio::test]
async fn a_request_that_is_handed_back_to_reqwest_arrives_once() {
    let server = FaultServer::start([Answer::new(200).into()]);
    let client = reqwest_loop::client().no_proxy().build().unwrap();
    let request = || client.post(format!("http://{}/", server.address())).body(BODY).send();
    request().await.unwrap();
    let_a_kept_alive_connection_end_unnoticed(&server).await;
    request().await.unwrap();
    assert_eq!((server.requests().len(), server.unread(), server.connections()), (2, 0, 2));
}

/// The connection in the client's pool ends, and the runtime has been told, but the connection's task has not run yet.
async fn let_a_kept_alive_connection_end_unnoticed(server: &FaultServer) {
    // The connection goes back to the pool.
    tokio::time::sleep(Duration::from_millis(20)).await;
    server.hang_up();
    assert!(server.has_closed_all());
    // Only the sockets are looked at here. What they wake runs after the caller, which sends the next request at once.
    tokio::task::yield_now().await;
}

#[tokio::test]
async fn a_url_that_hyper_cannot_connect_to_is_a_permanent_error() {
    for url in ["https://127.0.0.1/", "/no-host"] {
        let request = Request::get(url).body(Either::Left(Full::<Bytes>::default())).unwrap();
        let error = retry_layer().layer(Transport::new(None)).oneshot(request).await.unwrap_err();
        assert_eq!(transport::error_kind(&error), ErrorKind::Other, "{error:?}");
    }
}

#[tokio::test]
async fn a_url_that_reqwest_cannot_connect_to_is_a_permanent_error() {
    let client = reqwest_loop::client().no_proxy().build().unwrap();
    let request = client.get("ftp://127.0.0.1/").build().unwrap();
    let error = reqwest_loop::send(&client, request, &RetryPolicy::default(), None, drop).await.unwrap_err();
    assert_eq!(reqwest_loop::error_kind(&error), ErrorKind::Other, "{error:?}");
}

#[tokio::test]
async fn a_name_without_an_address_is_a_request_not_sent() {
    // A label has 63 characters at the most, so no resolver needs to ask for this name.
    let url = &format!("http://{}.invalid/", "x".repeat(64));
    let request = Request::post(url).body(Either::Left(Full::from(BODY))).unwrap();
    let error = Transport::new(None).oneshot(request).await.unwrap_err();
    assert_eq!(transport::error_kind(&error), ErrorKind::NotSent, "{error:?}");

    let client = reqwest_loop::client().no_proxy().build().unwrap();
    let error = client.post(url).send().await.unwrap_err();
    assert_eq!(reqwest_loop::error_kind(&error), ErrorKind::NotSent, "{error:?}");
}

fn retry_layer() -> RetryLayer {
    RetryLayer {
        policy: Arc::new(RetryPolicy::default()),
        quota: Arc::default(),
        attempt_timeout: None,
        log: Arc::new(drop),
    }
}

/// Not a retry that was granted and then could not be made.
const NO_RETRY: Reason = Reason::RetriesExhausted { max_retries: 0, requested: None };
