//! Why a child did not run, or did not run to its end.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// None of these holds anything that the child printed.
#[derive(Debug)]
pub enum ChildError {
    /// Neither an absolute path nor a bare name.
    RelativeProgram {
        program: PathBuf,
    },
    /// A bare name, and the child's environment has no `PATH` to look it up in.
    NoSearchPath {
        program: PathBuf,
    },
    NotFound {
        program: PathBuf,
    },
    /// It is there, but it is a directory or has no execute permission. (A text file without `#!` that may
    /// be executed is given to `/bin/sh`, as by every shell.)
    NotExecutable {
        program: PathBuf,
    },
    /// The kernel refused the process or one of its restrictions; nothing ran.
    NotStarted {
        program: PathBuf,
        cause: io::Error,
    },
    /// The deadline came first; the child and everything below it were killed.
    TimedOut {
        program: PathBuf,
        timeout: Duration,
    },
    /// Talking to the running child failed; it was killed.
    Lost {
        program: PathBuf,
        cause: io::Error,
    },
}

impl ChildError {
    /// The status a shell would give: 127 not found, 126 not executable, 124 timed out, 125 anything else.
    pub fn shell_status(&self) -> u8 {
        match self {
            Self::NotFound { .. } | Self::NoSearchPath { .. } => 127,
            Self::NotExecutable { .. } => 126,
            Self::TimedOut { .. } => 124,
            Self::RelativeProgram { .. } | Self::NotStarted { .. } | Self::Lost { .. } => 125,
        }
    }
}

impl fmt::Display for ChildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RelativeProgram { program } => {
                write!(f, "{} is neither an absolute path nor a bare name", program.display())
            }
            Self::NoSearchPath { program } => {
                write!(f, "{} cannot be looked up: the child has no PATH", program.display())
            }
            Self::NotFound { program } => write!(f, "{} was not found", program.display()),
            Self::NotExecutable { program } => write!(f, "{} is not executable", program.display()),
            Self::NotStarted { program, cause } => {
                write!(f, "{} could not be started: {cause}", program.display())
            }
            Self::TimedOut { program, timeout } => {
                write!(f, "{} did not end within {timeout:?} and was killed", program.display())
            }
            Self::Lost { program, cause } => {
                write!(f, "{} was killed because reading from it failed: {cause}", program.display())
            }
        }
    }
}

impl std::error::Error for ChildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NotStarted { cause, .. } | Self::Lost { cause, .. } => Some(cause),
            _ => None,
        }
    }
}
