//! What a child was given, what kept it in, how it ended, and what it tried to read.

use serde::Serialize;

use super::Outcome;
use crate::codes::codes;
use crate::outside::{CommandText, FilePath, Label};

/// The environment of a child. Names of variables may be telling, values never stand here: counts only,
/// except for the providers whose credentials a person chose to hand down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EnvironmentBuilt {
    pub bucket: ChildKind,
    pub passed: u32,
    pub stripped: u32,
    pub tokens: u32,
    pub inherited_credentials: Vec<Label>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxStarted {
    pub command: CommandText,
    pub profile: Label,
    pub way: RunWay,
    pub network: NetworkMode,
    pub layers: Vec<Layer>,
    /// Never silent: a layer that the policy wanted and the machine could not give.
    pub missing: Vec<Layer>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxEnded {
    #[serde(flatten)]
    pub cause: EndCause,
    pub milliseconds: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum EndCause {
    Exited { status: u8 },
    Signalled { signal: u8 },
    TimedOut,
    MemoryLimit,
    ProcessLimit,
    CpuLimit,
    FileSizeLimit,
    Interrupted,
    Killed,
    NotStarted { layer: Option<Layer> },
}

/// A file-reading tool asked whether it may read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadGuard {
    #[serde(flatten)]
    pub outcome: Outcome<ReadReason>,
    pub path: FilePath,
}

codes! {
    /// The kind of child, which decides what its environment may hold.
    pub enum ChildKind {
        Helper = "helper",
        Executor = "executor",
        ThirdParty = "third-party",
        Unknown = "unknown",
    }

    pub enum RunWay {
        Command = "command",
        Script = "script",
        Session = "session",
        Background = "background",
        Terminal = "terminal",
        Container = "container",
    }

    pub enum NetworkMode {
        Proxy = "proxy",
        None = "none",
        Host = "host",
    }

    pub enum Layer {
        UserNamespace = "user-namespace",
        PidNamespace = "pid-namespace",
        MountNamespace = "mount-namespace",
        NetworkNamespace = "network-namespace",
        IpcNamespace = "ipc-namespace",
        UtsNamespace = "uts-namespace",
        CgroupNamespace = "cgroup-namespace",
        Cgroup = "cgroup",
        Capabilities = "capabilities",
        NoNewPrivileges = "no-new-privileges",
        Landlock = "landlock",
        Seccomp = "seccomp",
        Limits = "limits",
        Egress = "egress",
    }

    pub enum ReadReason {
        ProcessSecrets = "process-secrets",
        EndlessDevice = "endless-device",
        SecretFile = "secret-file",
        HiddenByUser = "hidden-by-user",
        OwnState = "own-state",
        Unresolvable = "unresolvable",
    }
}
