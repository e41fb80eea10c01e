//! A connection of which the first bytes were read already.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

use crate::through::writes_go_through;

pub(crate) struct Prefixed<S> {
    stream: S,
    before: Vec<u8>,
}

impl<S> Prefixed<S> {
    pub fn new(stream: S, before: Vec<u8>) -> Self {
        Self { stream, before }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Prefixed<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.before.is_empty() {
            return Pin::new(&mut this.stream).poll_read(context, buffer);
        }
        let count = this.before.len().min(buffer.remaining());
        buffer.put_slice(&this.before[..count]);
        this.before.drain(..count);
        if this.before.is_empty() {
            this.before = Vec::new();
        }
        Poll::Ready(Ok(()))
    }
}

writes_go_through!(Prefixed);
