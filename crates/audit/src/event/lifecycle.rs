//! Keys, configuration, the daemon and the wiring of containers.

use serde::Serialize;

use super::Outcome;
use crate::codes::codes;
use crate::outside::{HostName, Label};

/// A credential was read from where it is kept, or was not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SecretSource {
    #[serde(flatten)]
    pub outcome: Outcome<SourceReason>,
    pub provider: Label,
    pub source: SourceKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuthorityChanged {
    pub change: AuthorityChange,
    /// Of the certificate, which is public.
    pub fingerprint: Label,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokensChanged {
    pub change: TokenChange,
    pub count: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfigLoaded {
    #[serde(flatten)]
    pub outcome: Outcome<ConfigReason>,
    pub mistakes: u32,
    pub rules: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DaemonStarted {
    pub version: Label,
    pub pid: u32,
    pub listen: HostName,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DaemonStopped {
    pub cause: StopCause,
    pub pid: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkerCrashed {
    pub worker: Worker,
    pub restarted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContainerWired {
    #[serde(flatten)]
    pub outcome: Outcome<WiringReason>,
    pub engine: ContainerEngine,
    pub mode: WiringMode,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShimRan {
    #[serde(flatten)]
    pub outcome: Outcome<ShimReason>,
    pub action: ShimAction,
    pub user: u32,
}

codes! {
    pub enum SourceKind {
        Environment = "environment",
        Dotenv = "dotenv",
        File = "file",
        Command = "command",
        Bitwarden = "bitwarden",
        OnePassword = "one-password",
        Vault = "vault",
        Keyring = "keyring",
    }

    pub enum SourceReason {
        NotFound = "not-found",
        Empty = "empty",
        TooOpen = "too-open",
        Malformed = "malformed",
        TimedOut = "timed-out",
        Failed = "failed",
        Unauthorized = "unauthorized",
        FallbackOff = "fallback-off",
    }

    pub enum AuthorityChange {
        Created = "created",
        Rotated = "rotated",
        Retired = "retired",
    }

    pub enum TokenChange {
        Minted = "minted",
        Rotated = "rotated",
        Revoked = "revoked",
    }

    pub enum ConfigReason {
        Unreadable = "unreadable",
        Syntax = "syntax",
        Mistakes = "mistakes",
        ProviderUncovered = "provider-uncovered",
    }

    pub enum StopCause {
        Asked = "asked",
        Signal = "signal",
        Failed = "failed",
        Idle = "idle",
    }

    pub enum Worker {
        Proxy = "proxy",
        Resolver = "resolver",
        Control = "control",
        Dashboard = "dashboard",
        Approvals = "approvals",
    }

    pub enum ContainerEngine {
        Docker = "docker",
        Podman = "podman",
    }

    pub enum WiringMode {
        Sealed = "sealed",
        Bridge = "bridge",
    }

    pub enum WiringReason {
        OptionUndoesWiring = "option-undoes-wiring",
        VariableUndoesWiring = "variable-undoes-wiring",
        MountUndoesWiring = "mount-undoes-wiring",
        EgressNotRunning = "egress-not-running",
        BridgeAddressInvalid = "bridge-address-invalid",
    }

    pub enum ShimAction {
        Dropped = "dropped",
        PassedThrough = "passed-through",
        KeptRoot = "kept-root",
    }

    pub enum ShimReason {
        NoSuchUser = "no-such-user",
        DropFailed = "drop-failed",
        TargetIsShim = "target-is-shim",
        TargetMissing = "target-missing",
    }
}
