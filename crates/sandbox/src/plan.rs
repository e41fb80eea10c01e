//! What will be done, as data: made before anything is done, printed by `--dry-run`, sent to the sandbox, and
//! carried out there in this order.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::Text;

/// Everything that the first process of a sandbox carries out before a command may start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub identity: Identity,
    pub network: Network,
    /// Ports of all hosts that a sealed network takes besides the usual ones.
    pub further_ports: Vec<u16>,
    pub isolation: Isolation,
    pub hostname: String,
    /// In order, after those that every sandbox has (`planner::whole` writes them out); a later one may stand on top of
    /// an earlier one.
    pub files: Vec<Operation>,
    /// Below these, and nowhere else, may a program write.
    pub writable: Vec<Text>,
    /// Names that must not exist when the sandbox ends, because the host would run what is in them.
    pub sweep: Vec<Text>,
    /// Whether everything that is shown was looked through for secrets, or only as much as the bounds allow.
    pub looked: Looked,
    pub limits: Limits,
}

/// How far the search for secrets in what is shown has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    pub names: u64,
    pub unfinished: bool,
}

/// Who the processes are, inside and outside alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub user: u32,
    pub group: u32,
}

impl Identity {
    /// The person who runs this process.
    pub fn own() -> Self {
        Self { user: rustix::process::getuid().as_raw(), group: rustix::process::getgid().as_raw() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// A loopback interface of its own, and nothing else.
    None,
    /// The same, and every address in the world leads to listeners in it, which the launcher serves.
    Proxy,
    /// The host's network: no protection at all.
    Host,
}

/// What happens where the kernel does not have a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Nothing is started.
    Required,
    /// The rest is enforced, and what is missing is told.
    BestEffort,
}

/// One step in building the tree of files. Paths are absolute, as the program will see them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Operation {
    Directory {
        path: Text,
    },
    Link {
        path: Text,
        to: Text,
    },
    File {
        path: Text,
        contents: Text,
    },
    /// A part of the host that only root can change, read-only and at the place it has there.
    System {
        path: Text,
        kind: Kind,
    },
    /// A part of the host's tree, at the place it has there or at another.
    Bind {
        path: Text,
        from: Text,
        access: Access,
    },
    /// A directory of the host, at the place it has there; whatever is written to it goes to the layer, a directory
    /// of the user's own.
    Layered {
        path: Text,
        layer: Text,
    },
    /// Memory that nobody else sees, gone with the sandbox.
    Private {
        path: Text,
        bytes: u64,
    },
    /// An unreadable, empty thing over a path that exists.
    Mask {
        path: Text,
    },
    /// A file of the person's that was approved by a person, with the bytes that were approved, whatever is written to
    /// it on the host.
    Approved {
        path: Text,
        contents: Text,
    },
    /// What stands at this path of the new tree, from here on read-only.
    Freeze {
        path: Text,
    },
    /// The sandbox's own processes, and of the kernel's own files there only these.
    Processes {
        path: Text,
        keep: Vec<Text>,
    },
    Terminals {
        path: Text,
    },
    Device {
        path: Text,
    },
    /// The tree is complete: its root becomes read-only.
    Seal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    ReadOnly,
    Writable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Directory,
    File,
}

/// Limits that the kernel keeps for every process, or for the whole sandbox where a control group is delegated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub memory: Option<u64>,
    pub processes: Option<u64>,
    pub cpu_seconds: Option<u64>,
    pub file_size: Option<u64>,
    pub open_files: Option<u64>,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory { path } => write!(f, "directory  {path}"),
            Self::Link { path, to } => write!(f, "link       {path} -> {to}"),
            Self::File { path, .. } => write!(f, "file       {path}"),
            Self::System { path, .. } => write!(f, "read-only  {path}"),
            Self::Bind { path, from, access } => {
                let access = match access {
                    Access::ReadOnly => "read-only ",
                    Access::Writable => "writable  ",
                };
                write!(f, "{access} {path}")?;
                if from == path { Ok(()) } else { write!(f, " (the host's {from})") }
            }
            Self::Layered { path, .. } => write!(f, "layered    {path} (writes go to a layer)"),
            Self::Private { path, bytes } => write!(f, "private    {path} ({} MiB at most)", bytes >> 20),
            Self::Mask { path } => write!(f, "hidden     {path}"),
            Self::Approved { path, .. } => write!(f, "approved   {path} (read-only, as it was approved)"),
            Self::Freeze { path } => write!(f, "read-only  {path}"),
            Self::Processes { path, .. } => write!(f, "processes  {path} (the sandbox's own)"),
            Self::Terminals { path } => write!(f, "terminals  {path}"),
            Self::Device { path } => write!(f, "device     {path}"),
            Self::Seal => f.write_str("sealed     / (read-only from here on)"),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "identity   user {} and group {}, no capabilities",
            self.identity.user, self.identity.group
        )?;
        let network = match self.network {
            Network::None => "a loopback of its own and nothing else",
            Network::Proxy => "sealed: every address leads to the egress proxy",
            Network::Host => "the host's, unprotected",
        };
        writeln!(f, "network    {network}")?;
        self.files.iter().try_for_each(|operation| writeln!(f, "{operation}"))
    }
}
