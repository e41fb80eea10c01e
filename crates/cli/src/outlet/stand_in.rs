//! Answers clients while no worker is there: a status of its own with a reason, so that nobody takes it for a wrong
//! key. Nothing that a client says is looked at, but for the first byte, which tells what it understands.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

const HANDSHAKE: u8 = 0x16;
/// A fatal alert, "internal error".
const ALERT: &[u8] = &[0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 80];
const ANSWER: &[u8] = b"HTTP/1.1 502 Bad Gateway\r\ncofferdam-reason: proxy-restarting\r\n\
    content-type: text/plain; charset=utf-8\r\ncontent-length: 68\r\nretry-after: 1\r\nconnection: close\r\n\r\n\
    cofferdam: the proxy is being started again; try again in a moment.\n";
/// For how long a client is listened to, before and after the answer.
const PATIENCE: Duration = Duration::from_secs(2);
const MOST: usize = 256;
const DNS_HEAD: usize = 12;
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

    /// Tells who asks for names that nobody knows any now, so that they do not wait for an answer.
    pub fn answer_names(socket: &UdpSocket) {
        let mut packet = [0; 512];
        for _ in 0..AT_ONCE {
            let Ok((length, from)) = socket.recv_from(&mut packet) else { return };
            if let Some(answer) = no_name(&mut packet[..length]) {
                // Whoever is gone does not wait either.
                let _ = socket.send_to(answer, from);
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

    /// Sees everybody off who was taken over: within [`PATIENCE`] each has heard the answer or is let go.
    pub fn finish(&mut self) {
        while let Some(deadline) = self.deadline() {
            let mut awaited: Vec<PollFd<'_>> =
                self.streams().map(|stream| PollFd::from_borrowed_fd(stream, PollFlags::IN)).collect();
            let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok();
            if poll(&mut awaited, left.as_ref()).is_err_and(|error| error != Errno::INTR) {
                self.waiting.clear();
            }
            self.attend(Instant::now());
        }
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

/// The question made an answer: the server has failed. Nothing if it is no question.
fn no_name(packet: &mut [u8]) -> Option<&[u8]> {
    let mut end = DNS_HEAD;
    loop {
        match usize::from(*packet.get(end)?) {
            0 => break,
            label => end += label + 1,
        }
    }
    // The end of the name, its type and its class.
    let answer = packet.get_mut(..end + 5)?;
    let is_answer = answer[2] & 0x80 != 0;
    answer[2] |= 0x80;
    answer[3] = 2;
    answer[6..DNS_HEAD].fill(0);
    (!is_answer).then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_becomes_an_answer_and_anything_else_nothing() {
        let mut question = b"\x12\x34\x01\x20\0\x01\0\0\0\0\0\x01\x01a\0\0\x01\0\x01rest".to_vec();
        let answer = no_name(&mut question).unwrap();
        assert_eq!(answer, b"\x12\x34\x81\x02\0\x01\0\0\0\0\0\0\x01a\0\0\x01\0\x01");
        let mut again = answer.to_vec();
        assert_eq!(no_name(&mut again), None);
        for cut in 0..19 {
            assert_eq!(no_name(&mut question[..cut]), None, "{cut}");
        }
        assert_eq!(no_name(&mut [255; 512]), None);
    }

    #[test]
    fn req_e20_whoever_was_taken_over_is_seen_off() {
        let door = TcpListener::bind("127.0.0.1:0").unwrap();
        door.set_nonblocking(true).unwrap();
        let mut client = TcpStream::connect(door.local_addr().unwrap()).unwrap();
        let mut stand_in = StandIn::default();
        stand_in.accept(&door, Instant::now());
        let asking = std::thread::spawn(move || {
            client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            let mut told = String::new();
            client.read_to_string(&mut told).unwrap();
            told
        });
        stand_in.finish();
        assert!(asking.join().unwrap().contains("proxy-restarting"));
        assert_eq!(stand_in.deadline(), None);
    }

    #[test]
    fn the_answer_is_as_long_as_it_says() {
        let text = std::str::from_utf8(ANSWER).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{}", body.len());
    }
}
