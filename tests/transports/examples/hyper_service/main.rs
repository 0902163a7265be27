//! Retries around hyper 1: the machine inside a tower layer, over hyper-util's client.
//!
//! To use it, copy `retry.rs` and `transport.rs`. Here one call is played against a server that is busy at first.

pub(crate) mod retry;
pub(crate) mod transport;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use http_body_util::Either;
use retry_machine::RetryPolicy;
use tower::{ServiceBuilder, ServiceExt};
use transports::{Answer, FaultServer};

use self::retry::{RETRY_COUNT, RetryLayer};
use self::transport::Transport;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let busy = Answer::new(429).header("retry-after-ms", "250").body("busy");
    let server = FaultServer::start([busy.into(), Answer::new(200).body("done").into()]);

    let retries = RetryLayer {
        policy: RetryPolicy::default().into(),
        quota: Arc::default(),
        attempt_timeout: Some(Duration::from_secs(10)),
        log: Arc::new(|reason| println!("{reason}")),
    };
    // The limit is below the retries: a call that waits before a retry holds no place in it.
    let transport = Transport::new(Some(Duration::from_secs(5)));
    let service = ServiceBuilder::new().layer(retries).concurrency_limit(100).service(transport);
    let request =
        Request::post(format!("http://{}/orders", server.address())).body(Either::Left("one order".into()))?;
    let response = service.oneshot(request).await?;
    println!("{}: {:?}", response.status(), response.body());

    assert_eq!(response.body(), "done");
    assert_eq!(server.requests()[1].header(RETRY_COUNT.as_str()), Some("1"));
    Ok(())
}
