//! Everything that can happen, as a closed list.
//!
//! A decision is never a string: it is [`Outcome`], with a reason from the list of its kind. No event has a
//! field that could hold a credential or a token; what comes from outside is text of the types of `outside`.
//!
//! In every event `decision`, `reason` and `host` stand first, in that order: readers that look for them
//! stop there and need not look at the rest of a line.

mod approval;
mod egress;
mod lifecycle;
mod own;
mod sandbox;

use serde::Serialize;

pub use approval::*;
pub use egress::*;
pub use lifecycle::*;
pub use own::*;
pub use sandbox::*;

use crate::codes::codes;

codes! {
    /// What was decided, in one of two words.
    pub enum Decision {
        Allowed = "allowed",
        Refused = "refused",
    }
}

/// What was decided, and, if it was no, why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "decision", rename_all = "lowercase")]
pub enum Outcome<Reason> {
    Allowed,
    Refused { reason: Reason },
}

macro_rules! events {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)+) => {
        /// One thing that happened.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Event { $($(#[$doc])* $variant($variant),)+ }

        codes! {
            /// The kind of an event: the word under `kind` in its record.
            pub enum Kind { $($variant = $name,)+ }
        }

        impl Event {
            pub fn kind(&self) -> Kind {
                match self { $(Self::$variant(_) => Kind::$variant,)+ }
            }

            /// Writes the event's own fields as a JSON object.
            pub(crate) fn write_fields(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
                match self { $(Self::$variant(fields) => serde_json::to_writer(out, fields),)+ }
            }
        }

        $(impl From<$variant> for Event {
            fn from(event: $variant) -> Self {
                Self::$variant(event)
            }
        })+
    };
}

events! {
    EnvironmentBuilt = "environment-built",
    SandboxStarted = "sandbox-started",
    SandboxEnded = "sandbox-ended",
    EgressTunnel = "egress-tunnel",
    EgressRequest = "egress-request",
    EgressResponse = "egress-response",
    DnsQuery = "dns-query",
    CredentialInjected = "credential-injected",
    SecretRedacted = "secret-redacted",
    SecretSource = "secret-source",
    ApprovalRequested = "approval-requested",
    ApprovalDecided = "approval-decided",
    ToolCall = "tool-call",
    ReadGuard = "read-guard",
    AuthorityChanged = "authority-changed",
    TokensChanged = "tokens-changed",
    ConfigLoaded = "config-loaded",
    DaemonStarted = "daemon-started",
    DaemonStopped = "daemon-stopped",
    WorkerCrashed = "worker-crashed",
    ContainerWired = "container-wired",
    ShimRan = "shim-ran",
    RecordOpened = "record-opened",
    RecordClosed = "record-closed",
    RecordRepaired = "record-repaired",
    RecordInterrupted = "record-interrupted",
    RecordsUnwritten = "records-unwritten",
}
