//! What a command in the sandbox prints: made plain, redacted, and kept as far as there is room.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use cofferdam_exec_broker::output::Kept;
use cofferdam_exec_broker::plain::Plain;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::pipe::PipeFlags;

use crate::known_secrets::KnownSecrets;

/// How long a command that has ended may leave a pipe open without saying anything more.
const SILENCE: Duration = Duration::from_millis(100);

/// A pipe and the thread that reads it.
pub struct Capture {
    reader: JoinHandle<(String, u64)>,
    /// Closed when the command has ended: what it left running may hold the pipe for ever.
    ended: OwnedFd,
}

impl Capture {
    /// Gives the end to write to.
    pub fn begin(limit: usize, secrets: &KnownSecrets) -> io::Result<(Self, OwnedFd)> {
        let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let (over, ended) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let secrets = secrets.clone();
        let reader =
            thread::Builder::new().spawn(move || take_in(&File::from(read), &over, limit, &secrets))?;
        Ok((Self { reader, ended }, write))
    }

    /// What was printed, and how much of it was cut. The writing end must be closed on this side.
    pub fn finish(self) -> (String, u64) {
        drop(self.ended);
        self.reader.join().unwrap_or_default()
    }
}

/// The order matters: a control sequence in the middle of a secret must not hide it, nor a cut in its middle.
fn take_in(pipe: &File, over: &OwnedFd, limit: usize, secrets: &KnownSecrets) -> (String, u64) {
    let (mut plain, mut redactor, mut kept) = (Plain::default(), secrets.redactor(), Kept::new(limit));
    let (mut buffer, mut cleaned, mut shown) = (vec![0; 64 << 10], Vec::new(), Vec::new());
    while let Some(read) = more(pipe, over, &mut buffer) {
        cleaned.clear();
        shown.clear();
        plain.push(&buffer[..read], &mut cleaned);
        redactor.push_all(&cleaned, &mut shown);
        kept.push(&shown);
    }
    shown.clear();
    redactor.finish(&mut shown);
    kept.push(&shown);
    kept.finish()
}

/// The next bytes; none at the end, or when the command has ended and nothing more comes.
fn more(mut pipe: &File, over: &OwnedFd, buffer: &mut [u8]) -> Option<usize> {
    let mut is_over = false;
    loop {
        let patience = Timespec { tv_sec: 0, tv_nsec: i64::from(SILENCE.subsec_nanos()) };
        let mut ready = vec![PollFd::new(pipe, PollFlags::IN)];
        if !is_over {
            ready.push(PollFd::from_borrowed_fd(over.as_fd(), PollFlags::IN));
        }
        match rustix::event::poll(&mut ready, is_over.then_some(&patience)) {
            Ok(0) => return None,
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return None,
            Ok(_) => {}
        }
        if !ready[0].revents().is_empty() {
            return match pipe.read(buffer) {
                Ok(0) | Err(_) => None,
                Ok(read) => Some(read),
            };
        }
        is_over = true;
    }
}
