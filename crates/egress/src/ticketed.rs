//! A client's connection below TLS, on which tickets for the next one wait for the first answer.
//!
//! When the handshake is over the TLS library says at once what the client needs to resume it. That would be a system call
//! for us, and would wake a client that has to go back to sleep because its answer is not there yet. So where the client's
//! first request has come along with the end of its handshake it is kept until something else is said, and goes out in
//! front of that. Where there is nothing more to read it goes out at once: a client may hold its request back until it
//! hears that its handshake has arrived.
//!
//! What is kept is what begins as a record of encrypted data after the client has answered what we said. Nothing that
//! the client waits for looks like that: until then all that is ours begins with a handshake in the clear, if it was taken
//! whole by the kernel. Where it was not, nothing is kept.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::presence::Socket;

const ENCRYPTED: u8 = 0x17;
/// An alert is shorter, and no ticket is.
const LONGER_THAN_ALERTS: usize = 64;
/// As many pieces as the TLS library writes at once, and what was kept.
const MOST_PIECES: usize = 65;

pub(crate) struct Ticketed<S> {
    stream: S,
    stage: Stage,
    kept: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It is the client's turn to begin, or ours to answer.
    Begun,
    /// What we said was taken whole, and nothing has been read since.
    Said,
    /// The client has answered.
    Answered,
    /// Nothing is kept any more.
    Open,
}

impl<S> Ticketed<S> {
    pub fn new(stream: S) -> Self {
        Self { stream, stage: Stage::Begun, kept: Vec::new() }
    }

    /// The handshake is over: what is said from now on is for the client to read.
    pub fn open(&mut self) {
        self.stage = Stage::Open;
    }

    /// Keeps what is a ticket.
    fn keep(&mut self, pieces: &[IoSlice<'_>]) -> Option<usize> {
        let length = pieces.iter().map(|piece| piece.len()).sum();
        let first = pieces.iter().find_map(|piece| piece.first());
        let is_ticket =
            self.stage == Stage::Answered && first == Some(&ENCRYPTED) && length >= LONGER_THAN_ALERTS;
        if !is_ticket {
            return None;
        }
        pieces.iter().for_each(|piece| self.kept.extend_from_slice(piece));
        Some(length)
    }
}

impl<S: AsyncWrite + Unpin> Ticketed<S> {
    /// What was kept first, then this. How much of this was taken.
    fn poll_write_after_kept(
        &mut self,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        while !self.kept.is_empty() {
            let mut all = Vec::with_capacity(MOST_PIECES);
            all.push(IoSlice::new(&self.kept));
            all.extend(pieces.iter().take(MOST_PIECES - 1).map(|piece| IoSlice::new(piece)));
            let count = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, &all))?;
            if count == 0 {
                return Poll::Ready(Ok(0));
            }
            let beyond = count.saturating_sub(self.kept.len());
            match count >= self.kept.len() {
                true => self.kept = Vec::new(),
                false => drop(self.kept.drain(..count)),
            }
            if beyond > 0 {
                return Poll::Ready(Ok(beyond));
            }
        }
        if pieces.is_empty() {
            return Poll::Ready(Ok(0));
        }
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }
}

