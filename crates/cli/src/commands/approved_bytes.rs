//! Bytes that a person has approved, standing in a session while the command runs that they were approved for: the
//! process that puts them there (`cofferdam_sandbox::standing`), and the way to it for whoever holds the sandbox.
//!
//! It is this program anew, with an empty environment: it enters namespaces, which a process with threads cannot.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use cofferdam_linux_sys::child::{ChildCommand, Input, Lifetime, Program, Running};
use cofferdam_policy::environment::ChildEnvironment;
use cofferdam_sandbox::channel::Channel;
use cofferdam_sandbox::plan::Operation;
use cofferdam_sandbox::standing;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::Shutdown;

use crate::exit::Exit;
use crate::failure::Failure;

/// It takes a few thousandths of a second; whoever takes longer holds all others up.
const PATIENCE: Duration = Duration::from_secs(5);

/// The process's whole life. Standard input is the connection.
pub fn serve() -> Result<Exit, Failure> {
    let lost = |error: io::Error| Failure::new(Exit::Usage, format!("nobody holds a sandbox here: {error}"));
    let holder = io::stdin().as_fd().try_clone_to_owned().map(Channel::from_connected).map_err(lost)?;
    standing::serve(&holder).map_err(lost)?;
    Ok(Exit::Success)
}

/// They stand until this is dropped.
#[derive(Debug)]
pub struct ApprovedBytes {
    covers: Vec<Operation>,
    channel: Channel,
    /// Ended, and waited for, after it has said that they are gone.
    _process: Running,
}

impl ApprovedBytes {
    /// Puts them into the sandbox that has these namespaces, and waits until they are there.
    pub fn put(covers: &[Operation], namespaces: &[OwnedFd]) -> io::Result<Self> {
        let (ours, theirs) = Channel::pair()?;
        let handed: Vec<_> = namespaces.iter().map(AsFd::as_fd).collect();
        ours.send(&covers, &handed)?;
        let environment = ChildEnvironment::empty();
        let program = Program::new("/proc/self/exe").map_err(io::Error::other)?;
        let command = ChildCommand::new(program, &environment).called("cofferdam").args(["approved-bytes"]);
        let command = command.input(Input::Connection(theirs.into())).lifetime(Lifetime::Bound);
        let process = command.spawn().map_err(io::Error::other)?;
        match answer(&ours)? {
            None => Ok(Self { covers: covers.to_vec(), channel: ours, _process: process }),
            Some(why) => Err(io::Error::other(why)),
        }
    }

    /// Whether these very covers stand already.
    pub fn are(&self, covers: &[Operation]) -> bool {
        self.covers == covers
    }

    /// Whether one of these would stand over one that stands already, and keep it from being taken away.
    pub fn touch(&self, covers: &[Operation]) -> bool {
        let path = |cover: &Operation| match cover {
            Operation::Approved { path, .. } => Some(path.clone()),
            _ => None,
        };
        covers.iter().filter_map(path).any(|new| self.covers.iter().filter_map(path).any(|old| old == new))
    }
}

impl Drop for ApprovedBytes {
    /// Waits until they are gone, because the next command must see the file as it is.
    fn drop(&mut self) {
        if rustix::net::shutdown(&self.channel, Shutdown::Write).is_ok() {
            let _ = answer(&self.channel);
        }
    }
}

fn answer(channel: &Channel) -> io::Result<Option<String>> {
    let longest = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
    let mut ready = [PollFd::new(channel, PollFlags::IN)];
    match rustix::event::poll(&mut ready, Some(&longest)) {
        Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let gone = || io::Error::other("the process that puts them there has ended");
    Ok(channel.receive()?.ok_or_else(gone)?.0)
}
