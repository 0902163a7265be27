//! A server on loopback that answers, or fails, as its script says.
//!
//! One thread for each connection, blocking, HTTP/1.1 with keep-alive. It counts the requests that it has read, and those
//! whose first byte it saw without reading them, so that a test can tell what was sent from what arrived.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use socket2::SockRef;

use crate::ports::RefusedPort;
use crate::request::ReadRequest;

/// A running server. Dropping it closes its port.
pub struct FaultServer {
    address: SocketAddr,
    state: Arc<State>,
}

/// What happens to one request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A response, after which the connection stays open.
    Answer(Answer),
    /// A response that promises to keep the connection open; then it is closed all the same.
    AnswerThenClose(Answer),
    /// The request is read, and the connection closed before the status line.
    CloseBeforeHead,
    /// The request is read, and the connection reset.
    ResetAfterRequest,
    /// The connection is reset when the request arrives, before it is read.
    ResetUnread,
    /// The request is read, and nothing comes back.
    StallBeforeHead,
    /// The head and a part of the body come back, and then nothing.
    StallInBody,
    /// The head and a part of the body come back, and then the end of the connection.
    TruncateBody,
    /// The head comes back one byte at a time, too slowly to be complete in any time.
    DripHead,
}

/// A complete response.
#[derive(Clone, Debug)]
pub struct Answer {
    head: Vec<u8>,
    body: Vec<u8>,
}

struct State {
    script: Box<dyn Fn(usize) -> Reply + Send + Sync>,
    turns: AtomicUsize,
    requests: Mutex<Vec<ReadRequest>>,
    unread: AtomicUsize,
    // Every connection that there was; those that are closed are gone.
    connections: Mutex<Vec<Weak<TcpStream>>>,
    is_stopping: AtomicBool,
}

