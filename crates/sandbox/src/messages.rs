//! What the launcher and the first process of a sandbox say to each other.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::approved_files::ApprovedFile;
use crate::control_group::Exceeded;
use crate::doors::Door;
use crate::plan::{Limits, Plan};
use crate::report::Report;
use crate::text::Text;

#[derive(Debug, Serialize, Deserialize)]
pub enum ToSandbox {
    /// Asks whether what comes before the plan could be done. May come in front of the plan.
    Begun,
    /// Comes first, once.
    Build(Plan),
    /// With the image of the program behind it, or, if that is too long, as the first descriptor; then what will be its
    /// 0, 1, 2 and on, unless it has a terminal.
    Start {
        id: u64,
        directory: Text,
        terminal: Option<Window>,
        limits: Limits,
        last: Last,
        approved: Vec<ApprovedFile>,
        /// For somebody who waits for its end, with a connection as the last descriptor: what is sent there in front of
        /// the status.
        answer: Option<Vec<u8>>,
    },
    Signal {
        id: u64,
        signal: i32,
    },
    /// Asks for a connection to a port of the sandbox's own loopback.
    Connect {
        id: u64,
        port: u16,
    },
    /// The command and everything it has started, wherever that has moved to.
    End {
        id: u64,
    },
    /// Asks for a way into the sandbox's tree of files, for covering what appears in it later.
    Namespaces,
    /// Lets it answer by itself. With two descriptors: where that is told, and what can be read while the launcher has
    /// something to add.
    Answer,
}

/// Whether the sandbox ends with a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Last {
    /// It stays for others.
    No,
    /// It ends, whether the command could be started or not.
    Yes,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Window {
    pub rows: u16,
    pub columns: u16,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum FromSandbox {
    /// What comes before the plan is done.
    Begun,
    /// With the doors' listeners, in this order.
    Built {
        report: Report,
        doors: Vec<Door>,
    },
    NotBuilt(Problem),
    /// With the controlling side of the terminal, for a command that has one; for others there is no such message.
    Started {
        id: u64,
    },
    NotStarted {
        id: u64,
        why: NotStarted,
    },
    /// With names that it left and that the host would have run, set aside under another one.
    Ended {
        id: u64,
        how: Ended,
        /// A limit that it had met, if it failed.
        met: Option<Exceeded>,
        held: Vec<Text>,
    },
    /// With a socket that is being connected; without one where that was refused at once.
    Connected {
        id: u64,
    },
    /// With the user and the mount namespace; without them where there are none.
    Namespaces,
    /// The last message: how the command ended that the sandbox ended with, and names that the host would have run,
    /// set aside under another one.
    Over {
        ended: Option<Ended>,
        /// A limit that it had met, if it failed.
        met: Option<Exceeded>,
        held: Vec<Text>,
    },
}

/// A step that failed on the way into the sandbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Problem {
    pub step: String,
    pub error: String,
    pub errno: Option<i32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotStarted {
    NotFound,
    NotExecutable(i32),
    /// The working directory cannot be entered.
    Directory(i32),
    /// A file that it runs is not what was approved.
    NotApproved,
    Other(i32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    Exited(i32),
    Killed(i32),
}

impl Problem {
    /// Whether it failed because somebody does not let it be done, and not because it cannot be done.
    pub fn is_refusal(&self) -> bool {
        const EPERM: i32 = 1;
        const EACCES: i32 = 13;
        matches!(self.errno, Some(EPERM | EACCES))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.error)
    }
}
