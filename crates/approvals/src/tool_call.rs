//! A call of a tool by a script: what is granted passes the same gate, in the name of the session, as a command does.

use std::time::Instant;

use cofferdam_policy::document::Prohibited;

use crate::gate::Question;
use crate::{Category, Decision, Finding, Gate, SessionContext, Severity, Subject, Verdict, Weighed};

/// A call, as a person or a rule would look at it.
#[derive(Debug, Clone, Copy)]
pub struct ToolCall<'a> {
    pub tool: &'a str,
    /// What it is called with, as JSON.
    pub arguments: &'a str,
    /// Whether whoever configured the tool wants to be asked each time.
    pub asks: bool,
}

impl<'a> Gate<'a> {
    /// Judges a call. The tool was granted with the script; so there is something to ask about only if the tool asks
    /// each time, and something to refuse if a deny rule of the user names the tool. Otherwise nothing is decided here
    /// that was not decided with the script, and whoever makes the call records it once, as a call.
    pub fn weigh_tool_call<'g>(&'g self, call: ToolCall<'_>, context: &SessionContext) -> Weighed<'g>
    where
        'a: 'g,
    {
        let began = Instant::now();
        let findings = call.asks.then(|| Finding {
            rule: "tool-call",
            category: Category::HiddenExecution,
            severity: Severity::Medium,
            decision: Decision::Ask,
            sentence: format!("A script calls the tool {}, which asks each time.", call.tool),
            words: String::new(),
        });
        let verdict = Verdict::of(findings.into_iter().collect());
        let named = |covers: &Prohibited| match covers {
            Prohibited::Rule(rule) => call.asks && rule == "tool-call",
            Prohibited::Program { program, arguments } => program == call.tool && arguments.is_empty(),
        };
        let prohibited = self.grants.stored.deny.iter().any(|rule| named(&rule.covers));
        let subject = Subject::tool_call(call.tool, call.arguments, context);
        let question = Question { gate: self, context: context.clone(), verdict, subject, began };
        if call.asks || prohibited {
            return self.weigh_judged(question, prohibited);
        }
        question.let_through()
    }
}
