//! Every call passes the gate and stands in the record, in the name of the session that started the script.

use std::borrow::Cow;
use std::sync::atomic::Ordering;

use cofferdam_approvals::approver::Approver;
use cofferdam_approvals::{Approved, Author, Backend, Refused, SessionContext, ToolCall, Weighed};
use cofferdam_audit::event::{self, Outcome, ToolReason};
use cofferdam_audit::{AuditError, Label};
use cofferdam_exec_broker::message::{ErrorKind, ToolError};
use cofferdam_exec_broker::tool::{BuiltIn, Tool};
use cofferdam_exec_broker::{Call, Language};
use cofferdam_policy::document;
use serde_json::{Map, Value};

use super::granted::Doer;
use super::script::approval_language;
use super::toolbox::Toolbox;
use crate::admission::{self, Line};
use crate::failure::Failure;
use crate::gatekeeper::Gatekeeper;

/// Calls that were refused before the gate (no such tool, too many) and are recorded one by one; a script that goes on
/// trying is counted.
const MOST_RECORDED: usize = 100;

/// A call that the gate let through.
pub struct Passed {
    pub approved: Approved,
}

impl Passed {
    /// To be asked last before something starts.
    pub fn still_holds(&self) -> Result<(), ToolError> {
        self.approved.still_holds().map_err(|changed| {
            ErrorKind::Denied.with(format!("{} was changed after it was approved", changed.path))
        })
    }
}

impl Toolbox {
    /// Has the gate judge what a call would do.
    pub fn pass(&self, tool: &Tool, arguments: &Map<String, Value>) -> Result<Passed, ToolError> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let gate = self.keeper.gate(None);
        let plain = |asks| {
            let arguments = serde_json::to_string(arguments).unwrap_or_default();
            let call = ToolCall { tool: &tool.name, arguments: &arguments, asks };
            gate.weigh_tool_call(call, &self.context)
        };
        let mut context = Cow::Borrowed(&self.context);
        let weighed = match self.granted.doer(&tool.name) {
            Some(Doer::BuiltIn(BuiltIn::Terminal)) => {
                let mut directory = self.wished.request.workspace.clone();
                directory.extend(text("directory"));
                context.to_mut().place.directory = directory.to_string_lossy().into_owned();
                gate.weigh(text("command").unwrap_or_default(), &context)
            }
            Some(Doer::BuiltIn(BuiltIn::ExecuteCode)) => {
                let code = text("code").unwrap_or_default();
                gate.weigh_script(approval_language(language(arguments)), code, &context)
            }
            Some(Doer::BuiltIn(BuiltIn::WriteFile | BuiltIn::Patch)) => {
                gate.weigh(&writing(arguments), &context)
            }
            Some(Doer::BuiltIn(BuiltIn::ReadFile | BuiltIn::SearchFiles) | Doer::Host) => plain(false),
            Some(Doer::Server { asks, .. }) => plain(*asks),
            Some(Doer::Command(configured)) => {
                self.settled(plain(configured.ask), &context)?;
                context = Cow::Owned(configured_context(&self.context));
                gate.weigh(&line(configured), &context)
            }
            None => return Err(ErrorKind::UnknownTool.with("there is no such tool")),
        };
        Ok(Passed { approved: self.settled(weighed, &context)? })
    }

    /// Asks where there is something to ask. Waiting for a person takes none of the script's time.
    fn settled(&self, weighed: Weighed<'_>, context: &SessionContext) -> Result<Approved, ToolError> {
        let denied = |refused: Refused| ErrorKind::Denied.with(refused.sentence());
        match weighed {
            Weighed::Approved(approved) => Ok(approved),
            Weighed::Refused(refused) => Err(denied(refused)),
            Weighed::Ask(question) => {
                let approver = self.keeper.at_terminal(context);
                let _waiting = self.clock.wait();
                question.put(&approver).map_err(denied)
            }
        }
    }

    /// Puts a call on record.
    pub fn record(&self, call: &Call<'_>, passed: &Result<Passed, ToolError>) -> Result<(), ToolError> {
        let outcome = match passed {
            Ok(_) => Outcome::Allowed,
            Err(_) => Outcome::Refused { reason: ToolReason::GateRefused },
        };
        self.write(outcome, &call.tool.name, call.number)
            .map_err(|_| ErrorKind::Denied.with("the call could not be recorded"))
    }

    /// A call that did not get as far as the gate.
    pub fn record_refusal(&self, tool: &str, kind: ErrorKind) {
        let reason = match kind {
            ErrorKind::UnknownTool => ToolReason::NotGranted,
            ErrorKind::CallLimit => ToolReason::CallLimit,
            _ => ToolReason::MalformedCall,
        };
        if self.refusals.fetch_add(1, Ordering::Relaxed) < MOST_RECORDED {
            // A no stays a no when it cannot be recorded.
            let _ = self.write(Outcome::Refused { reason }, tool, 0);
        }
    }

    fn write(&self, outcome: Outcome<ToolReason>, tool: &str, call: u64) -> Result<(), AuditError> {
        let event = event::ToolCall { outcome, tool: Label::new(tool), call };
        self.keeper.recorder.record(Some(&Label::new(&self.context.session)), &event.into()).map(drop)
    }
}

/// A server of the configuration is started in the name of the session, too.
pub fn admit_server(
    keeper: &Gatekeeper,
    context: &SessionContext,
    server: &document::Tool,
) -> Result<(), Failure> {
    let context = SessionContext { backend: Backend::Isolated, ..configured_context(context) };
    let decided = keeper.gate(None).decide(&line(server), &context, &Approver::Nobody);
    decided.map(drop).map_err(|refused| admission::refused(&refused))
}

/// Whoever wrote a command line into the configuration has decided about it; the floor and the user's deny rules hold
/// all the same.
fn configured_context(context: &SessionContext) -> SessionContext {
    SessionContext { author: Author::Caller, backend: Backend::Host, ..context.clone() }
}

fn line(tool: &document::Tool) -> String {
    let (document::Runs::Command(words) | document::Runs::Mcp(words)) = &tool.runs;
    let words: Vec<_> = words.iter().map(Into::into).collect();
    Line::Words(&words).written()
}

pub fn language(arguments: &Map<String, Value>) -> Language {
    match arguments.get("language").and_then(Value::as_str) {
        Some("bash") => Language::Bash,
        Some("node") => Language::Node,
        _ => Language::Python,
    }
}

/// The command that does what a writing tool does, for the gate to judge.
fn writing(arguments: &Map<String, Value>) -> String {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let quoted = |path: &str| format!("cat > '{}'", path.replace('\'', "'\\''"));
    match (text("path"), text("diff")) {
        (Some(path), _) => quoted(path),
        (None, Some(diff)) => {
            let names = cofferdam_exec_broker::files::named_in_diff(diff);
            names.iter().map(|path| quoted(path)).collect::<Vec<_>>().join("; ")
        }
        (None, None) => "true".to_owned(),
    }
}
