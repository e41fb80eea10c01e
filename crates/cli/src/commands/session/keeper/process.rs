//! One command of a session, as its keeper knows it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rustix::io::Errno;

use super::log::Log;
use crate::commands::approved_bytes::ApprovedBytes;
use crate::commands::run::outcome;
use crate::commands::run::supervise::How;
use crate::commands::session::protocol::{Kind, ProcessStatus};

#[derive(Debug)]
pub struct Process {
    pub command: String,
    pub role: Role,
    pub started: u64,
    /// When it is asked to end, and when it is ended.
    pub deadline: Option<Instant>,
    pub timed_out: bool,
    pub how: Option<How>,
    /// The file in which a shell leaves what the next one starts with.
    pub account: Option<OwnedFd>,
    /// What was approved, in place until it has ended.
    pub approved: Option<Rc<ApprovedBytes>>,
    /// What is to be typed as soon as its terminal is there.
    pub typed: Vec<u8>,
}

#[derive(Debug)]
pub enum Role {
    Foreground {
        client: u64,
    },
    Background {
        output: Option<OwnedFd>,
        log: Log,
    },
    Terminal {
        /// None until it has started, and after its last process has ended.
        controller: Option<OwnedFd>,
        /// What was written while nobody was attached.
        log: Log,
        client: Option<u64>,
    },
}

impl Process {
    pub fn new(command: String, role: Role) -> Self {
        Self {
            command,
            role,
            started: seconds(SystemTime::now()),
            deadline: None,
            timed_out: false,
            how: None,
            account: None,
            approved: None,
            typed: Vec::new(),
        }
    }

    pub fn is_running(&self) -> bool {
        self.how.is_none()
    }

    /// Who waits for its end.
    pub fn client(&self) -> Option<u64> {
        match self.role {
            Role::Foreground { client } => Some(client),
            Role::Terminal { client, .. } => client,
            Role::Background { .. } => None,
        }
    }

    /// The descriptor that the keeper reads for it.
    pub fn output(&self) -> Option<&OwnedFd> {
        match &self.role {
            Role::Background { output, .. } => output.as_ref(),
            Role::Terminal { controller, client: None, .. } => controller.as_ref(),
            Role::Foreground { .. } | Role::Terminal { .. } => None,
        }
    }

    pub fn log(&self) -> Option<&Log> {
        match &self.role {
            Role::Background { log, .. } | Role::Terminal { log, .. } => Some(log),
            Role::Foreground { .. } => None,
        }
    }

    /// Reads what it has written, without waiting for more.
    pub fn read_output(&mut self) {
        let mut buffer = [0; 16 << 10];
        let (output, log) = match &mut self.role {
            Role::Background { output, log } => (output, log),
            Role::Terminal { controller, log, client: None } => (controller, log),
            Role::Foreground { .. } | Role::Terminal { .. } => return,
        };
        // One who writes without end must not keep the keeper from the others.
        for _ in 0..64 {
            let Some(open) = output else { return };
            match rustix::io::read(open.as_fd(), &mut buffer) {
                Ok(count) if count > 0 => log.add(&buffer[..count]),
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => *output = None,
            }
        }
    }

    pub fn status(&self, process: u64) -> ProcessStatus {
        let kind = match self.role {
            Role::Foreground { .. } => Kind::Foreground,
            Role::Background { .. } => Kind::Background,
            Role::Terminal { .. } => Kind::Terminal,
        };
        ProcessStatus {
            process,
            kind,
            command: self.command.clone(),
            started: self.started,
            running: self.is_running(),
            status: self.how.map(outcome::status),
        }
    }
}

/// Types into a terminal, all of it or nothing that matters: a terminal that nobody reads refuses.
pub fn type_all(controller: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    let mut left = bytes;
    while !left.is_empty() {
        match rustix::io::write(controller, left) {
            Ok(count) => left = &left[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Both ends of a pipe for what a background process writes; reading from it does not wait.
pub fn output_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (output, input) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&output, true)?;
    Ok((output, input))
}

pub fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
