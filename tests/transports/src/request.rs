//! A request as a server reads it.

use std::io::{self, Read};
use std::net::TcpStream;

/// A request as the server read it.
#[derive(Clone, Debug)]
pub struct ReadRequest {
    head: String,
    body: Vec<u8>,
}

impl ReadRequest {
    /// Reads one to the end of its body.
    pub(crate) fn read_from(stream: &TcpStream) -> io::Result<Self> {
        let mut bytes = Vec::new();
        let head_end = loop {
            if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            read_some(stream, &mut bytes)?;
        };
        let body = bytes.split_off(head_end);
        let mut request = Self { head: String::from_utf8_lossy(&bytes).into_owned(), body };
        let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let is_chunked = request.header("transfer-encoding") == Some("chunked");
        while request.body.len() < length || (is_chunked && !request.body.ends_with(b"0\r\n\r\n")) {
            read_some(stream, &mut request.body)?;
        }
        Ok(request)
    }

    /// Its method.
    pub fn method(&self) -> &str {
        self.head.split(' ').next().unwrap_or_default()
    }

    /// The value of its first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(':'));
        fields.into_iter().find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// Its body as it was framed.
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

fn read_some(mut stream: &TcpStream, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut buffer = [0; 4096];
    match stream.read(&mut buffer)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => {
            bytes.extend_from_slice(&buffer[..count]);
            Ok(())
        }
    }
}
