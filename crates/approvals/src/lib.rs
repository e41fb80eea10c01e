//! The approval gate: what a command would do, and whether somebody has to be asked first.
//!
//! [`judge`] reads a command line as a shell would, opens every wrapper, follows every text that is run as
//! code, and judges each simple command by its effect: what it deletes, overwrites, sends, runs from the
//! network, escalates, makes permanent, stops, or reads that is secret. All findings are reported and the
//! strictest decides. What cannot be understood is asked about, never allowed.
//!
//! The gate is a heuristic in front of the sandbox. It reads intentions; the sandbox is the boundary.

mod accounts;
mod call;
mod check;
mod context;
mod database;
mod delete;
mod environment;
mod flow;
mod inline;
mod interpreter;
mod judge;
mod network;
mod peel;
mod place;
mod program_text;
mod reading;
mod rules;
mod sensitive;
mod verdict;
mod write;

pub use context::Context;
pub use judge::{judge, judge_bytes};
pub use rules::{RULES, Rule};
pub use verdict::{Category, Decision, Finding, Severity, Verdict};

#[cfg(test)]
mod tests;
