//! The question at a terminal.
//!
//! It is asked on the controlling terminal, never on standard input, which belongs to the command. Whatever was
//! typed before the question stood there is thrown away.

use std::fs::File;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, QueueSelector, Termios, tcflush, tcgetattr,
    tcgetpgrp, tcsetattr,
};

use super::{Asking, Reply};
use crate::gate::LOOK;
use crate::{Answer, Pending, Scope, visible};

/// The longest answer that is read; a comment is a sentence.
const LONGEST: usize = 4096;

/// The controlling terminal of this process.
#[derive(Debug)]
pub struct Terminal {
    device: File,
    /// The lock of whose turn it is.
    lock: String,
}

impl Terminal {
    /// `None` when there is none, or when this process is in its background and would be stopped by asking.
    pub fn find() -> Option<Self> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let device = File::from(rustix::fs::open("/dev/tty", flags, Mode::empty()).ok()?);
        let foreground = tcgetpgrp(&device).ok()?;
        // `/dev/tty` has one number for everybody; the session tells the terminals apart.
        let session = rustix::process::getsid(None).ok()?;
        let lock = format!("terminal-{}", session.as_raw_nonzero());
        (foreground == rustix::process::getpgrp()).then_some(Self { device, lock })
    }

    pub(super) fn ask(&self, asking: &Asking<'_>, answered: &mut dyn FnMut() -> bool) -> Reply {
        // One question at a time: of two processes that read from one terminal, either may get the answer that
        // was meant for the other.
        let turn = loop {
            match asking.broker.directory().try_lock(&self.lock) {
                Ok(Some(turn)) => break turn,
                Ok(None) if answered() => return Reply::Elsewhere,
                Ok(None) if Instant::now() >= asking.deadline => return Reply::Expired,
                Ok(None) => std::thread::sleep(LOOK),
                Err(_) => return Reply::Lost,
            }
        };
        let reply = self.alone(asking.question, asking.deadline, answered);
        drop(turn);
        reply
    }

    fn alone(&self, question: &Pending, deadline: Instant, answered: &mut dyn FnMut() -> bool) -> Reply {
        let Ok(cooked) = Cooked::set(&self.device) else { return Reply::Lost };
        let reply = self.converse(question, deadline, answered);
        drop(cooked);
        let last = match &reply {
            Reply::Said(Answer::Allow { scope: Scope::Once }) => "allowed once",
            Reply::Said(Answer::Allow { scope: Scope::Session }) => "allowed for this session",
            Reply::Said(Answer::Allow { scope: Scope::Always }) => "allowed from now on",
            Reply::Said(Answer::Deny { .. }) => "denied",
            Reply::Elsewhere => "\nanswered in another place",
            Reply::Expired => "\nnot answered in time: not allowed",
            Reply::Lost => return reply,
        };
        // The answer holds even if the terminal is gone by now.
        let _ = self.write(&format!("{last}\n"));
        reply
    }

    fn converse(&self, question: &Pending, deadline: Instant, answered: &mut dyn FnMut() -> bool) -> Reply {
        if self.write(&text(question)).is_err() || tcflush(&self.device, QueueSelector::IFlush).is_err() {
            return Reply::Lost;
        }
        if self.write(prompt(question)).is_err() {
            return Reply::Lost;
        }
        let mut line = Vec::new();
        loop {
            if answered() {
                return Reply::Elsewhere;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Reply::Expired;
            }
            match self.more(&mut line, left.min(LOOK)) {
                Heard::Nothing => {}
                Heard::Gone => return Reply::Lost,
                Heard::Line => return Reply::Said(meant(&line, question.can_be_kept)),
            }
        }
    }

    fn more(&self, line: &mut Vec<u8>, wait: Duration) -> Heard {
        let mut ready = [PollFd::new(&self.device, PollFlags::IN)];
        let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos().min(100_000_000)) };
        match poll(&mut ready, Some(&wait)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Heard::Nothing,
            Ok(_) => {}
            Err(_) => return Heard::Gone,
        }
        let mut buffer = [0; 512];
        match (&self.device).read(&mut buffer) {
            // The end of input typed on an empty line, or the terminal hung up.
            Ok(0) => Heard::Gone,
            Ok(read) => {
                line.extend_from_slice(&buffer[..read]);
                if line.contains(&b'\n') || line.len() > LONGEST { Heard::Line } else { Heard::Nothing }
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Heard::Nothing,
            Err(_) => Heard::Gone,
        }
    }

    /// Waits where the terminal is slow: the descriptor is non-blocking for the sake of reading.
    fn write(&self, text: &str) -> std::io::Result<()> {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            match (&self.device).write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    let mut ready = [PollFd::new(&self.device, PollFlags::OUT)];
                    let second = Timespec { tv_sec: 5, tv_nsec: 0 };
                    if poll(&mut ready, Some(&second))? == 0 {
                        return Err(error);
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

enum Heard {
    Nothing,
    Line,
    Gone,
}

/// A terminal that echoes and gives whole lines, whatever it did before; put back when dropped.
struct Cooked<'t> {
    device: &'t File,
    before: Termios,
}

impl<'t> Cooked<'t> {
    fn set(device: &'t File) -> rustix::io::Result<Self> {
        let before = tcgetattr(device)?;
        let mut wanted = before.clone();
        wanted.input_modes |= InputModes::ICRNL;
        wanted.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
        wanted.local_modes |= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        tcsetattr(device, OptionalActions::Flush, &wanted)?;
        Ok(Self { device, before })
    }
}

impl Drop for Cooked<'_> {
    fn drop(&mut self) {
        // A terminal that is gone has nothing to be put back.
        let _ = tcsetattr(self.device, OptionalActions::Now, &self.before);
    }
}

