//! What the gate says.

use serde::Serialize;

/// What is to happen, from the mildest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Allow,
    Ask,
    Deny,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Low,
    Medium,
    High,
    Critical,
}

/// What a command would do to somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    FileDestruction,
    Disks,
    Permissions,
    Privilege,
    Services,
    SupplyChain,
    Persistence,
    Git,
    Databases,
    Containers,
    Cloud,
    Network,
    RemoteCode,
    ReverseShell,
    Credentials,
    Exfiltration,
    Kernel,
    DefenceEvasion,
    SystemControl,
    OwnPolicy,
    HiddenExecution,
    Windows,
    Macos,
    NotUnderstood,
}

/// One reason to stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub rule: &'static str,
    pub category: Category,
    pub severity: Severity,
    pub decision: Decision,
    /// One sentence that a person understands.
    pub sentence: String,
    /// The words that caused it, as they would run.
    pub words: String,
}

/// Everything that was found; the strictest finding decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    pub decision: Decision,
    pub findings: Vec<Finding>,
}

impl Verdict {
    pub(crate) fn of(mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|finding| std::cmp::Reverse((finding.decision, finding.severity)));
        let decision = findings.first().map_or(Decision::Allow, |finding| finding.decision);
        Self { decision, findings }
    }
}