impl Socket for Ticketed<crate::drawn::Drawn<TcpStream>> {
    fn socket(&self) -> &TcpStream {
        self.stream.socket()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Ticketed<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        if this.stage == Stage::Said && read.is_ready() {
            this.stage = Stage::Answered;
        }
        if read.is_pending() && !this.kept.is_empty() {
            // Where there is no room now, what is said next goes out behind it.
            let _ = this.poll_write_after_kept(context, &[])?;
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Ticketed<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.stage == Stage::Open {
            return this.poll_write_after_kept(context, pieces);
        }
        if let Some(length) = this.keep(pieces) {
            return Poll::Ready(Ok(length));
        }
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        let written = this.poll_write_after_kept(context, pieces);
        this.stage = match written {
            Poll::Ready(Ok(count)) if count == length => Stage::Said,
            _ => Stage::Open,
        };
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// What was kept is nothing that anybody waits for.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const FLIGHT: &[u8] = b"\x16 as in the clear";
    const TICKET: [u8; 100] = [ENCRYPTED; 100];

    #[tokio::test]
    async fn a_ticket_goes_out_in_front_of_what_is_said_next() {
        let (ours, mut client) = duplex(1024);
        let mut stream = Ticketed::new(ours);
        stream.write_all(FLIGHT).await.expect("room");
        client.write_all(b"finished").await.expect("room");
        stream.read_exact(&mut [0; 8]).await.expect("the answer");
        stream.write_all(&TICKET).await.expect("kept");
        stream.flush().await.expect("nothing to do");
        stream.open();
        let mut heard = [0; 200];
        assert_eq!(client.read(&mut heard).await.expect("the flight"), FLIGHT.len());
        stream.write_all(b"answer").await.expect("room");
        assert_eq!(client.read(&mut heard).await.expect("both"), TICKET.len() + 6);
        assert_eq!((&heard[..100], &heard[100..106]), (&TICKET[..], &b"answer"[..]));
        stream.write_all(&TICKET).await.expect("room");
        assert_eq!(client.read(&mut heard).await.expect("at once"), TICKET.len());
    }

    /// A client whose kernel sends one small piece at a time holds its request back until it hears from us.
    #[tokio::test]
    async fn a_ticket_does_not_wait_where_there_is_nothing_to_read() {
        let (ours, mut client) = duplex(1024);
        let mut stream = Ticketed::new(ours);
        stream.write_all(FLIGHT).await.expect("room");
        client.write_all(b"finished").await.expect("room");
        stream.read_exact(&mut [0; 8]).await.expect("the answer");
        stream.write_all(&TICKET).await.expect("kept");
        stream.open();
        let mut heard = [0; 200];
        assert_eq!(client.read(&mut heard).await.expect("the flight"), FLIGHT.len());
        let mut request = [0; 7];
        let ask = async {
            assert_eq!(client.read(&mut heard).await.expect("the ticket"), TICKET.len());
            client.write_all(b"request").await.expect("room");
        };
        let ((), read) = tokio::join!(ask, stream.read_exact(&mut request));
        read.expect("the request");
    }

    #[tokio::test]
    async fn what_a_client_waits_for_is_never_kept() {
        let (ours, mut client) = duplex(1024);
        let mut stream = Ticketed::new(ours);
        let mut heard = [0; 200];
        // As a second part of the same flight, and as an alert.
        for (said, answered) in [(&FLIGHT, false), (&&TICKET[..], true), (&&TICKET[..24], false)] {
            stream.write_all(said).await.expect("room");
            assert_eq!(client.read(&mut heard).await.expect("it"), said.len());
            if answered {
                client.write_all(b"x").await.expect("room");
                stream.read_exact(&mut [0]).await.expect("the answer");
            }
        }
    }

    #[tokio::test]
    async fn where_the_kernel_has_no_room_nothing_is_kept() {
        let (ours, mut client) = duplex(8);
        let mut stream = Ticketed::new(ours);
        let mut heard = [0; 200];
        assert_eq!(stream.write(FLIGHT).await.expect("some room"), 8);
        assert_eq!(client.read(&mut heard).await.expect("a part"), 8);
        client.write_all(b"x").await.expect("room");
        stream.read_exact(&mut [0]).await.expect("something");
        assert_eq!(stream.write(&TICKET).await.expect("some room"), 8);
        assert_eq!(client.read(&mut heard).await.expect("a part"), 8);
    }

    #[tokio::test]
    async fn a_ticket_that_goes_out_in_parts_stays_in_order() {
        let (ours, mut client) = duplex(64);
        let mut stream = Ticketed::new(ours);
        stream.write_all(FLIGHT).await.expect("room");
        client.write_all(b"x").await.expect("room");
        stream.read_exact(&mut [0]).await.expect("the answer");
        stream.write_all(&TICKET).await.expect("kept");
        stream.open();
        let say = async {
            stream.write_all(b"answer").await.expect("a reader");
            drop(stream);
        };
        let mut heard = Vec::new();
        let ((), read) = tokio::join!(say, client.read_to_end(&mut heard));
        read.expect("all of it");
        assert_eq!(heard, [FLIGHT, &TICKET, b"answer"].concat());
    }
}
