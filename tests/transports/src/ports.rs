//! Ports of the loopback interface that no server answers on.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use socket2::{Domain, Socket, Type};

/// A port that nobody listens on, kept free of other programs: connections to it are refused.
#[derive(Debug)]
pub struct RefusedPort {
    socket: Socket,
    address: SocketAddr,
}

impl RefusedPort {
    /// A free port of the loopback interface.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn new() -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).expect("a free port");
        let address = socket.local_addr().ok().and_then(|address| address.as_socket()).expect("an address");
        Self { socket, address }
    }

    /// Opens it.
    pub(crate) fn listen(self) -> TcpListener {
        self.socket.listen(1024).expect("the port can be opened");
        self.socket.into()
    }

    /// The address that refuses.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Default for RefusedPort {
    fn default() -> Self {
        Self::new()
    }
}

/// A port that is open and answers no one: its queue of connections is full, so that connecting takes for ever.
#[derive(Debug)]
pub struct SilentPort {
    address: SocketAddr,
    _listener: Socket,
    _queued: Vec<Socket>,
}

impl SilentPort {
    /// A port of the loopback interface.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn new() -> Self {
        let RefusedPort { socket: listener, address } = RefusedPort::new();
        listener.listen(1).expect("the port can be opened");
        let queued = (0..8)
            .map(|_| {
                let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
                socket.set_nonblocking(true).expect("a socket that does not block");
                // Not complete at once, and for the last ones never.
                let _ = socket.connect(&address.into());
                socket
            })
            .collect();
        Self { address, _listener: listener, _queued: queued }
    }

    /// The address that does not answer.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Default for SilentPort {
    fn default() -> Self {
        Self::new()
    }
}
