//! What is recorded of a decision: what was asked, on whose behalf, who said what, and how long it took.

use cofferdam_audit::event::{
    self, ApprovalDecided, ApprovalReason, ApprovalRequested, ApprovalScope, CommandDigest, Outcome,
};
use cofferdam_audit::{AuditError, CommandText, Label};
use cofferdam_policy::document::SessionKind;

use crate::{Decision, Question};

impl Question<'_> {
    pub(crate) fn record_request(&self) -> Result<(), AuditError> {
        let event = ApprovalRequested {
            command: CommandText::already_redacted((self.gate.redact)(self.subject.command())),
            digest: CommandDigest(self.subject.digest().0),
            rule: self.rule(),
            session_kind: recorded_kind(self.context.kind),
        };
        self.write(&event.into())
    }

    pub(crate) fn record(
        &self,
        outcome: Outcome<ApprovalReason>,
        approver: event::Approver,
        scope: Option<ApprovalScope>,
    ) -> Result<(), AuditError> {
        let verdict = match self.verdict.decision {
            Decision::Allow => event::Verdict::Allow,
            Decision::Ask => event::Verdict::Ask,
            Decision::Deny => event::Verdict::Deny,
        };
        let event = ApprovalDecided {
            outcome,
            verdict,
            rule: self.rule(),
            approver,
            scope,
            digest: CommandDigest(self.subject.digest().0),
            milliseconds: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        self.write(&event.into())
    }

    fn rule(&self) -> Label {
        Label::new(self.verdict.findings.first().map_or("none", |finding| finding.rule))
    }

    fn write(&self, event: &cofferdam_audit::Event) -> Result<(), AuditError> {
        // Going on without a record is the user's own setting, and the record counts what it missed.
        self.gate.recorder.record(Some(&Label::new(&self.context.session)), event).map(drop)
    }
}

fn recorded_kind(kind: SessionKind) -> event::SessionKind {
    match kind {
        SessionKind::Interactive => event::SessionKind::Interactive,
        SessionKind::Gateway => event::SessionKind::Gateway,
        SessionKind::Cron => event::SessionKind::Cron,
        SessionKind::Headless => event::SessionKind::Headless,
    }
}
