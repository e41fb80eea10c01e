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
    /// The letters that a word must have for each of them.
    pub(crate) any_letters: &'static [u128],
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
    /// Where a name is among them, plus one, at the place of its sum or right behind; zero for none.
    slots: &'static [u16],
    /// What patterns begin with.
    begins: u128,
    /// How many letters a name has at least that a pattern fits.
    shortest: usize,
    patterns: &'static [(&'static str, usize)],
}

impl Index {
    /// The places of all entries for a name.
    pub fn find(&self, name: &str) -> impl Iterator<Item = usize> {
        let exact = self.exact(name).unwrap_or_default();
        // Nearly every name begins with a letter that no pattern begins with.
        let begin = |byte: u8| self.begins & (1 << (byte & 127)) != 0;
        let possible = name.len() >= self.shortest && (begin(b'*') || name.bytes().next().is_some_and(begin));
        let patterns = if possible { self.patterns } else { &[] };
        let first = name.as_bytes().first();
        let patterns = patterns.iter().filter(move |(pattern, _)| {
            let begins = pattern.as_bytes().first();
            (begins == first || begins == Some(&b'*')) && fits(pattern, name)
        });
        let patterns = patterns.map(|(_, at)| *at);
        exact.iter().copied().chain(patterns)
    }

    /// Whether there is any.
    pub fn has(&self, name: &str) -> bool {
        self.exact(name).is_some() || name.len() >= self.shortest && self.find(name).next().is_some()
    }

    fn exact(&self, name: &str) -> Option<&'static [usize]> {
        // There are as many as a power of two.
        let mut slot = sum(name) & (self.slots.len() - 1);
        loop {
            let place = usize::from(self.slots[slot]).checked_sub(1)?;
            let (known, entries) = self.exact[place];
            if known == name {
                return Some(entries);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }
}

/// As in `build.rs`, which makes the tables. Nobody but us puts names into them, so it need not be a secret one.
fn sum(name: &str) -> usize {
    let sum = |sum: u32, byte: u8| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    name.bytes().fold(0x811c_9dc5, sum) as usize
}

include!(concat!(env!("OUT_DIR"), "/tables.rs"));

/// Whether a pattern with `*` for anything fits the whole text. Byte by byte: the searches of the standard library prepare
/// for long texts, and patterns and words are short.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    // Most patterns have no star, and most others begin with something else.
    if pattern.first() != Some(&b'*') && pattern.first() != text.first() {
        return false;
    }
    let (mut in_pattern, mut in_text) = (0, 0);
    // Where the last star is, and how far into the text it reaches so far.
    let mut star = None;
    while in_text < text.len() {
        match pattern.get(in_pattern) {
            Some(b'*') => {
                in_pattern += 1;
                star = Some((in_pattern, in_text));
            }
            Some(byte) if *byte == text[in_text] => {
                in_pattern += 1;
                in_text += 1;
            }
            _ => {
                let Some((after, reach)) = star else { return false };
                (in_pattern, in_text) = (after, reach + 1);
                star = Some((after, reach + 1));
            }
        }
    }
    pattern[in_pattern..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text) in [
            ("", ""),
            ("a", "a"),
            ("*", ""),
            ("*", "a"),
            ("a*", "a"),
            ("*b*", "abc"),
            ("a*b*c", "aXbXbXc"),
            ("*ab", "aab"),
            ("*aab*", "aaab"),
            ("**", "x"),
            ("é*", "éa"),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("", "a"),
            ("a", ""),
            ("a*", "b"),
            ("*b", "abc"),
            ("a*b*c", "acb"),
            ("ab*ba", "aba"),
            ("a", "ab"),
        ] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }
}
