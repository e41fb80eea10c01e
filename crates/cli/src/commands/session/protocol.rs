//! What is said between the keeper of a session and those who use it.

use std::time::Duration;

use cofferdam_approvals::Approved;
use cofferdam_sandbox::approved_files::ApprovedFile;
use cofferdam_sandbox::late::Late;
use cofferdam_sandbox::messages::{NotStarted, Problem, Window};
use cofferdam_sandbox::plan::Plan;
use cofferdam_sandbox::report::{LayerName, Report};
use cofferdam_sandbox::text::Text;
use serde::{Deserialize, Serialize};

use crate::admission;
use crate::commands::run::supervise::{End, How};
use crate::outlet::line::Return;

/// What a keeper is made from. With descriptors: the image whose environment is the session's first, the listeners of
/// the ports that are published, and the line to whoever lets the session out, if it has a network.
#[derive(Debug, Serialize, Deserialize)]
pub struct Setup {
    pub name: String,
    /// The directory of the session's socket.
    pub sessions: Text,
    pub plan: Plan,
    pub late: Late,
    pub workspace: Text,
    pub published: Vec<u16>,
    pub way_out: Option<WayOut>,
    /// Ends the session, whatever runs in it.
    pub lifetime: Option<Duration>,
    /// Ends the session when nothing runs in it.
    pub idle: Option<Duration>,
}

/// How a session gets out.
#[derive(Debug, Serialize, Deserialize)]
pub struct WayOut {
    pub way_back: Option<Return>,
}

/// What became of the setup.
#[derive(Debug, Serialize, Deserialize)]
pub enum Born {
    /// With what is enforced.
    Ready(Report),
    NotBuilt(Problem),
    NameTaken,
    NoSocket(String),
    /// Nobody serves its network.
    NoWayOut(String),
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// With the three standard streams. The end of the connection ends the command and all it has started.
    Exec {
        what: Cleared,
        timeout: Option<Duration>,
    },
    /// For the command of this connection.
    Signal(i32),
    Background {
        what: Cleared,
        timeout: Option<Duration>,
    },
    /// Without a command: the terminal that was left, or a shell. The end of the connection leaves it running.
    Attach {
        what: Option<Cleared>,
        window: Window,
    },
    /// Typed into the terminal of the session, which is made if there is none.
    Send {
        text: Cleared,
    },
    Status,
    /// What the process has written from this byte on, as soon as there is some if `wait` is set.
    Log {
        process: u64,
        from: u64,
        wait: bool,
    },
    End {
        process: u64,
    },
    EndSession,
}

/// What the gate has approved. There is no other way to make one; the keeper gets it as a message.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cleared {
    what: What,
    directory: String,
    files: Vec<ApprovedFile>,
    by_person: bool,
}

impl Cleared {
    pub fn new(what: What, approved: &Approved) -> Self {
        let directory = approved.directory().to_owned();
        let files = admission::approved_files(approved);
        Self { what, directory, files, by_person: approved.by_person() }
    }

    pub fn what(&self) -> &What {
        &self.what
    }

    /// Where it was approved for.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// Whether a person said yes to it, and not the rules alone.
    pub fn by_person(&self) -> bool {
        self.by_person
    }

    /// What must not have changed when it starts.
    pub fn files(&self) -> &[ApprovedFile] {
        &self.files
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum What {
    Command(Vec<Text>),
    Shell(Text),
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Reply {
    /// The command of this connection has ended, or was never started.
    Ended(End),
    Background {
        process: u64,
    },
    /// It was typed to this process.
    Sent {
        process: u64,
    },
    /// With the controlling side of the terminal, and what was written to it while nobody looked.
    Attached {
        process: u64,
    },
    Status(Status),
    /// With the bytes. `next` is where to go on; `how` says that no more will come.
    Log {
        next: u64,
        lost: u64,
        how: Option<How>,
    },
    Done,
    /// The session is over.
    Gone {
        held: Vec<Text>,
    },
    Refused(Refusal),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    NoSuchProcess,
    NoLog,
    AttachedElsewhere,
    /// Another command has changed the directory since this one was approved.
    Moved,
    /// What was approved cannot be kept as it was.
    NotKept,
    /// The terminal does not take any more now.
    NotRead,
    /// Not a request, or one with other descriptors than it must have.
    NotUnderstood,
    Failed(i32),
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Status {
    pub name: String,
    /// The keeper's.
    pub pid: i32,
    pub workspace: Text,
    /// Where the next command starts.
    pub directory: Text,
    /// Seconds since 1970.
    pub started: u64,
    /// The layers that this machine could not give, where the best effort was asked for.
    pub missing: Vec<LayerName>,
    pub processes: Vec<ProcessStatus>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct ProcessStatus {
    pub process: u64,
    pub kind: Kind,
    pub command: String,
    pub started: u64,
    pub running: bool,
    /// As `cofferdam run` would have given it.
    pub status: Option<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Foreground,
    Background,
    Terminal,
}

impl From<NotStarted> for Reply {
    fn from(why: NotStarted) -> Self {
        Self::Ended(End { how: How::NotStarted(why), held: Vec::new(), told: Vec::new() })
    }
}
