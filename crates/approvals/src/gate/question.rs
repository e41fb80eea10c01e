//! A question on its way: who is asked, what they said, and what is kept of it.

use std::time::Instant;

use cofferdam_audit::event::{self, ApprovalReason, ApprovalScope, Outcome};

use crate::approver::{Approver, Asking, Opinion, Reply, opinion};
use crate::broker::{Asked, BrokerError};
use crate::gate::{Approved, Gate, LOOK, Reason, Refused, Weighed};
use crate::{
    Answer, Answered, Author, Category, Decision, Digest, Fate, Finding, Pending, Scope, SessionContext,
    Subject, Verdict, grants,
};

/// A question that nobody has been asked yet.
#[derive(Debug)]
pub struct Question<'g> {
    pub(crate) gate: &'g Gate<'g>,
    pub(crate) context: SessionContext,
    pub(crate) verdict: Verdict,
    pub(crate) subject: Subject,
    pub(crate) began: Instant,
}

/// How a question ended.
enum Ending {
    Said(Answer, event::Approver),
    Expired,
    Nobody(event::Approver),
    /// The same question is answered once for both.
    LookAgain,
}

impl<'g> Question<'g> {
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    pub fn digest(&self) -> Digest {
        self.subject.digest()
    }

    /// Whether nobody can say yes to this. Whoever writes the command themself may name the policy that is theirs; in the
    /// sandbox it is not there anyway.
    pub(super) fn beyond_approval(&self) -> bool {
        let own = |finding: &Finding| {
            self.context.author == Author::Caller && finding.category == Category::OwnPolicy
        };
        self.verdict.findings.iter().any(|finding| finding.decision == Decision::Deny && !own(finding))
    }

    /// The agent asks its own person; what they say is not known here. Gives the words to ask with, unless the
    /// question cannot be recorded.
    pub fn hand_over(self) -> Result<String, Refused> {
        if self.record_request().is_err() {
            return Err(self.unrecorded());
        }
        let sentences: Vec<&str> =
            self.verdict.findings.iter().map(|finding| finding.sentence.as_str()).collect();
        Ok(sentences.join(" "))
    }

    /// Asks, waits, records, and remembers a yes that lasts.
    pub fn put(self, approver: &Approver) -> Result<Approved, Refused> {
        if self.record_request().is_err() {
            return Err(self.unrecorded());
        }
        let deadline = Instant::now() + self.gate.timeout;
        let ending = loop {
            match self.ask_once(approver, deadline) {
                Ok(Ending::LookAgain) if self.approved_before() => {
                    return settled(self.approved(event::Approver::Stored, None));
                }
                Ok(Ending::LookAgain) if Instant::now() >= deadline => break Ending::Expired,
                Ok(Ending::LookAgain) => {}
                Ok(ending) => break ending,
                Err(_) => break Ending::Nobody(approver.recorded()),
            }
        };
        settled(match ending {
            Ending::Said(Answer::Allow { scope }, by) => self.said_yes(scope, by),
            Ending::Said(Answer::Deny { comment }, by) => self.refused(Reason::Denied, by, comment),
            Ending::Expired | Ending::LookAgain => self.refused(Reason::Expired, approver.recorded(), None),
            Ending::Nobody(by) => self.refused(Reason::NobodyAsked, by, None),
        })
    }

