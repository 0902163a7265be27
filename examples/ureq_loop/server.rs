//! A flaky HTTP server: it answers by a script, one connection after the other.
//!
//! It is written with std alone. A server library always answers well-formed and whole; this one must break off, hang
//! and reset.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

/// What the server does with a request that it has read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reply {
    /// Answers.
    Response {
        status: u16,
        /// A line more for the head, or nothing.
        header: &'static str,
        body: &'static str,
    },
    /// Answers 503, with a `Retry-After` date this long after its own `Date`: whole seconds, as HTTP dates are.
    RetryAfterDate(Duration),
    /// Answers 200, and breaks off in the body.
    CutOff,
    /// Never answers, and keeps the connection open as long as the script lasts.
    Hang,
    /// Resets the connection.
    Reset,
}

/// A server on a loopback port of its own.
pub(crate) struct Server {
    address: SocketAddr,
    thread: Option<JoinHandle<usize>>,
}

impl Server {
    /// Serves one request for each reply, then no more. Without a reply nobody listens: connections are refused.
    pub(crate) fn start(script: &'static [Reply]) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let thread = (!script.is_empty()).then(move || thread::spawn(move || serve(&listener, script)));
        Ok(Self { address, thread })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops the server, and says how many requests it has read.
    pub(crate) fn stop(self) -> usize {
        let Some(thread) = self.thread else { return 0 };
        // A connection without a request ends a script that is not over yet.
        let _ = TcpStream::connect(self.address);
        thread.join().expect("the server does not panic")
    }
}

/// Serves the script, and returns how many requests were read.
fn serve(listener: &TcpListener, script: &[Reply]) -> usize {
    let mut open = Vec::new();
    for (read_before, reply) in script.iter().enumerate() {
        let Ok(mut stream) = accept(listener) else { return read_before };
        // A client that does not take its answer is not the server's trouble.
        let _ = reply.send(&mut stream);
        if let Reply::Hang = reply {
            open.push(stream);
        }
    }
    script.len()
}

/// Waits for a request, and reads it all but its last byte. Only then is a reply due, so `Reset` comes after the client
/// has sent everything.
fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let (mut stream, _) = listener.accept()?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r") {
        stream.read_exact(&mut byte)?;
        head.extend(byte);
    }
    // What is left is a line feed and the body: as many bytes as the body has, and the last one.
    io::copy(&mut (&stream).take(content_length(&head)), &mut io::sink())?;
    if stream.peek(&mut byte)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(stream)
}

fn content_length(head: &[u8]) -> u64 {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0)
}

impl Reply {
    fn send(self, stream: &mut TcpStream) -> io::Result<()> {
        if let Self::Reset = self {
            // The request's last byte is still unread, so the system answers the close with a reset. (std cannot set
            // `SO_LINGER`.)
            return Ok(());
        }
        stream.read_exact(&mut [0])?;
        // In one write, so that no part waits for the client's acknowledgement of the one before.
        stream.write_all(self.text().as_bytes())
    }

    /// What goes over the wire. One request a connection, so that the script needs to know of no other.
    fn text(self) -> String {
        match self {
            Self::Response { status, header, body } => response(status, header, body.len(), body),
            Self::RetryAfterDate(delay) => {
                let now = SystemTime::now();
                let (date, later) = (httpdate::fmt_http_date(now), httpdate::fmt_http_date(now + delay));
                response(503, &format!("Date: {date}\r\nRetry-After: {later}"), 0, "")
            }
            Self::CutOff => response(200, "", 1000, "the first words"),
            Self::Hang | Self::Reset => String::new(),
        }
    }
}

fn response(status: u16, headers: &str, length: usize, body: &str) -> String {
    let headers = if headers.is_empty() { "Server: flaky" } else { headers };
    format!("HTTP/1.1 {status} Scripted\r\n{headers}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
}
