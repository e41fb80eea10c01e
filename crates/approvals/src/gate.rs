//! The gate: the one way to [`Approved`].

use std::time::{Duration, Instant};

use cofferdam_audit::Recorder;
use cofferdam_audit::event::{self, ApprovalReason, ApprovalScope, Outcome};

use crate::approver::{Approver, Asking, Notifier, Opinion, Reply, opinion};
use crate::broker::{Asked, BrokerError};
use crate::judge::judge_calls;
use crate::matrix::{self, Case, Step};
use crate::{
    Answer, Answered, Broker, Decision, Digest, Fate, Finding, Grants, Pending, Scope, SessionContext,
    Subject, Verdict, grants, visible,
};

/// How often a waiting process looks for an answer.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// The proof that a command may run. Only the gate makes one, and it is good for what it is about and nothing else.
#[derive(Debug)]
pub struct Approved {
    subject: Subject,
    /// Whether a person said yes, now or earlier, and not the rules alone.
    by_person: bool,
    /// Why a lasting yes was not kept, if it was not.
    unkept: Option<String>,
}

/// A script is no longer what was approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    pub path: String,
}

impl Approved {
    pub fn command(&self) -> &str {
        self.subject.command()
    }

    pub fn directory(&self) -> &str {
        self.subject.directory()
    }

    pub fn digest(&self) -> Digest {
        self.subject.digest()
    }

    /// Whether a person said yes, now or earlier; otherwise there was nothing to ask about, or no wish to be asked.
    pub fn by_person(&self) -> bool {
        self.by_person
    }

    /// Why a yes that was meant to last holds only once.
    pub fn unkept(&self) -> Option<&str> {
        self.unkept.as_deref()
    }

    /// To be called last before the command is started: the scripts are read again.
    pub fn still_holds(&self) -> Result<(), Changed> {
        match self.subject.changed_script() {
            None => Ok(()),
            Some(path) => Err(Changed { path: path.to_owned() }),
        }
    }
}

/// Why a command does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The hardline floor.
    Floor,
    /// A deny rule of the user.
    UserRule,
    /// Nobody watches sessions of this kind, and no rule covers it.
    Unattended,
    /// A person said no.
    Denied,
    /// The second opinion said no.
    SecondOpinion,
    /// Nobody answered in time.
    Expired,
    /// There was nobody who could be asked, or the way to them is broken.
    NobodyAsked,
    /// The record could not be written.
    Unrecorded,
}

/// A no, in words that may be given to the agent: what was found and what was said, and never how the gate is
/// configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub reason: Reason,
    pub findings: Vec<Finding>,
    /// What the person added.
    pub comment: Option<String>,
}

impl Refused {
    /// What the agent is told.
    pub fn sentence(&self) -> String {
        let mut text = String::from(match self.reason {
            Reason::Floor => "Refused: this is never allowed, and nobody can approve it.",
            Reason::UserRule => "Refused: the person you work for has ruled this out.",
            Reason::Unattended => "Refused: this needs a person's approval, and nobody watches this session.",
            Reason::Denied => "Denied: the person who was asked said no.",
            Reason::SecondOpinion => "Denied: a reviewer said no.",
            Reason::Expired => "Expired: the question was not answered in time. This is not a denial.",
            Reason::NobodyAsked => "Not approved: nobody could be asked.",
            Reason::Unrecorded => "Refused: the decision could not be recorded.",
        });
        if let Some(comment) = &self.comment {
            text.push_str(&format!(" They said: {}", visible::one_line(comment)));
        }
        for finding in self.findings.iter().take(5) {
            text.push_str(&format!("\n{}", finding.sentence));
        }
        text.push_str("\nDo not try the same in other words; go on without it, or ask how to proceed.");
        text
    }
}

/// What the gate says before anybody is asked.
#[derive(Debug)]
pub enum Weighed<'g> {
    Approved(Approved),
    Refused(Refused),
    /// A person has to be asked.
    Ask(Question<'g>),
}

/// A question that nobody has been asked yet.
#[derive(Debug)]
pub struct Question<'g> {
    pub(crate) gate: &'g Gate<'g>,
    pub(crate) context: SessionContext,
    pub(crate) verdict: Verdict,
    pub(crate) subject: Subject,
    pub(crate) began: Instant,
}

/// Everything that decisions need. One for a process.
pub struct Gate<'a> {
    pub broker: &'a Broker,
    pub grants: &'a Grants,
    pub recorder: &'a Recorder,
    /// How long a question waits for its answer.
    pub timeout: Duration,
    /// Looks at a question before a person does.
    pub second_opinion: Option<Notifier>,
    /// Takes known secrets out of a text before it is recorded or shown to a program.
    pub redact: &'a dyn Fn(&str) -> String,
}

