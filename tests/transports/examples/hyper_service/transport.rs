//! One attempt: hyper-util's client to the end of the body, and what its errors mean.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Either, Full};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::rt::TokioExecutor;
use retry_machine::ErrorKind;
use tower::Service;

/// A body in memory can be sent again; a stream is gone once it was sent.
pub(crate) type RequestBody = Either<Full<Bytes>, UnsyncBoxBody<Bytes, io::Error>>;

/// One attempt with hyper-util's client, to the end of the body.
#[derive(Clone)]
pub(crate) struct Transport(Client<HttpConnector, RequestBody>);

impl Transport {
    /// A client that leaves retries to the machine. By default it would take a request that found its kept-alive
    /// connection closed to another one by itself; now that is an error like others, of a request that was not sent.
    ///
    /// A timeout for connecting tells more than one for the attempt: it proves that nothing was sent.
    pub(crate) fn new(connect_timeout: Option<Duration>) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(connect_timeout);
        Self(Client::builder(TokioExecutor::new()).retry_canceled_requests(false).build(connector))
    }
}

impl Service<Request<RequestBody>> for Transport {
    type Response = Response<Bytes>;
    type Error = TransportError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let exchange = self.0.request(request);
        Box::pin(async {
            let (head, body) = exchange.await?.into_parts();
            // A body that breaks off takes the place of its head: the call has failed, whatever the status says.
            let body = body.collect().await?.to_bytes();
            Ok(Response::from_parts(head, body))
        })
    }
}

/// Why an attempt gave no complete response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransportError {
    #[error("the attempt timed out")]
    Timeout,
    #[error("the exchange failed")]
    Client(#[from] ClientError),
    #[error("the response broke off")]
    Body(#[from] hyper::Error),
}

/// What an error says of the request: may the server have seen it?
pub(crate) fn error_kind(error: &TransportError) -> ErrorKind {
    match error {
        // The timer does not know how far the attempt had come.
        TransportError::Timeout => ErrorKind::Timeout,
        TransportError::Body(_) => ErrorKind::Connection,
        // A request is given to a connection only when that stands; so whatever the connector met (no address, refused,
        // its own timeout, a TLS handshake that broke), nothing was sent. `HttpConnector` has no `io::Error` to show if
        // the URL is none that it can connect to. With TLS, look for a rejected certificate first: `Other` too.
        TransportError::Client(error) if error.is_connect() => match source::<io::Error>(error) {
            Some(_) => ErrorKind::NotSent,
            None => ErrorKind::Other,
        },
        TransportError::Client(error) => match source::<hyper::Error>(error) {
            // The connection was closed before hyper began to write the request, and hyper handed it back.
            Some(error) if error.is_canceled() => ErrorKind::NotSent,
            // The body that was to be sent failed, or the runtime is shutting down.
            Some(error) if error.is_user() => ErrorKind::Other,
            // Reset, closed early, no HTTP, a head that is too large.
            Some(_) => ErrorKind::Connection,
            // A version or URL that the client does not take.
            None => ErrorKind::Other,
        },
    }
}

/// The first cause of an error that is of this type.
fn source<T: Error + 'static>(error: &ClientError) -> Option<&T> {
    std::iter::successors(error.source(), |cause| (*cause).source()).find_map(|cause| cause.downcast_ref())
}
