//! Whether a client that waits for an answer is still there.
//!
//! An answer may be silent for hours, and a client that left meanwhile would only be noticed when there is something to
//! write; until then the upstream works for nobody. So whoever waits on behalf of a client of HTTP/1.1 looks at the
//! client's connection as well:
//!
//! - It was reset, or ended within TLS without a word of farewell (`close_notify`): the client is gone.
//! - It ended in due form. That is what a client does that has said all it wants to say and goes on listening, and also
//!   what the kernel does for a client that was closed; both look the same from here (a FIN). The answer goes on, and
//!   the kernel is told to ask now and then whether anybody is there: the kernel of a client that listens says yes, that
//!   of one that closed its socket says no as soon as it has forgotten it, which takes a minute. Who can write
//!   something harmless does so, and has the answer at once.
//! - The client said more: that is its next request, which is kept until this one is answered.
//!
//! Nothing of this is a system call while a client is silent. Over HTTP/2 no end leaves half of a connection, and the
//! HTTP library sees it by itself.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::net::sockopt;
use tokio::io::{AsyncRead, Interest, ReadBuf};
use tokio::net::TcpStream;

/// As much of further requests as is read before the first one is answered.
const MOST_AHEAD: usize = 64 * 1024;
const PIECE: usize = 4 * 1024;
/// How often somebody who has said all is asked for a sign of life.
const ASKED_EVERY: Duration = Duration::from_secs(10);
const ASKED_IN_VAIN: u32 = 3;

/// A connection that comes down to a socket.
pub(crate) trait Socket {
    fn socket(&self) -> &TcpStream;
}

impl Socket for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }
}

/// What is known of the client of one connection.
#[derive(Default)]
pub(crate) struct Presence {
    /// What it has said since the request that is being answered.
    ahead: Vec<u8>,
    /// Set when it has said all: until its connection is no more.
    departure: Option<Departure>,
}

type Departure = Pin<Box<dyn Future<Output = io::Error> + Send>>;

/// What became of a client.
pub(crate) enum Seen {
    Gone(io::Error),
    /// It has said all it wants to say, or is gone. Told once.
    SaidAll,
    /// It has said more.
    More,
}

impl Presence {
    /// What the client said meanwhile.
    pub fn take_ahead(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.ahead)
    }

    /// To be polled while there is nothing to write.
    pub fn poll<S>(&mut self, stream: &mut S, context: &mut Context<'_>) -> Poll<Seen>
    where
        S: AsyncRead + Socket + Unpin,
    {
        if let Some(departure) = &mut self.departure {
            return departure.as_mut().poll(context).map(Seen::Gone);
        }
        if self.ahead.len() >= MOST_AHEAD {
            return Poll::Pending;
        }
        // Before anything has come this costs next to nothing, and reading would not.
        if let Err(error) = ready!(stream.socket().poll_read_ready(context)) {
            return Poll::Ready(Seen::Gone(error));
        }
        let mut piece = [0; PIECE];
        let mut piece = ReadBuf::new(&mut piece);
        if let Err(error) = ready!(Pin::new(&mut *stream).poll_read(context, &mut piece)) {
            return Poll::Ready(Seen::Gone(error));
        }
        if !piece.filled().is_empty() {
            self.ahead.extend_from_slice(piece.filled());
            return Poll::Ready(Seen::More);
        }
        Poll::Ready(match departure(stream.socket()) {
            Ok(departure) => {
                self.departure = Some(departure);
                Seen::SaidAll
            }
            Err(error) => Seen::Gone(error),
        })
    }
}

/// Until there is nobody at the other end any more, from now on with questions asked.
fn departure(socket: &TcpStream) -> io::Result<Departure> {
    sockopt::set_tcp_keepidle(socket, ASKED_EVERY)?;
    sockopt::set_tcp_keepintvl(socket, ASKED_EVERY)?;
    sockopt::set_tcp_keepcnt(socket, ASKED_IN_VAIN)?;
    sockopt::set_socket_keepalive(socket, true)?;
    // Another descriptor, because the first one is written to meanwhile.
    let watched = TcpStream::from_std(rustix::io::fcntl_dupfd_cloexec(socket, 0)?.into())?;
    Ok(Box::pin(async move {
        match watched.ready(Interest::ERROR).await {
            Ok(_) => io::ErrorKind::ConnectionReset.into(),
            Err(error) => error,
        }
    }))
}
