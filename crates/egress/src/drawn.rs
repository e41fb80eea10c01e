//! A connection below TLS: its first bytes may have been read already, and what comes in bulk is read in bulk.
//!
//! The TLS library asks for 4 KiB at a time, whatever waits in the kernel. That is right for requests, and four system
//! calls for every record of a large body. So whoever fills what was asked for is read from in larger pieces, as long
//! as there is more; the room for them is given back as soon as there is none, because most connections are idle.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::net::TcpStream;

use crate::presence::Socket;
use crate::through::writes_go_through;

/// Four records, which is also what the library encrypts at once.
const BULK: usize = 64 * 1024;
/// Who is given less room than this cannot tell much from its being filled.
const LITTLE: usize = 4096;

pub(crate) struct Drawn<S> {
    stream: S,
    /// What was read and not passed on, after the first `passed` bytes.
    before: Vec<u8>,
    passed: usize,
    /// The last read was as large as it could be, so that there is probably more.
    more: bool,
}

impl<S> Drawn<S> {
    /// `before` was read already.
    pub fn new(stream: S, before: Vec<u8>) -> Self {
        Self { stream, before, passed: 0, more: false }
    }

    fn pass(&mut self, buffer: &mut ReadBuf<'_>) {
        let rest = &self.before[self.passed..];
        let count = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..count]);
        self.passed += count;
        if self.passed == self.before.len() {
            self.passed = 0;
            match self.more {
                true => self.before.clear(),
                false => self.before = Vec::new(),
            }
        }
    }
}

impl Socket for Drawn<TcpStream> {
    fn socket(&self) -> &TcpStream {
        &self.stream
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Drawn<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.before.is_empty() && !this.more {
            let room = buffer.remaining();
            ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
            this.more = room >= LITTLE && buffer.remaining() == 0;
            return Poll::Ready(Ok(()));
        }
        if this.before.is_empty() {
            this.before.reserve_exact(BULK);
            let read = pin!(this.stream.read_buf(&mut this.before)).poll(context);
            this.more = matches!(read, Poll::Ready(Ok(count)) if count >= LITTLE);
            if !matches!(read, Poll::Ready(Ok(1..))) {
                this.before = Vec::new();
            }
            ready!(read)?;
        }
        this.pass(buffer);
        Poll::Ready(Ok(()))
    }
}

writes_go_through!(Drawn);
