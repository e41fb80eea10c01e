//! The approval gate: what a command would do, and whether somebody has to be asked first.
//!
//! [`judge()`] reads a command line as a shell would, opens every wrapper, follows every text that is run as
//! code, and judges each simple command by its effect: what it deletes, overwrites, sends, runs from the
//! network, escalates, makes permanent, stops, or reads that is secret. All findings are reported and the
//! strictest decides. What cannot be understood is asked about, never allowed.
//!
//! [`Gate`] is what everything that runs a command goes through: it judges, looks the session up in the
//! [`matrix`], asks the [`approver`] by way of the [`Broker`], records what was decided, and is the only maker of
//! [`Approved`], without which nothing runs.
//!
//! The gate is a heuristic in front of the sandbox. It reads intentions; the sandbox is the boundary.

mod accounts;
pub mod approver;
mod broker;
mod call;
mod check;
mod context;
mod database;
mod delete;
mod editors;
mod environment;
mod fetched;
mod filling;
mod finders;
mod flow;
mod gate;
mod git_alias;
mod grants;
mod handed_on;
mod inline;
mod interpreter;
mod judge;
mod language;
mod later;
mod ledger;
mod links;
mod listed;
mod literal;
pub mod matrix;
mod multitudes;
mod names;
mod network;
mod peel;
mod place;
mod prints;
mod program_text;
mod quoted;
mod reading;
mod recipes;
mod revocation;
mod rule_names;
mod rules;
mod script;
mod secrets;
mod sensitive;
mod served;
mod session;
mod spelling;
mod subject;
mod throwaway;
mod tool_call;
mod tools;
mod verdict;
pub mod visible;
mod write;

pub use broker::{Answer, Answered, Broker, BrokerError, Fate, Pending, Scope};
pub use context::Context;
pub use gate::{Approved, Changed, Gate, Question, Reason, Refused, Weighed};
pub use grants::{Grants, GrantsError};
pub use judge::{judge, judge_bytes};
pub use revocation::Revocation;
pub use rules::{RULES, Rule};
pub use script::ScriptLanguage;
pub use session::{Author, Backend, SessionContext};
pub use subject::{Digest, Subject};
pub use tool_call::ToolCall;
pub use verdict::{Category, Decision, Finding, Severity, Verdict};

#[cfg(test)]
mod tests;
