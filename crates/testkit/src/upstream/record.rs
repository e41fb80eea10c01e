//! What arrived.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use hyper::HeaderMap;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpVersion {
    Http1,
    Http2,
}

impl HttpVersion {
    pub(super) fn alpn(self) -> &'static [u8] {
        match self {
            Self::Http1 => b"http/1.1",
            Self::Http2 => b"h2",
        }
    }
}

/// One request, whole.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Which of [`super::Upstream::connections`] it came on.
    pub connection: usize,
    pub version: HttpVersion,
    pub method: String,
    /// As it was asked for: for HTTP/2 with scheme and authority.
    pub target: String,
    /// Lines of the same name stand together; for the order on the wire see `raw`.
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
    pub trailers: Vec<(String, Vec<u8>)>,
    /// For HTTP/1.1 every byte of the request as it came out of TLS; empty for HTTP/2.
    pub raw: Vec<u8>,
}

impl Recorded {
    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        let wanted = |(header, _): &&(String, Vec<u8>)| header.eq_ignore_ascii_case(name);
        self.headers.iter().find(wanted).map(|(_, value)| value.as_slice())
    }
}

/// One connection.
#[derive(Debug, Clone, Default)]
pub struct Connection {
    /// The name that the client asked for in its handshake.
    pub server_name: Option<String>,
    /// What was agreed on; `None` before the end of the handshake, or if there was none.
    pub version: Option<HttpVersion>,
}

#[derive(Debug, Default)]
pub(super) struct Record {
    requests: Mutex<Vec<Recorded>>,
    connections: Mutex<Vec<Connection>>,
}

impl Record {
    pub fn requests(&self) -> Vec<Recorded> {
        self.requests.lock().expect("no panic in the server").clone()
    }

    pub fn connections(&self) -> Vec<Connection> {
        self.connections.lock().expect("no panic in the server").clone()
    }

    pub fn request(&self, request: Recorded) {
        self.requests.lock().expect("no panic in the server").push(request);
    }

    pub fn connection(&self) -> usize {
        let mut connections = self.connections.lock().expect("no panic in the server");
        connections.push(Connection::default());
        connections.len() - 1
    }

    pub fn agreed(&self, connection: usize, server_name: Option<String>, version: HttpVersion) {
        self.connections.lock().expect("no panic in the server")[connection] =
            Connection { server_name, version: Some(version) };
    }
}

pub(super) fn lines(headers: &HeaderMap) -> Vec<(String, Vec<u8>)> {
    headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect()
}

/// The bytes that came through a [`Tap`] and were not taken yet.
pub(super) type Tapped = Arc<Mutex<Vec<u8>>>;

/// A connection that keeps a copy of what is read from it.
pub(super) struct Tap<S> {
    pub stream: S,
    pub tapped: Tapped,
}

impl<S: AsyncRead + Unpin> AsyncRead for Tap<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.tapped.lock().expect("no panic in the server").extend_from_slice(&buffer.filled()[before..]);
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Tap<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