impl std::fmt::Debug for Gate<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Gate").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl<'a> Gate<'a> {
    /// Judges a command and asks whoever has to be asked. Silence is a no.
    pub fn decide(
        &self,
        command: &str,
        context: &SessionContext,
        approver: &Approver,
    ) -> Result<Approved, Refused> {
        match self.weigh(command, context) {
            Weighed::Approved(approved) => Ok(approved),
            Weighed::Refused(refused) => Err(refused),
            Weighed::Ask(question) => question.put(approver),
        }
    }

    /// Judges a command.
    pub fn weigh<'g>(&'g self, command: &str, context: &SessionContext) -> Weighed<'g>
    where
        'a: 'g,
    {
        let began = Instant::now();
        let (verdict, calls) = judge_calls(command, &context.place);
        let subject = Subject::new(command, context, &calls);
        let prohibited = self.grants.prohibition(&verdict, &calls).is_some();
        self.weigh_judged(
            Question { gate: self, context: context.clone(), verdict, subject, began },
            prohibited,
        )
    }

    /// The order: the floor and the user's deny rules, then what was approved before, then the table.
    pub(crate) fn weigh_judged<'g>(&'g self, question: Question<'g>, prohibited: bool) -> Weighed<'g>
    where
        'a: 'g,
    {
        let context = &question.context;
        if question.verdict.decision == Decision::Deny {
            return question.refused(Reason::Floor, event::Approver::Rules, None);
        }
        if prohibited {
            return question.refused(Reason::UserRule, event::Approver::Rules, None);
        }
        let case = Case {
            kind: context.kind,
            mode: context.mode,
            backend: context.backend,
            unattended: context.unattended,
        };
        let step = matrix::step(case, question.verdict.decision);
        if step != Step::Run && question.approved_before() {
            return question.approved(event::Approver::Stored, None);
        }
        match step {
            Step::Run => question.approved(event::Approver::Rules, None),
            Step::AskPerson => Weighed::Ask(question),
            Step::SecondOpinion => question.reviewed(),
            Step::NeedsRule => question.refused(Reason::Unattended, event::Approver::Rules, None),
            Step::Refuse => question.refused(Reason::Floor, event::Approver::Rules, None),
        }
    }
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
    fn reviewed(self) -> Weighed<'g> {
        let Some(program) = &self.gate.second_opinion else { return Weighed::Ask(self) };
        match opinion(program, &self.redacted(&self.pending()), self.gate.timeout) {
            Opinion::AskPerson => Weighed::Ask(self),
            Opinion::Deny { comment } => {
                self.refused(Reason::SecondOpinion, event::Approver::SecondOpinion, comment)
            }
        }
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

    fn approved_before(&self) -> bool {
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

    fn approved(self, by: event::Approver, scope: Option<Scope>) -> Weighed<'g> {
        let scope = scope.map(|scope| match scope {
            Scope::Once => ApprovalScope::Once,
            Scope::Session => ApprovalScope::Session,
            Scope::Always => ApprovalScope::Always,
        });
        match self.record(Outcome::Allowed, by, scope) {
            Ok(()) => Weighed::Approved(Approved {
                subject: self.subject,
                by_person: by != event::Approver::Rules,
                unkept: None,
            }),
            Err(_) => Weighed::Refused(self.unrecorded()),
        }
    }

    /// A no stays a no when it cannot be recorded.
    fn refused(self, reason: Reason, by: event::Approver, comment: Option<String>) -> Weighed<'g> {
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

#[cfg(test)]
mod tests {
    use cofferdam_audit::Settings;
    use cofferdam_policy::document::{Mode, SessionKind, Unattended};

    use super::*;
    use crate::{Backend, Context};

    #[test]
    fn req_a16_an_approval_does_not_outlive_the_bytes_that_were_approved() {
        let home = tempfile::tempdir().unwrap();
        let broker = Broker::open(&home.path().join("state/approvals")).unwrap();
        let grants = Grants::parse(home.path(), None).unwrap();
        let recorder = Recorder::open(&home.path().join("state/audit"), Settings::default()).unwrap();
        let timeout = Duration::from_secs(1);
        let gate = Gate {
            broker: &broker,
            grants: &grants,
            recorder: &recorder,
            timeout,
            second_opinion: None,
            redact: &|text| text.to_owned(),
        };
        let context = SessionContext {
            session: "s".into(),
            kind: SessionKind::Interactive,
            mode: Mode::Off,
            backend: Backend::Host,
            unattended: Unattended::Deny,
            place: Context::new(home.path().to_str().unwrap(), "/home/u", "u"),
        };
        for command in
            ["bash run.sh", "sudo nice ./run.sh x", "cd . && python3 -u run.sh", "bash -c 'sh run.sh'"]
        {
            std::fs::write(home.path().join("run.sh"), "echo one").unwrap();
            let approved = gate.decide(command, &context, &Approver::Nobody).expect("nothing is asked");
            assert_eq!(approved.still_holds(), Ok(()), "{command}");
            std::fs::write(home.path().join("run.sh"), "echo two").unwrap();
            assert!(approved.still_holds().is_err(), "{command}");
            std::fs::remove_file(home.path().join("run.sh")).unwrap();
            assert!(approved.still_holds().is_err(), "{command}");
        }
    }

    #[test]
    fn req_a18_no_answer_names_a_switch() {
        for reason in [
            Reason::Floor,
            Reason::UserRule,
            Reason::Unattended,
            Reason::Denied,
            Reason::SecondOpinion,
            Reason::Expired,
            Reason::NobodyAsked,
            Reason::Unrecorded,
        ] {
            let told = Refused { reason, findings: Vec::new(), comment: None }.sentence().to_lowercase();
            for word in ["mode", "config", "off", "cofferdam", "approvals", "toml", "disable", "setting"] {
                assert!(
                    !told.split(|c: char| !c.is_alphanumeric()).any(|told| told == word),
                    "{word}: {told}"
                );
            }
        }
    }
}