impl FaultServer {
    /// A server that gives these replies one after the other, and the last one again and again.
    ///
    /// # Panics
    ///
    /// If there is no reply, or no port.
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::start_on(RefusedPort::new(), replies)
    }

    /// A server on a port that refused connections until now.
    ///
    /// # Panics
    ///
    /// If there is no reply, or the port cannot be opened.
    pub fn start_on(port: RefusedPort, replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<_> = replies.into_iter().collect();
        let last = replies.len().checked_sub(1).expect("a script has a reply");
        Self::start_by_turn(port, move |turn| replies[turn.min(last)].clone())
    }

    /// A server whose reply to a request depends on how many there were before.
    ///
    /// # Panics
    ///
    /// If the port cannot be opened.
    pub fn start_by_turn(port: RefusedPort, script: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Self {
        let state = Arc::new(State {
            script: Box::new(script),
            turns: AtomicUsize::new(0),
            requests: Mutex::default(),
            unread: AtomicUsize::new(0),
            connections: Mutex::default(),
            is_stopping: AtomicBool::new(false),
        });
        let address = port.address();
        let listener = port.listen();
        let acceptor = Arc::clone(&state);
        thread::spawn(move || acceptor.accept(&listener));
        Self { address, state }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The requests that it has read so far, in the order of their arrival.
    pub fn requests(&self) -> Vec<ReadRequest> {
        self.state.requests().clone()
    }

    /// How many requests arrived without being read.
    pub fn unread(&self) -> usize {
        self.state.unread.load(Ordering::SeqCst)
    }

    /// How many connections were opened to it so far.
    pub fn connections(&self) -> usize {
        self.state.connections().len()
    }

    /// Ends every connection that is open, in order.
    pub fn hang_up(&self) {
        for stream in self.state.connections().iter().filter_map(Weak::upgrade) {
            // One that the client has closed already needs no end.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Whether every connection is closed, now or within a few seconds: a client that went away is noticed late.
    pub fn has_closed_all(&self) -> bool {
        let deadline = Instant::now() + LONGEST_WAIT / 3;
        while Instant::now() < deadline {
            if self.state.connections().iter().all(|stream| stream.strong_count() == 0) {
                return true;
            }
            thread::sleep(Duration::from_millis(5));
        }
        false
    }
}

impl std::fmt::Debug for FaultServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultServer").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Drop for FaultServer {
    fn drop(&mut self) {
        self.state.is_stopping.store(true, Ordering::SeqCst);
        // Wakes the acceptor, which closes the port.
        let _ = TcpStream::connect(self.address);
    }
}

impl Answer {
    /// A response with this status, no header and no body.
    pub fn new(status: u16) -> Self {
        Self { head: format!("HTTP/1.1 {status} Scripted\r\n").into_bytes(), body: Vec::new() }
    }

    /// The same response with one more header.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.head.extend_from_slice(name.as_bytes());
        self.head.extend_from_slice(b": ");
        self.head.extend_from_slice(value.as_ref());
        self.head.extend_from_slice(b"\r\n");
        self
    }

    /// The same response with this body.
    pub fn body(self, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..self }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let length = format!("content-length: {}\r\n\r\n", self.body.len());
        [&self.head, length.as_bytes(), &self.body].concat()
    }
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

impl State {
    fn requests(&self) -> MutexGuard<'_, Vec<ReadRequest>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connections(&self) -> MutexGuard<'_, Vec<Weak<TcpStream>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming().map_while(Result::ok) {
            if self.is_stopping.load(Ordering::SeqCst) {
                return;
            }
            let stream = Arc::new(stream);
            self.connections().push(Arc::downgrade(&stream));
            let state = Arc::clone(&self);
            let serve = move || {
                // A client that goes away in the middle is no error here.
                let _ = state.serve(&stream);
            };
            thread::Builder::new().stack_size(STACK_SIZE).spawn(serve).expect("a thread");
        }
    }

    /// One connection, from its first request to its end.
    fn serve(&self, mut stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(LONGEST_WAIT))?;
        // The turn is taken at the first byte: the reply may be not to read the rest.
        while stream.peek(&mut [0])? > 0 {
            let reply = (self.script)(self.turns.fetch_add(1, Ordering::SeqCst));
            if matches!(reply, Reply::ResetUnread) {
                self.unread.fetch_add(1, Ordering::SeqCst);
            } else {
                let request = ReadRequest::read_from(stream)?;
                self.requests().push(request);
            }
            match reply {
                Reply::Answer(answer) => stream.write_all(&answer.to_bytes())?,
                Reply::AnswerThenClose(answer) => return stream.write_all(&answer.to_bytes()),
                Reply::CloseBeforeHead => return Ok(()),
                Reply::ResetAfterRequest | Reply::ResetUnread => return reset_on_close(stream),
                Reply::StallBeforeHead => return wait_for_hangup(stream),
                Reply::StallInBody => {
                    stream.write_all(CUT_OFF)?;
                    return wait_for_hangup(stream);
                }
                Reply::TruncateBody => return stream.write_all(CUT_OFF),
                Reply::DripHead => return drip(stream),
            }
        }
        Ok(())
    }
}

/// Makes the close a reset instead of an orderly end.
fn reset_on_close(stream: &TcpStream) -> io::Result<()> {
    SockRef::from(stream).set_linger(Some(Duration::ZERO))
}

fn wait_for_hangup(mut stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(LONGEST_WAIT))?;
    stream.read(&mut [0]).map(drop)
}

fn drip(mut stream: &TcpStream) -> io::Result<()> {
    for byte in b"HTTP/1.1 200 Scripted\r\nx-drip: ".iter().chain([b'.'; 200].iter()) {
        stream.write_all(&[*byte])?;
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// A head that promises more than the body has.
const CUT_OFF: &[u8] = b"HTTP/1.1 200 Scripted\r\ncontent-length: 1000\r\n\r\nnot all of it";

/// Bounds everything that waits for a client.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Enough for a connection; there may be hundreds.
const STACK_SIZE: usize = 128 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// What a client meets that sends a request and waits for the answer.
    fn answer_to_a_request(reply: Reply) -> io::Result<usize> {
        let server = FaultServer::start([reply]);
        let mut stream = TcpStream::connect(server.address())?;
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n")?;
        stream.read(&mut [0])
    }

    #[test]
    fn a_reset_is_not_an_orderly_end() {
        assert_eq!(answer_to_a_request(Reply::CloseBeforeHead).unwrap(), 0);
        for reset in [Reply::ResetAfterRequest, Reply::ResetUnread] {
            assert_eq!(answer_to_a_request(reset).unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        }
    }
}
