//! What a person was asked, and what tools were called.

use serde::Serialize;

use super::Outcome;
use crate::codes::codes;
use crate::outside::{CommandText, Label};

/// The digest that an approval is bound to: of the normalised command, its directory and its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandDigest(pub [u8; 32]);

impl Serialize for CommandDigest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&crate::chain::Hash(self.0).to_string())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApprovalRequested {
    pub command: CommandText,
    pub digest: CommandDigest,
    pub rule: Label,
    pub session_kind: SessionKind,
}

/// What became of a command that reached the gate, whether or not anybody was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApprovalDecided {
    #[serde(flatten)]
    pub outcome: Outcome<ApprovalReason>,
    pub verdict: Verdict,
    pub rule: Label,
    pub approver: Approver,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<ApprovalScope>,
    pub digest: CommandDigest,
    pub milliseconds: u64,
}

/// A tool called by a running script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolCall {
    #[serde(flatten)]
    pub outcome: Outcome<ToolReason>,
    pub tool: Label,
    pub call: u64,
}

codes! {
    pub enum SessionKind {
        Interactive = "interactive",
        Gateway = "gateway",
        Cron = "cron",
        Headless = "headless",
    }

    /// What the gate itself said, before anybody was asked.
    pub enum Verdict {
        Allow = "allow",
        Ask = "ask",
        Deny = "deny",
    }

    pub enum Approver {
        /// The rules decided; nobody was asked.
        Rules = "rules",
        /// An approval given earlier.
        Stored = "stored",
        /// Whoever called wrote the command themself.
        Caller = "caller",
        Terminal = "terminal",
        Dashboard = "dashboard",
        ControlSocket = "control-socket",
        Command = "command",
        Hook = "hook",
        SecondOpinion = "second-opinion",
        Nobody = "nobody",
    }

    pub enum ApprovalScope {
        Once = "once",
        Session = "session",
        Always = "always",
    }

    pub enum ApprovalReason {
        Hardline = "hardline",
        Rule = "rule",
        DeniedByPerson = "denied-by-person",
        DeniedBySecondOpinion = "denied-by-second-opinion",
        TimedOut = "timed-out",
        NobodyToAsk = "nobody-to-ask",
        ApproverFailed = "approver-failed",
        SessionKind = "session-kind",
        ChangedSinceApproval = "changed-since-approval",
        OwnPolicy = "own-policy",
        RecordUnavailable = "record-unavailable",
    }

    pub enum ToolReason {
        NotGranted = "not-granted",
        GateRefused = "gate-refused",
        CallLimit = "call-limit",
        FrameTooLarge = "frame-too-large",
        MalformedCall = "malformed-call",
        ToolFailed = "tool-failed",
    }
}
