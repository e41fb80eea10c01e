//! Answers clients while no worker is there: a status of its own with a reason, so that nobody takes it for a wrong
//! key. Nothing that a client says is looked at, but for the first byte, which tells what it understands.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

const HANDSHAKE: u8 = 0x16;
/// A fatal alert, "internal error".
const ALERT: &[u8] = &[0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 80];
const ANSWER: &[u8] = b"HTTP/1.1 502 Bad Gateway\r\ncofferdam-reason: proxy-restarting\r\n\
    content-type: text/plain; charset=utf-8\r\ncontent-length: 68\r\nretry-after: 1\r\nconnection: close\r\n\r\n\
    cofferdam: the proxy is being started again; try again in a moment.\n";
/// For how long a client is listened to, before and after the answer.
const PATIENCE: Duration = Duration::from_secs(2);
const MOST: usize = 256;
const AT_ONCE: usize = 32;

#[derive(Debug, Default)]
pub struct StandIn {
    waiting: Vec<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    stream: TcpStream,
    until: Instant,
    answered: bool,
}

impl StandIn {
    /// Takes over who is waiting at this door.
    pub fn accept(&mut self, door: &TcpListener, now: Instant) {
        for _ in 0..AT_ONCE {
            let Ok((stream, _)) = door.accept() else { return };
            if self.waiting.len() < MOST && stream.set_nonblocking(true).is_ok() {
                self.waiting.push(Waiting { stream, until: now + PATIENCE, answered: false });
            }
        }
    }

    pub fn streams(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.waiting.iter().map(|waiting| waiting.stream.as_fd())
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.waiting.iter().map(|waiting| waiting.until).min()
    }

    /// Answers whoever has said something, and lets those go that have heard the answer or say nothing.
    pub fn attend(&mut self, now: Instant) {
        self.waiting.retain_mut(|waiting| waiting.until > now && waiting.goes_on());
    }
}

impl Waiting {
    fn goes_on(&mut self) -> bool {
        let mut buffer = [0; 4096];
        match self.stream.read(&mut buffer) {
            Ok(0) => false,
            Ok(_) if self.answered => true,
            Ok(_) => {
                let answer = if buffer[0] == HANDSHAKE { ALERT } else { ANSWER };
                self.answered = true;
                // Half-closed and read on: closing at once could take the answer back.
                self.stream.write_all(answer).is_ok() && self.stream.shutdown(Shutdown::Write).is_ok()
            }
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_as_long_as_it_says() {
        let text = std::str::from_utf8(ANSWER).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{}", body.len());
    }
}
