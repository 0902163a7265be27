//! What a `ureq` error says about the request: was it sent?

use std::io;

use retry_machine::ErrorKind;
use ureq::{Error, Timeout};

/// The kind of a ureq error.
///
/// It relies on two things. The agent follows no redirects: else an error of the second hop would say nothing of the
/// first. The body is bytes: else an IO error may come from reading the body, not from the connection.
///
/// ureq sends a request once: it repeats none by itself, not even on a pooled connection that the server has closed
/// meanwhile. It checks one before it reuses it, but the close may come just after: that is an ambiguous error like any
/// other. Its pool makes nobody wait, so there is no [`ErrorKind::PoolTimeout`].
#[allow(clippy::match_same_arms, reason = "each case is argued for itself")]
pub(crate) fn error_kind(error: &Error) -> ErrorKind {
    match error {
        // Nothing was sent: there was no connection yet.

        // The lookup gave no address.
        Error::HostNotFound => ErrorKind::NotSent,
        // The lookup and the connecting come first. To connect includes a proxy's answer and the TLS handshake, with which
        // ureq sends no early data.
        Error::Timeout(Timeout::Resolve | Timeout::Connect) => ErrorKind::NotSent,
        // The proxy was asked for a tunnel, and gave none: the request is still here.
        Error::ConnectProxyFailed(_) => ErrorKind::NotSent,

        // The system's errors come from connecting and from the exchange: its kind tells which.
        Error::Io(error) => io_error_kind(error),

        // Ambiguous: something may have been sent.

        // `Global` and `PerCall` may end while connecting, or while the server is at work. The others come later.
        Error::Timeout(_) => ErrorKind::Timeout,
        // An answer that is no HTTP came after the request. (So fails a request that breaks the rules, before it is sent,
        // but the two cannot be told apart.)
        Error::Protocol(_) => ErrorKind::Connection,
        // A connector of your own failed, and does not say why.
        Error::ConnectionFailed | Error::Other(_) => ErrorKind::Connection,

        // Permanent: another attempt would only repeat it.

        // The request or the settings are wrong.
        Error::BadUri(_) | Error::Http(_) | Error::InvalidProxyUrl | Error::RequireHttpsOnly(_) => ErrorKind::Other,
        // The build lacks TLS, or the host is no name for a certificate.
        Error::TlsRequired | Error::Tls(_) => ErrorKind::Other,
        // The server answered, with more than this client takes.
        Error::LargeResponseHeader(..) | Error::BodyExceedsLimit(_) => ErrorKind::Other,
        // The server answered, with a redirect that was not to be followed.
        Error::RedirectFailed | Error::TooManyRedirects => ErrorKind::Other,
        // The server answered, but the headers that may ask for a delay are lost: see `http_status_as_error`.
        Error::StatusCode(_) => ErrorKind::Other,

        // More variants come with ureq's features, and with its releases. What is not known may have been sent.
        _ => ErrorKind::Connection,
    }
}

/// The kind of an IO error, which ureq hands on as the system gave it.
fn io_error_kind(error: &io::Error) -> ErrorKind {
    match error.kind() {
        // Only connecting gives these two: nobody listens there, no local port is free. `HostUnreachable` and its like are
        // not among them: a connection in use can fail so too.
        io::ErrorKind::ConnectionRefused | io::ErrorKind::AddrNotAvailable => ErrorKind::NotSent,
        // The name is unknown, or the resolver does not answer.
        _ if is_failed_lookup(error) => ErrorKind::NotSent,
        // The system gave up waiting. ureq makes an `Error::Timeout` of it wherever it meets it.
        io::ErrorKind::TimedOut => ErrorKind::Timeout,
        // rustls refuses a certificate so: permanent. (It fails so on a broken record too, but does not say which.) And an
        // agent that was shut down opens no connection any more.
        io::ErrorKind::InvalidData | io::ErrorKind::NotConnected => ErrorKind::Other,
        // Reset, broken pipe, end of file: the server may have read all of the request, and acted on it.
        _ => ErrorKind::Connection,
    }
}

/// Whether a name was not resolved. std gives no kind for that on Unix, only these words. Should they change, the error
/// counts as ambiguous.
fn is_failed_lookup(error: &io::Error) -> bool {
    error.to_string().starts_with("failed to lookup address information")
}