/// The whole command first, then why it is asked, so that the reasons stand right above the question however long
/// the command is.
fn text(question: &Pending) -> String {
    let mut text = String::from("\nAn agent wants to run this:\n\n");
    for line in visible::lines(&question.command) {
        text.push_str(&format!("  \u{2502} {line}\n"));
    }
    text.push_str(&format!(
        "\n  in {} (session {}, {})\n",
        visible::one_line(&question.directory),
        visible::one_line(&question.session),
        visible::one_line(&question.kind)
    ));
    for reason in &question.reasons {
        text.push_str(&format!("  ! {}\n", visible::one_line(reason)));
    }
    text
}

fn prompt(question: &Pending) -> &'static str {
    if question.can_be_kept {
        "Allow it? y once, s this session, a always, n or a reason why not [n]: "
    } else {
        "Allow it? y once, n or a reason why not [n]: "
    }
}

/// Only the words that were offered are a yes. Everything else is a no, and what was typed is its reason.
fn meant(line: &[u8], can_be_kept: bool) -> Answer {
    let line = String::from_utf8_lossy(line);
    let line = line.split('\n').next().unwrap_or_default().trim();
    let allow = |scope| Answer::Allow { scope };
    match line.to_ascii_lowercase().as_str() {
        "y" | "yes" => allow(Scope::Once),
        "s" if can_be_kept => allow(Scope::Session),
        "a" if can_be_kept => allow(Scope::Always),
        "" | "n" | "no" | "s" | "a" => Answer::Deny { comment: None },
        _ => {
            let said = line.strip_prefix("n ").unwrap_or(line).trim();
            Answer::Deny { comment: Some(said.to_owned()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_offered_is_a_yes() {
        assert_eq!(meant(b"y\n", true), Answer::Allow { scope: Scope::Once });
        assert_eq!(meant(b" A \n", true), Answer::Allow { scope: Scope::Always });
        for no in [&b"\n"[..], b"n\n", b"a\n", b"s\n"] {
            assert_eq!(meant(no, false), Answer::Deny { comment: None });
        }
        let comment = Some("use the staging database".to_owned());
        assert_eq!(meant(b"n use the staging database\n", true), Answer::Deny { comment });
        assert_eq!(meant(b"yy\n", true), Answer::Deny { comment: Some("yy".into()) });
        assert_eq!(meant(b"\x7fy\xff\n", true), Answer::Deny { comment: Some("\u{7f}y\u{fffd}".into()) });
    }
}
