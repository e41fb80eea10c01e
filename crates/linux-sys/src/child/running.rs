//! A child that was started and not yet waited for.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::command::Lifetime;
use super::{ChildError, descendants};

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Exited(i32),
    Signalled(i32),
}

impl Ended {
    pub fn success(self) -> bool {
        self == Self::Exited(0)
    }

    /// The status a shell would give: 128 and the number for a signal.
    pub fn shell_status(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled(signal) => 128 + signal,
        }
    }
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exited(code),
            (None, Some(signal)) => Self::Signalled(signal),
            (None, None) => unreachable!("a child that was waited for has exited or was signalled"),
        }
    }
}

/// A running child. Its process is not reaped before this value is gone, so its number cannot mean another
/// process in the meantime.
#[derive(Debug)]
pub struct Running {
    child: Child,
    pid: Pid,
    pidfd: OwnedFd,
    pub(super) program: PathBuf,
    /// What is left to do when the value is dropped.
    on_drop: OnDrop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnDrop {
    Kill,
    Leave,
}

impl Running {
    pub(super) fn new(mut child: Child, program: PathBuf, lifetime: Lifetime) -> Result<Self, ChildError> {
        let pid = Pid::from_child(&child);
        let pidfd = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(error) => {
                // Without a handle there is no safe way to wait with a deadline.
                let _ = child.kill();
                let _ = child.wait();
                return Err(ChildError::NotStarted { program, cause: error.into() });
            }
        };
        let on_drop = match lifetime {
            Lifetime::Bound => OnDrop::Kill,
            Lifetime::Detached => OnDrop::Leave,
        };
        Ok(Self { child, pid, pidfd, program, on_drop })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Becomes readable when the child has ended.
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Waits for the child itself; what it left running in its session is killed afterwards if it is bound.
    pub fn wait(mut self) -> io::Result<Ended> {
        // Not `Child::wait`, which reaps: the group is killed by number, and only a child that has not been
        // reaped keeps that number from meaning somebody else.
        let mut ready = [rustix::event::PollFd::new(&self.pidfd, rustix::event::PollFlags::IN)];
        while let Err(error) = rustix::event::poll(&mut ready, None) {
            if error != rustix::io::Errno::INTR {
                return Err(error.into());
            }
        }
        if self.on_drop == OnDrop::Kill {
            descendants::kill(self.pid);
        }
        self.reap()
    }

    /// Kills the child and everything below it, and waits for it.
    pub fn kill(mut self) -> io::Result<Ended> {
        descendants::kill(self.pid);
        self.reap()
    }

    fn reap(&mut self) -> io::Result<Ended> {
        self.on_drop = OnDrop::Leave;
        self.child.wait().map(Ended::from)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.on_drop == OnDrop::Kill {
            descendants::kill(self.pid);
            let _ = self.child.wait();
        }
    }
}
