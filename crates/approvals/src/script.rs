//! A whole script: asked about once, shown to its last byte, before anything is started.

use std::time::Instant;

use crate::approver::Approver;
use crate::gate::Question;
use crate::judge::judge_calls;
use crate::{
    Approved, Category, Decision, Finding, Gate, Refused, SessionContext, Severity, Subject, Verdict, Weighed,
};

/// What a script is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptLanguage {
    Python,
    Bash,
    Node,
}

impl ScriptLanguage {
    fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Bash => "bash",
            Self::Node => "node",
        }
    }

    /// The command line that would run the same text, for the rules to read.
    fn command(self, text: &str) -> String {
        match self {
            Self::Python => format!("python3 -c {}", quoted(text)),
            Self::Bash => text.to_owned(),
            Self::Node => format!("node -e {}", quoted(text)),
        }
    }
}

impl<'a> Gate<'a> {
    /// Judges a script and asks whoever has to be asked. Silence is a no.
    pub fn decide_script(
        &self,
        language: ScriptLanguage,
        text: &str,
        context: &SessionContext,
        approver: &Approver,
    ) -> Result<Approved, Refused> {
        match self.weigh_script(language, text, context) {
            Weighed::Approved(approved) => Ok(approved),
            Weighed::Refused(refused) => Err(refused),
            Weighed::Ask(question) => question.put(approver),
        }
    }

    /// Judges a script. However harmless it reads, running it is something to ask about: a program can do more
    /// than the rules see in its text.
    pub fn weigh_script<'g>(
        &'g self,
        language: ScriptLanguage,
        text: &str,
        context: &SessionContext,
    ) -> Weighed<'g>
    where
        'a: 'g,
    {
        let began = Instant::now();
        let (Verdict { mut findings, .. }, calls) = judge_calls(&language.command(text), &context.place);
        findings.push(Finding {
            rule: "whole-script",
            category: Category::HiddenExecution,
            severity: Severity::Low,
            decision: Decision::Ask,
            sentence: format!("It runs a whole script, in {}.", language.name()),
            words: String::new(),
        });
        let verdict = Verdict::of(findings);
        let subject = Subject::script(language.name(), text, context);
        let prohibited = self.grants.prohibition(&verdict, &calls).is_some();
        self.weigh_judged(
            Question { gate: self, context: context.clone(), verdict, subject, began },
            prohibited,
        )
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use cofferdam_policy::document::{Mode, SessionKind, Unattended};

    use super::*;
    use crate::{Backend, Context};

    #[test]
    fn req_a15_a_yes_to_a_script_is_bound_to_its_bytes_and_its_language() {
        let context = SessionContext {
            session: "s".into(),
            kind: SessionKind::Interactive,
            mode: Mode::Manual,
            backend: Backend::Isolated,
            author: crate::Author::Agent,
            unattended: Unattended::Deny,
            place: Context::new("/w", "/home/u", "u"),
        };
        let digest = |language, text: &str| Subject::script(language, text, &context).digest();
        let one = digest("python", "print(1)\n");
        assert_eq!(digest("python", "print(1)\n"), one);
        for (language, text) in [("python", "print(1)"), ("bash", "print(1)\n"), ("python", " print(1)\n")] {
            assert_ne!(digest(language, text), one, "{language} {text:?}");
        }
        assert_ne!(Subject::new("print(1)\n", &context, &[]).digest(), one);
        assert!(!Subject::script("python", "print(1)\n", &context).can_be_kept());
    }
}
