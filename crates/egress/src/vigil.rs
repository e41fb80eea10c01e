//! Clients that say nothing, or say it too slowly, are not waited for.
//!
//! There is one timer for a connection, and a request does not touch it: it goes off now and then and looks whether
//! its time has really come. Nothing is measured while a request is under way, which has limits of its own.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::serve::Inbound;
use crate::through::writes_go_through;

/// Between two requests.
const LONGEST_IDLE: Duration = Duration::from_secs(300);

pub(crate) struct Vigil {
    inbound: Arc<Inbound>,
    timer: Option<Pin<Box<Sleep>>>,
    /// When the wait for a request began. A long answer is no part of it.
    idle_since: Option<Instant>,
    /// When the head began that has not arrived whole.
    head_since: Option<Instant>,
}

/// What took too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Late {
    Head,
    Request,
}

impl Vigil {
    pub fn new(inbound: Arc<Inbound>) -> Self {
        Self { inbound, timer: None, idle_since: None, head_since: None }
    }

    /// Whether a request is under way.
    pub fn sees_request(&self) -> bool {
        self.inbound.is_busy()
    }

    /// Something was read, and with it a whole head or more of a body.
    pub fn moved(&mut self) {
        (self.idle_since, self.head_since) = (None, None);
    }

    /// A part of a head was read.
    pub fn head_began(&mut self) {
        if self.head_since.is_some() {
            return;
        }
        self.head_since = Some(Instant::now());
        // The one that runs may be far longer.
        self.timer = None;
    }

    /// Ready when the client is late. To be called when there is nothing to read.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Late> {
        loop {
            let (deadline, late) = self.deadline();
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
            ready!(timer.as_mut().poll(context));
            if deadline <= Instant::now() {
                return Poll::Ready(late);
            }
            timer.as_mut().reset(deadline);
        }
    }

    fn deadline(&mut self) -> (Instant, Late) {
        match self.head_since {
            Some(since) => (since + self.inbound.client.head_timeout(), Late::Head),
            None if self.inbound.is_busy() => {
                self.idle_since = None;
                (Instant::now() + LONGEST_IDLE, Late::Request)
            }
            None => (*self.idle_since.get_or_insert_with(Instant::now) + LONGEST_IDLE, Late::Request),
        }
    }
}

/// A connection that is kept an eye on and otherwise left alone: of HTTP/2, whose frames are the library's business.
pub(crate) struct Watched<S> {
    stream: S,
    vigil: Vigil,
}

impl<S> Watched<S> {
    pub fn new(stream: S, vigil: Vigil) -> Self {
        Self { stream, vigil }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        match Pin::new(&mut this.stream).poll_read(context, buffer) {
            Poll::Ready(read) => {
                this.vigil.moved();
                Poll::Ready(read)
            }
            Poll::Pending => {
                ready!(this.vigil.poll(context));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

writes_go_through!(Watched);
