//! The gate: the one way to [`Approved`].

use std::time::{Duration, Instant};

use cofferdam_audit::Recorder;
use cofferdam_audit::event;
use cofferdam_policy::document::ScriptDigest;

use crate::approver::{Approver, Notifier};
use crate::judge::judge_calls;
use crate::matrix::{self, Case, Step};
use crate::{Author, Broker, Decision, Digest, Finding, Grants, SessionContext, Subject, visible};

mod question;

pub use question::Question;

/// How often a waiting process looks for an answer.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// The proof that a command may run. Only the gate makes one, and it is good for what it is about and nothing else.
/// Nobody else can:
///
/// ```compile_fail,E0451
/// # fn forge(subject: cofferdam_approvals::Subject) {
/// let forged = cofferdam_approvals::Approved { subject, by_person: true, unkept: None };
/// # }
/// ```
///
/// and the gate makes none without being told on whose behalf:
///
/// ```compile_fail,E0061
/// # use cofferdam_approvals::{Gate, approver::Approver};
/// # fn ask(gate: &Gate<'_>, approver: &Approver) {
/// let approved = gate.decide("ls", approver);
/// # }
/// ```
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

    /// The files whose bytes were approved with the command: whoever starts it starts it with these, or not at all.
    pub fn files(&self) -> &[ScriptDigest] {
        self.subject.scripts()
    }

    /// For what is not started by a sandbox, to be called last: the files are read again.
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
        if question.beyond_approval() {
            return question.refused(Reason::Floor, event::Approver::Rules, None);
        }
        if prohibited {
            return question.refused(Reason::UserRule, event::Approver::Rules, None);
        }
        let case = Case {
            kind: context.kind,
            author: context.author,
            mode: context.mode,
            backend: context.backend,
            unattended: context.unattended,
        };
        // What is left of a Deny here is the caller's own policy in the caller's own words.
        let decision = question.verdict.decision.min(Decision::Ask);
        let step = matrix::step(case, decision);
        if step != Step::Run && question.approved_before() {
            return question.approved(event::Approver::Stored, None);
        }
        match step {
            Step::Run if decision == Decision::Ask && context.author == Author::Caller => {
                question.approved(event::Approver::Caller, None)
            }
            Step::Run => question.approved(event::Approver::Rules, None),
            Step::AskPerson => Weighed::Ask(question),
            Step::SecondOpinion => question.reviewed(),
            Step::NeedsRule => question.refused(Reason::Unattended, event::Approver::Rules, None),
            Step::Refuse => question.refused(Reason::Floor, event::Approver::Rules, None),
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
            author: Author::Agent,
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
