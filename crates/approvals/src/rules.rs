//! The rules as tables: made from `rules/*.toml` when the program is built.

use crate::language::{Effect, Language};
use crate::place::Place;
use crate::{Category, Decision, Severity};

/// A rule on the words of one command. Empty lists ask nothing.
#[derive(Debug)]
pub struct Rule {
    pub id: &'static str,
    pub category: Category,
    pub severity: Severity,
    pub decision: Decision,
    /// One sentence that a person understands.
    pub sentence: &'static str,
    /// Whether a second opinion may say yes in a person's place.
    pub reviewable: bool,
    /// The first words that are not options, in this order.
    pub(crate) sub: &'static [&'static str],
    /// One of these is among the words.
    pub(crate) any: &'static [&'static str],
    /// All of these are among the words; `a|b` is one or the other.
    pub(crate) all: &'static [&'static str],
    /// None of these is.
    pub(crate) none: &'static [&'static str],
    /// One word that is no option names such a place.
    pub(crate) operand: &'static [Place],
    pub(crate) ignore_case: bool,
    /// Single letters are not looked for in `-abc`.
    pub(crate) exact: bool,
    pub(crate) unless_download: bool,
    /// What follows one of these prefixes is shell text.
    pub(crate) runs: &'static [&'static str],
    /// The rule does not apply when that text starts one of these programs.
    pub(crate) unless_runs: &'static [&'static str],
    /// Commands for which a wrapper is harmless: the program, then one of the words that only look.
    pub(crate) unless_inner: &'static [&'static str],
    /// Commands that it must find, and commands that it must not.
    pub matches: &'static [&'static str],
    pub no_match: &'static [&'static str],
}

/// A program that runs the command given to it.
#[derive(Debug)]
pub(crate) struct Wrapper {
    pub sub: &'static [&'static str],
    pub valued: &'static [&'static str],
    pub skip: usize,
    pub assigns: bool,
    pub after_dashes: bool,
    pub text_options: &'static [&'static str],
    pub text: bool,
    pub stdin_text: bool,
    /// Another machine or another root: paths there are not those here.
    pub elsewhere: bool,
}

/// An environment variable that makes programs run or load something.
#[derive(Debug)]
pub(crate) struct Variable {
    pub category: Category,
    pub sentence: &'static str,
    pub unless: &'static [&'static str],
    pub only: &'static [&'static str],
    pub runs: bool,
}

/// A statement in a database language.
#[derive(Debug)]
pub(crate) struct Statement {
    pub id: &'static str,
    pub severity: Severity,
    pub sentence: &'static str,
    pub starts: &'static [&'static str],
    pub contains: &'static [&'static str],
    pub without: &'static [&'static str],
}

/// A function of a programming language that does something to the machine.
#[derive(Debug)]
pub(crate) struct Call {
    pub languages: &'static [Language],
    pub name: &'static str,
    pub effect: Effect,
    /// Only in a program that mentions this; empty asks nothing.
    pub needs: &'static str,
}

/// What a subcommand does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolEffect {
    Deletes,
    Changes,
    Sends,
    Runs,
    Escalates,
    Persists,
    Stops,
    Reveals,
}

/// The subcommands of a program, as phrases: words in the order of the operands, options anywhere.
#[derive(Debug)]
pub(crate) struct Tool {
    pub effects: &'static [(ToolEffect, &'static [&'static str])],
    pub unless: &'static [&'static str],
    /// Words of which one is said by whoever only looks; whatever says none of them changes something.
    pub looks: &'static [&'static str],
}

/// Words that mean the same to every program that takes subcommands.
#[derive(Debug)]
pub(crate) struct Verb {
    pub effect: ToolEffect,
    pub words: &'static [&'static str],
    pub with: &'static [&'static str],
    /// Options of which one has to be there; empty asks nothing.
    pub flags: &'static [&'static str],
}

/// Entries by the name of a program or variable.
#[derive(Debug)]
pub(crate) struct Index {
    exact: &'static [(&'static str, &'static [usize])],
    patterns: &'static [(&'static str, usize)],
}

impl Index {
    /// The places of all entries for a name.
    pub fn find(&self, name: &str) -> impl Iterator<Item = usize> {
        let exact: &[usize] = match self.exact.binary_search_by(|(known, _)| (*known).cmp(name)) {
            Ok(at) => self.exact[at].1,
            Err(_) => &[],
        };
        let patterns =
            self.patterns.iter().filter(move |(pattern, _)| fits(pattern, name)).map(|(_, at)| *at);
        exact.iter().copied().chain(patterns)
    }
}

include!(concat!(env!("OUT_DIR"), "/tables.rs"));

/// Where a few letters stand in a word. The search of the standard library prepares for long texts, which costs more
/// than to look.
fn find(text: &str, part: &str) -> Option<usize> {
    let Some((first, rest)) = part.as_bytes().split_first() else { return Some(0) };
    let bytes = text.as_bytes();
    let mut from = 0;
    loop {
        let at = from + bytes.get(from..)?.iter().position(|byte| byte == first)?;
        if bytes[at + 1..].starts_with(rest) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// Whether a pattern with `*` for anything fits the whole text.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    if pattern == text {
        return true;
    }
    // Most patterns have no star, and most others begin with something else.
    let (pattern_start, text_start) = (pattern.as_bytes().first(), text.as_bytes().first());
    if pattern_start != Some(&b'*') && pattern_start != text_start {
        return false;
    }
    let Some((head, rest)) = pattern.split_once('*') else { return false };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    let mut rest = rest;
    while let Some((part, more)) = rest.split_once('*') {
        match find(text, part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
        rest = more;
    }
    text.len() >= rest.len() && text.ends_with(rest)
}
