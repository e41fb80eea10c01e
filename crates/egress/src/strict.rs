//! A client's connection with the strict reader of heads in front of the HTTP library.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::early::Early;
use crate::head::{Scanner, Violation};
use crate::presence::{Presence, Seen, Socket};
use crate::serve::Inbound;
use crate::vigil::{Late, Vigil};

/// Stands in for a head that was refused, so that the client gets an answer in due form. Whoever answers looks at
/// [`Verdict::violation`] first.
const REFUSED: &[u8] = b"GET / HTTP/1.1\r\nhost: refused.invalid\r\nconnection: close\r\n\r\n";

/// What the reader and whoever answers the requests tell each other.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    violation: OnceLock<Violation>,
    switched: AtomicBool,
    resting: AtomicBool,
    /// What comes before the answer to the request that is under way.
    pub early: Early,
}

impl Verdict {
    pub fn violation(&self) -> Option<Violation> {
        self.violation.get().copied()
    }

    /// From the next byte on the connection speaks something else.
    pub fn switch_protocol(&self) {
        self.switched.store(true, Ordering::Release);
    }

    /// Whether the library waits for the first byte of a request, has been given no part of it, and has nothing left to
    /// write.
    pub fn is_resting(&self) -> bool {
        self.resting.load(Ordering::Relaxed)
    }
}

/// Passes on what the scanner has let through.
pub(crate) struct Strict<S> {
    stream: S,
    scanner: Scanner,
    /// Bytes that were read: those before `vetted` may be passed on, the rest is the start of a head.
    held: Vec<u8>,
    vetted: usize,
    verdict: Arc<Verdict>,
    vigil: Vigil,
    /// Something was written and is not known to have left.
    unsent: bool,
    presence: Presence,
}

impl<S> Strict<S> {
    /// `before` was read already.
    pub fn new(stream: S, before: Vec<u8>, inbound: &Arc<Inbound>) -> Self {
        let (verdict, vigil) = (inbound.verdict.clone(), Vigil::new(inbound.clone()));
        let (scanner, presence) = (Scanner::START, Presence::default());
        let mut strict =
            Self { stream, scanner, held: before, vetted: 0, verdict, vigil, unsent: false, presence };
        if !strict.held.is_empty() {
            strict.vet();
        }
        strict
    }

    /// Finds out how much of what is held may be passed on, and whether what follows must be refused.
    fn vet(&mut self) {
        if self.switched() {
            self.vetted = self.held.len();
            return;
        }
        match self.scanner.scan(&self.held) {
            Ok(0) => self.vigil.head_began(),
            Ok(count) => self.vetted = count,
            Err(violation) => self.refuse(violation),
        }
    }

    fn refuse(&mut self, violation: Violation) {
        // Inside a body there is no place for an answer: what the library sees is a connection that broke.
        let answerable = self.scanner.between_requests();
        self.held = if answerable { REFUSED.to_vec() } else { Vec::new() };
        self.vetted = self.held.len();
        let _ = self.verdict.violation.set(violation);
    }

    /// Nothing came: a head that is late is refused like one that is wrong, and a client that has none is left.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match ready!(self.vigil.poll(context)) {
            Late::Head => self.refuse(Violation::Late),
            Late::Request => return Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
        }
        Poll::Ready(Ok(()))
    }

    fn switched(&self) -> bool {
        self.scanner.between_requests() && self.verdict.switched.load(Ordering::Acquire)
    }

    fn rests(&self) -> bool {
        self.scanner.between_requests() && self.held.is_empty() && !self.unsent && !self.switched()
    }

    /// The connection, of which nothing is held back while [`Verdict::is_resting`].
    pub fn into_stream(self) -> S {
        self.stream
    }

    /// Takes what was read while somebody waited for an answer.
    fn take_ahead(&mut self) {
        let ahead = self.presence.take_ahead();
        if ahead.is_empty() {
            return;
        }
        self.held.extend_from_slice(&ahead);
        if self.vetted == 0 {
            self.vet();
        }
    }

    fn hand_over(&mut self, buffer: &mut ReadBuf<'_>) {
        let count = self.vetted.min(buffer.remaining());
        buffer.put_slice(&self.held[..count]);
        self.held.drain(..count);
        self.vetted -= count;
        if self.held.is_empty() {
            self.held = Vec::new();
        }
    }

    /// The common case, without a copy: nothing is held, and all of what was read may pass. The scanner is only
    /// moved on in that case.
    fn passes_whole(&mut self, bytes: &[u8]) -> bool {
        if self.switched() {
            return true;
        }
        let mut ahead = self.scanner.clone();
        let all = ahead.scan(bytes) == Ok(bytes.len());
        if all {
            self.scanner = ahead;
        }
        all
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Strict<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.verdict.resting.store(false, Ordering::Relaxed);
        this.take_ahead();
        loop {
            if this.vetted > 0 {
                this.hand_over(buffer);
                this.vigil.moved();
                // What was refused behind it shows at once, not when more arrives.
                if this.vetted == 0 && !this.held.is_empty() {
                    this.vet();
                }
                return Poll::Ready(Ok(()));
            }
            if let Some(violation) = this.verdict.violation() {
                return match this.scanner.between_requests() {
                    // The refusal is on its way; the answer to it closes the connection.
                    true => Poll::Pending,
                    false => Poll::Ready(Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        violation.reason().name(),
                    ))),
                };
            }
            let before = buffer.filled().len();
            let Poll::Ready(read) = Pin::new(&mut this.stream).poll_read(context, buffer) else {
                let resting = this.rests();
                this.verdict.resting.store(resting, Ordering::Relaxed);
                ready!(this.wait(context))?;
                continue;
            };
            read?;
            let read = &buffer.filled()[before..];
            if read.is_empty() || (this.held.is_empty() && this.passes_whole(read)) {
                this.vigil.moved();
                return Poll::Ready(Ok(()));
            }
            this.held.extend_from_slice(read);
            buffer.set_filled(before);
            this.vet();
        }
    }
}

impl<S: AsyncRead + Socket + Unpin> Strict<S> {
    /// Looks whether a client that has asked, and that nothing is said to just now, is still there. The library does not:
    /// it is told that half of a connection may end.
    fn attend(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.scanner.between_requests() || self.switched() || !self.vigil.sees_request() {
            return Poll::Ready(Ok(()));
        }
        loop {
            match self.presence.poll(&mut self.stream, context) {
                Poll::Pending => return Poll::Ready(Ok(())),
                Poll::Ready(Seen::Gone(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Seen::SaidAll) => {}
                // It may be what the library waits for by now.
                Poll::Ready(Seen::More) => context.waker().wake_by_ref(),
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Socket + Unpin> AsyncWrite for Strict<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.unsent = true;
        Pin::new(&mut this.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.unsent = true;
        Pin::new(&mut this.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        // The library flushes when it has written all that it has, and has nothing of an answer before these are out.
        let stream = &mut this.stream;
        let write =
            |context: &mut Context<'_>, bytes: &[u8]| Pin::new(&mut *stream).poll_write(context, bytes);
        ready!(this.verdict.early.poll_write_out(context, write))?;
        let flushed = ready!(Pin::new(&mut this.stream).poll_flush(context));
        this.unsent = flushed.is_err();
        flushed?;
        this.attend(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
