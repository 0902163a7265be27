//! What the examples and tests of the transports share: a server that fails as its script says.

mod fault_server;

pub use fault_server::{Answer, FaultServer, ReadRequest, RefusedPort, Reply, SilentPort};
