//! Answers that the first process gives by itself. Whoever waits for the end of a command and is told nothing but its
//! status need not wait until the launcher has been woken, too: to wake somebody takes as long as to start a small program.
//!
//! The launcher hears of it in a place that wakes nobody, and looks there before it does anything else. It is told there
//! first, so that whoever has the answer finds a launcher that knows.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec};

use crate::channel::Channel;
use crate::messages::{Ended, FromSandbox};

#[derive(Debug, Default)]
pub struct Answers {
    quiet: Option<Quiet>,
    waiting: BTreeMap<u64, Waiting>,
}

/// What the launcher has handed over for it.
#[derive(Debug)]
struct Quiet {
    channel: Channel,
    /// Can be read while the launcher has something to add.
    more_to_say: OwnedFd,
}

/// Somebody who waits, and what is sent in front of the status.
#[derive(Debug)]
struct Waiting {
    connection: Channel,
    head: Vec<u8>,
}

impl Answers {
    pub fn open(&mut self, descriptors: Vec<OwnedFd>) {
        if let Ok([channel, more_to_say]) = <[OwnedFd; 2]>::try_from(descriptors) {
            self.quiet = Some(Quiet { channel: Channel::from_connected(channel), more_to_say });
        }
    }

    pub fn expect(&mut self, command: u64, connection: OwnedFd, head: Vec<u8>) {
        self.waiting.insert(command, Waiting { connection: Channel::from_connected(connection), head });
    }

    pub fn forget(&mut self, command: u64) {
        self.waiting.remove(&command);
    }

    /// Whether the one who waits for this command was answered; if not, the launcher does it.
    pub fn give(&mut self, id: u64, how: Ended) -> bool {
        let (Some(Waiting { connection, mut head }), Some(quiet)) = (self.waiting.remove(&id), &self.quiet)
        else {
            return false;
        };
        let Ended::Exited(code) = how else { return false };
        let Ok(status) = u8::try_from(code) else { return false };
        let news = FromSandbox::Ended { id, how, met: None, held: Vec::new() };
        if quiet.has_more_to_say() || quiet.channel.send(&news, &[]).is_err() {
            return false;
        }
        head.push(status);
        // One who is gone does not want to know.
        let _ = connection.send_bytes(&head);
        true
    }
}

impl Quiet {
    fn has_more_to_say(&self) -> bool {
        let mut raised = [PollFd::new(&self.more_to_say, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut raised, Some(&at_once)) != Ok(0)
    }
}

/// Both ends of the quiet place, which nobody waits at.
pub fn quiet_pair() -> io::Result<(Channel, Channel)> {
    let (here, there) = Channel::pair()?;
    rustix::io::ioctl_fionbio(&here, true)?;
    rustix::io::ioctl_fionbio(&there, true)?;
    Ok((here, there))
}
