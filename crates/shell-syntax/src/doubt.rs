//! Why a text could not be understood as a whole.

use std::fmt;

/// One reason why what was understood may not be all that would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// A parser does not accept the text.
    Rejected,
    /// The two parsers see different commands.
    Disagreement,
    /// The text is longer than the parsers are given.
    TooLong,
    /// It nests deeper than anything written by hand.
    TooDeep,
    /// It would run more commands than are followed.
    TooMuch,
    /// It contains bytes that no shell text contains.
    ControlCharacters,
    /// A text is run as shell commands and is not known.
    UnknownScript,
    /// A loop without end starts one process after the other.
    EndlessJobs,
    /// A function starts copies of itself.
    SelfReplication,
}

impl fmt::Display for Doubt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Rejected => "it is not complete shell text",
            Self::Disagreement => "shells may disagree on what it means",
            Self::TooLong => "it is too long to be read",
            Self::TooDeep => "it nests too deeply to be read",
            Self::TooMuch => "it runs more commands than can be followed",
            Self::ControlCharacters => "it contains bytes that do not belong into a command",
            Self::UnknownScript => "it runs a text as commands that is not known before it runs",
            Self::EndlessJobs => "a loop without end starts processes without waiting for them",
            Self::SelfReplication => "a function starts copies of itself without end",
        })
    }
}
