//! A connection above TLS, of which as much is read at once as is there.
//!
//! The TLS library gives out one record at a time. Each would go through the HTTP library, the search for secrets and
//! the other connection by itself, with a system call at its end; here what has come by now goes together. Nobody waits
//! for more.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;

use crate::presence::Socket;
use crate::through::writes_go_through;

/// Three records. The HTTP library has room for a power of two, and twice as much the next time if it was filled; with this
/// it stays at 64 KiB.
const ENOUGH: usize = 48 * 1024;
const LITTLE: usize = 1024;

pub(crate) struct Filled<S> {
    stream: S,
    /// What ended the connection, if something else had to be said first.
    broken: Option<io::Error>,
}

impl<S> Filled<S> {
    pub fn new(stream: S) -> Self {
        Self { stream, broken: None }
    }

    /// After a read that found nothing, so that there is nothing to be said first.
    pub fn into_stream(self) -> S {
        self.stream
    }
}

impl<S: Socket> Socket for Filled<S> {
    fn socket(&self) -> &TcpStream {
        self.stream.socket()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Filled<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Some(error) = this.broken.take() {
            return Poll::Ready(Err(error));
        }
        let start = buffer.filled().len();
        let mut before = start;
        ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        // Who has said little has probably said all of it.
        while buffer.filled().len() - before >= LITTLE
            && buffer.filled().len() - start < ENOUGH
            && buffer.remaining() > 0
        {
            before = buffer.filled().len();
            match Pin::new(&mut this.stream).poll_read(context, buffer) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => this.broken = Some(error),
                Poll::Pending => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}

writes_go_through!(Filled);
