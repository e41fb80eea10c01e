//! A connection of HTTP/2 whose frames are written together.
//!
//! The library writes everything out after each frame of a body that is not tiny, as if it were the last one. Each would be
//! a record of TLS and a call of the system by itself, while the answers to a hundred requests are ready in the same
//! moment. So what it writes stays here until it has had its turn, and then leaves at once: nobody waits for company.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Four records of TLS, which is what its library encrypts at once. Who writes more than this in one turn does not wait for
/// its end.
const ENOUGH: usize = 64 * 1024;
/// What a turn usually has to say.
const USUAL: usize = 4 * 1024;

/// What the library reads and writes.
pub(crate) struct Gathered<S>(Arc<Mutex<Gathering<S>>>);

/// Where what was gathered goes out.
pub(crate) struct Outlet<S>(Arc<Mutex<Gathering<S>>>);

struct Gathering<S> {
    stream: S,
    /// What was written, of which so many bytes are gone.
    written: Vec<u8>,
    gone: usize,
    /// Something may be left in the connection below.
    unsent: bool,
    /// What went wrong while nobody asked.
    broken: Option<io::Error>,
}

pub(crate) fn gather<S>(stream: S) -> (Gathered<S>, Outlet<S>) {
    let gathering = Gathering { stream, written: Vec::new(), gone: 0, unsent: false, broken: None };
    let shared = Arc::new(Mutex::new(gathering));
    (Gathered(shared.clone()), Outlet(shared))
}

fn lock<S>(shared: &Mutex<Gathering<S>>) -> MutexGuard<'_, Gathering<S>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: AsyncWrite + Unpin> Outlet<S> {
    /// Moves a connection to its end, and what it wrote out after every turn.
    pub async fn follow<T>(self, connection: impl Future<Output = T>) -> T {
        let mut connection = pin!(connection);
        poll_fn(|context| {
            let turn = connection.as_mut().poll(context);
            let mut gathering = lock(&self.0);
            if let Poll::Ready(Err(error)) = gathering.poll_out(context) {
                // The library learns it where it asks the next time.
                gathering.broken = Some(error);
                context.waker().wake_by_ref();
            }
            turn
        })
        .await
    }
}

impl<S: AsyncWrite + Unpin> Gathering<S> {
    /// Hands everything to the connection below.
    fn poll_empty(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.gone < self.written.len() {
            self.unsent = true;
            match ready!(Pin::new(&mut self.stream).poll_write(context, &self.written[self.gone..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.gone += count,
            }
        }
        self.written.clear();
        self.gone = 0;
        Poll::Ready(Ok(()))
    }

    fn poll_out(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_empty(context))?;
        if self.unsent {
            ready!(Pin::new(&mut self.stream).poll_flush(context))?;
            self.unsent = false;
            // A connection that waits should be small.
            self.written = Vec::new();
        }
        Poll::Ready(Ok(()))
    }

    fn check(&mut self) -> io::Result<()> {
        self.broken.take().map_or(Ok(()), Err)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Gathered<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut gathering = lock(&self.0);
        gathering.check()?;
        Pin::new(&mut gathering.stream).poll_read(context, buffer)
    }
}

/// Pieces are not taken several at a time: the library then puts small ones together by itself.
impl<S: AsyncWrite + Unpin> AsyncWrite for Gathered<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut gathering = lock(&self.0);
        gathering.check()?;
        if gathering.written.len() >= ENOUGH {
            ready!(gathering.poll_empty(context))?;
        }
        let count = bytes.len().min(ENOUGH - gathering.written.len());
        if gathering.written.capacity() == 0 {
            gathering.written.reserve(USUAL.max(count));
        }
        gathering.written.extend_from_slice(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    /// The outlet does, as soon as this turn is over.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(lock(&self.0).check())
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut gathering = lock(&self.0);
        gathering.check()?;
        ready!(gathering.poll_out(context))?;
        Pin::new(&mut gathering.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
