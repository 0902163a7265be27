//! What the examples and tests of the transports share: a server that fails as its script says.

mod fault_server;
mod ports;
mod request;

pub use fault_server::{Answer, FaultServer, Reply};
pub use ports::{RefusedPort, SilentPort};
pub use request::ReadRequest;