    /// Without a second opinion at hand, or a clear one, the question goes to the person.
    pub(super) fn reviewed(self) -> Weighed<'g> {
        let Some(program) = &self.gate.second_opinion else { return Weighed::Ask(self) };
        match opinion(program, &self.redacted(&self.pending()), self.gate.timeout) {
            Opinion::Allow if self.reviewable() => self.approved(event::Approver::SecondOpinion, None),
            Opinion::Allow | Opinion::AskPerson => Weighed::Ask(self),
            Opinion::Deny { comment } => {
                self.refused(Reason::SecondOpinion, event::Approver::SecondOpinion, comment)
            }
        }
    }

    /// Whether every rule that found something lets a second opinion say yes. Rules that are code never do.
    fn reviewable(&self) -> bool {
        let marked =
            |finding: &Finding| crate::RULES.iter().any(|rule| rule.id == finding.rule && rule.reviewable);
        !self.verdict.findings.is_empty() && self.verdict.findings.iter().all(marked)
    }

    fn redacted(&self, question: &Pending) -> Pending {
        let redact = self.gate.redact;
        let reasons = question.reasons.iter().map(|reason| redact(reason)).collect();
        Pending { command: redact(&question.command), reasons, ..question.clone() }
    }

    fn ask_once(&self, approver: &Approver, deadline: Instant) -> Result<Ending, BrokerError> {
        if matches!(approver, Approver::Nobody) {
            return Ok(Ending::Nobody(event::Approver::Nobody));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        match self.gate.broker.ask(self.pending(), left)? {
            Ok(asked) => self.wait(approver, asked, deadline),
            Err(other) => self.wait_for_other(&other, deadline),
        }
    }

    fn wait(&self, approver: &Approver, asked: Asked<'_>, deadline: Instant) -> Result<Ending, BrokerError> {
        let redacted = self.redacted(&asked.pending);
        let asking =
            Asking { question: &asked.pending, redacted: &redacted, deadline, broker: self.gate.broker };
        let reply = approver.ask(&asking, &mut || matches!(asked.answer(), Ok(Some(_))));
        let (otherwise, by) = match reply {
            Reply::Said(said) => {
                // First under the lock wins: an answer from elsewhere may be there already.
                let pending = &asked.pending;
                match self.gate.broker.answer(&pending.id, Some(&pending.digest), &said)? {
                    Answered::Taken(_) => (Fate::Abandoned, approver.recorded()),
                    _ => (Fate::Expired, event::Approver::ControlSocket),
                }
            }
            Reply::Elsewhere => (Fate::Abandoned, event::Approver::ControlSocket),
            Reply::Expired => (Fate::Expired, approver.recorded()),
            Reply::Lost => (Fate::Abandoned, approver.recorded()),
        };
        let digest = self.subject.digest();
        if !asked.pending.digest_is(&digest) {
            return Ok(Ending::Nobody(by));
        }
        Ok(match asked.settle(otherwise)? {
            Fate::Answered { said } => Ending::Said(said, by),
            Fate::Expired => Ending::Expired,
            Fate::Abandoned => Ending::Nobody(by),
        })
    }

    /// Somebody of the same session asks the same. A no holds for both, a lasting yes too; a yes for once is
    /// for the one who asked, and this one asks for itself afterwards.
    fn wait_for_other(&self, other: &Pending, deadline: Instant) -> Result<Ending, BrokerError> {
        loop {
            if let Some(fate) = self.gate.broker.fate(&other.id)? {
                return Ok(match fate {
                    Fate::Answered { said: Answer::Allow { .. } } | Fate::Abandoned => Ending::LookAgain,
                    Fate::Answered { said } => Ending::Said(said, event::Approver::Stored),
                    Fate::Expired => Ending::Expired,
                });
            }
            if !self.gate.broker.is_waited_for(&other.id)? && self.gate.broker.fate(&other.id)?.is_none() {
                self.gate.broker.list()?;
                return Ok(Ending::LookAgain);
            }
            if Instant::now() >= deadline {
                return Ok(Ending::Expired);
            }
            std::thread::sleep(LOOK);
        }
    }

    fn pending(&self) -> Pending {
        let reason = |finding: &Finding| match finding.words.as_str() {
            "" => finding.sentence.clone(),
            words => format!("{} ({words})", finding.sentence),
        };
        Pending {
            id: String::new(),
            digest: self.subject.digest().to_string(),
            session: self.context.session.clone(),
            kind: self.context.kind.name().to_owned(),
            command: self.subject.command().to_owned(),
            directory: self.subject.directory().to_owned(),
            reasons: self.verdict.findings.iter().map(reason).collect(),
            can_be_kept: self.subject.can_be_kept(),
            asked: 0,
            expires: 0,
        }
    }

    pub(super) fn approved_before(&self) -> bool {
        let stored = self.gate.grants.allowance(&self.verdict, &self.subject, &self.context.place).is_some();
        // What cannot be read was not approved.
        let of_session = || grants::of_session(self.gate.broker, &self.context).unwrap_or_default();
        stored || of_session().contains(&self.subject.digest().to_string())
    }

    /// A yes that cannot be kept as long as it was meant holds once.
    fn said_yes(self, scope: Scope, by: event::Approver) -> Weighed<'g> {
        let kept = match scope {
            Scope::Once => Ok(()),
            _ if !self.subject.can_be_kept() => Err("parts of it are only known when it runs".to_owned()),
            Scope::Session => {
                grants::keep_for_session(self.gate.broker, &self.context, &self.subject.digest())
                    .map_err(|error| error.to_string())
            }
            Scope::Always => self
                .gate
                .grants
                .keep(self.gate.broker, &self.subject)
                .map(drop)
                .map_err(|error| error.to_string()),
        };
        let scope = if kept.is_ok() { scope } else { Scope::Once };
        match self.approved(by, Some(scope)) {
            Weighed::Approved(approved) => Weighed::Approved(Approved { unkept: kept.err(), ..approved }),
            other => other,
        }
    }

    pub(super) fn approved(self, by: event::Approver, scope: Option<Scope>) -> Weighed<'g> {
        let scope = scope.map(|scope| match scope {
            Scope::Once => ApprovalScope::Once,
            Scope::Session => ApprovalScope::Session,
            Scope::Always => ApprovalScope::Always,
        });
        match self.record(Outcome::Allowed, by, scope) {
            Ok(()) => Weighed::Approved(Approved {
                subject: self.subject,
                by_person: !matches!(by, event::Approver::Rules | event::Approver::SecondOpinion),
                unkept: None,
            }),
            Err(_) => Weighed::Refused(self.unrecorded()),
        }
    }

    /// A call that was granted before; what is recorded of it is the call.
    pub(crate) fn let_through(self) -> Weighed<'g> {
        Weighed::Approved(Approved { subject: self.subject, by_person: false, unkept: None })
    }

    /// A no stays a no when it cannot be recorded.
    pub(super) fn refused(self, reason: Reason, by: event::Approver, comment: Option<String>) -> Weighed<'g> {
        let recorded = match reason {
            Reason::Floor => ApprovalReason::Hardline,
            Reason::UserRule => ApprovalReason::Rule,
            Reason::Unattended => ApprovalReason::SessionKind,
            Reason::Denied => ApprovalReason::DeniedByPerson,
            Reason::SecondOpinion => ApprovalReason::DeniedBySecondOpinion,
            Reason::Expired => ApprovalReason::TimedOut,
            Reason::NobodyAsked if by == event::Approver::Nobody => ApprovalReason::NobodyToAsk,
            Reason::NobodyAsked => ApprovalReason::ApproverFailed,
            Reason::Unrecorded => ApprovalReason::RecordUnavailable,
        };
        let reason = match self.record(Outcome::Refused { reason: recorded }, by, None) {
            Ok(()) => reason,
            Err(_) => Reason::Unrecorded,
        };
        Weighed::Refused(Refused { reason, findings: self.verdict.findings, comment })
    }

    fn unrecorded(self) -> Refused {
        Refused { reason: Reason::Unrecorded, findings: self.verdict.findings, comment: None }
    }
}

fn settled(weighed: Weighed<'_>) -> Result<Approved, Refused> {
    match weighed {
        Weighed::Approved(approved) => Ok(approved),
        Weighed::Refused(refused) => Err(refused),
        Weighed::Ask(question) => {
            Err(Refused { reason: Reason::NobodyAsked, findings: question.verdict.findings, comment: None })
        }
    }
}
