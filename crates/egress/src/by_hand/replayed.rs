//! An answer that turned out to be the library's to read, after its request was sent.
//!
//! The library reads no answer to a question that it did not ask, so it asks again, and nobody hears it: what it
//! writes is dropped until the next request, which is really its own. What came of the answer is read before the rest.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(super) struct Replayed<S> {
    stream: S,
    before: Bytes,
    /// Shared with who sends the next request.
    muted: Arc<AtomicBool>,
    asked: bool,
    /// Waits for the question, before which an answer would be none.
    reader: Option<Waker>,
}

impl<S> Replayed<S> {
    pub fn new(stream: S, before: Bytes) -> (Self, Arc<AtomicBool>) {
        let muted = Arc::new(AtomicBool::new(true));
        (Self { stream, before, muted: muted.clone(), asked: false, reader: None }, muted)
    }

    fn is_muted(&self) -> bool {
        self.muted.load(Ordering::Acquire)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Replayed<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.asked {
            this.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        if this.before.is_empty() {
            return Pin::new(&mut this.stream).poll_read(context, buffer);
        }
        let count = this.before.len().min(buffer.remaining());
        buffer.put_slice(&this.before.split_to(count));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Replayed<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if !this.is_muted() {
            return Pin::new(&mut this.stream).poll_write(context, bytes);
        }
        this.asked = true;
        if let Some(reader) = this.reader.take() {
            reader.wake();
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        match this.is_muted() {
            true => Poll::Ready(Ok(())),
            false => Pin::new(&mut this.stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
