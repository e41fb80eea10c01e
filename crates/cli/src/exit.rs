//! The exit statuses of the program, all in one place.
//!
//! Small numbers are answers (`approvals check` and `read-guard` give theirs with them), so mistakes and
//! failures use the numbers of `sysexits.h`: a typing mistake can never be read as a verdict.

use std::process::ExitCode;

/// How the program ends when it does not end with the status of a command that it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// It did what was asked.
    Success = 0,
    /// It looked, and what it found is not good: a check failed, a record does not verify.
    Found = 1,
    /// Somebody has to be asked first. To an agent that called a hook: it is blocked.
    Ask = 2,
    /// A guard says no.
    Denied = 3,
    /// What was typed is wrong.
    Usage = 64,
    /// Something outside the program failed: a file, a source, the kernel.
    Unavailable = 69,
    /// A configuration file is wrong.
    Config = 78,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
