//! The exit statuses of the program, all in one place.
//!
//! Small numbers are answers (`approvals check` and `read-guard` give theirs with them), so mistakes and
//! failures use the numbers of `sysexits.h`: a typing mistake can never be read as a verdict.

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It did what was asked.
    Success,
    /// It looked, and what it found is not good: a check failed, a record does not verify.
    Found,
    /// Somebody has to be asked first. To an agent that called a hook: it is blocked.
    Ask,
    /// A guard says no.
    Denied,
    /// What was typed is wrong.
    Usage,
    /// Something outside the program failed: a file, a source, the kernel.
    Unavailable,
    /// A configuration file is wrong.
    Config,
    /// The policy says no.
    Refused,
    /// No sandbox, so no command.
    NotStarted,
    /// The status of the command that was run.
    Command(u8),
}

impl Exit {
    pub fn status(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Found => 1,
            Self::Ask => 2,
            Self::Denied => 3,
            Self::Usage => 64,
            Self::Unavailable => 69,
            Self::Refused => 77,
            Self::Config => 78,
            Self::NotStarted => 125,
            Self::Command(status) => status,
        }
    }
}
