//! The calling side of a connection, one call at a time.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};

use crate::door;
use crate::frame::{Arrived, Decoder, encode};
use crate::message::{Request, Response};

/// The other side is gone, or speaks something else.
#[derive(Debug)]
pub struct Lost;

/// A connection to whoever answers calls.
#[derive(Debug)]
pub struct Client {
    stream: OwnedFd,
    decoder: Decoder,
    buffer: Vec<u8>,
    next: u64,
}

/// Bytes that are read at once.
const CHUNK: usize = 16 << 10;

impl Client {
    /// Makes a connection and hands its other end in by a door.
    pub fn through(door: BorrowedFd<'_>) -> io::Result<Self> {
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        door::hand_in(door, theirs.as_fd())?;
        Ok(Self::over(ours))
    }

    /// A connection that somebody else has made.
    pub fn over(stream: OwnedFd) -> Self {
        Self { stream, decoder: Decoder::default(), buffer: vec![0; CHUNK], next: 1 }
    }

    /// Calls a tool and waits for the answer to that call.
    pub fn call(
        &mut self,
        tool: &str,
        arguments: serde_json::Map<String, serde_json::Value>,
    ) -> Result<Response, Lost> {
        let id = self.next;
        self.next += 1;
        let request = Request { id, tool: tool.to_owned(), arguments, soon: false };
        let body = serde_json::to_vec(&request).map_err(|_| Lost)?;
        send_all(self.stream.as_fd(), &encode(&body).ok_or(Lost)?).map_err(|_| Lost)?;
        loop {
            match self.decoder.pull() {
                Some(Arrived::Body(body)) => {
                    let response: Response = serde_json::from_slice(&body).map_err(|_| Lost)?;
                    return if response.id == Some(id) { Ok(response) } else { Err(Lost) };
                }
                Some(Arrived::TooLarge { .. }) => return Err(Lost),
                None => {}
            }
            match door::receive_bytes(self.stream.as_fd(), &mut self.buffer) {
                Ok(bytes) if bytes > 0 => self.decoder.push(&self.buffer[..bytes]),
                _ => return Err(Lost),
            }
        }
    }
}

/// Sends all of it. A reader that is gone is an error, not a signal.
pub(crate) fn send_all(socket: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::net::send(socket, bytes, SendFlags::NOSIGNAL) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
