//! One call of a program, after the wrappers in front of it have been taken off.

use std::rc::Rc;

use cofferdam_shell_syntax::{HOLE, Input, SimpleCommand, Word};

use crate::Context;
use crate::place::Path;

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub argv: Rc<Vec<Word>>,
    pub input: Input,
    pub directory: Option<Rc<str>>,
    /// On another machine or in a container: paths there are not those here.
    pub elsewhere: bool,
}

impl Call {
    pub fn of(command: &SimpleCommand) -> Self {
        Self {
            argv: Rc::clone(&command.argv),
            input: command.input.clone(),
            directory: command.directory.clone(),
            elsewhere: false,
        }
    }

    /// The same circumstances with another command.
    #[must_use]
    pub fn with_argv(&self, argv: impl Into<Rc<Vec<Word>>>) -> Self {
        Self { argv: argv.into(), input: self.input.clone(), directory: self.directory.clone(), ..*self }
    }

    /// Where it would run, for a sum of it: behind a byte that is in no text.
    pub fn circumstances(&self, all: &mut Vec<u8>) {
        all.push(if self.elsewhere { 0xfb } else { 0xfc });
        if let Some(directory) = &self.directory {
            all.push(0xfa);
            all.extend_from_slice(directory.as_bytes());
        }
    }

    /// The name of the program without its directory; `None` when it is not known.
    pub fn program(&self) -> Option<&str> {
        let word = self.argv.first()?;
        let text = word.text();
        let name =
            text.bytes().rposition(|byte| matches!(byte, b'/' | b'\\')).map_or(text, |at| &text[at + 1..]);
        let name = match name.as_bytes().last() {
            Some(b'e') => name.strip_suffix(".exe").unwrap_or(name),
            Some(b'E') => name.strip_suffix(".EXE").unwrap_or(name),
            _ => name,
        };
        let hole = word.is_unknown() && name.contains(HOLE);
        (!hole && !name.is_empty()).then_some(name)
    }

    pub fn arguments(&self) -> &[Word] {
        self.argv.get(1..).unwrap_or_default()
    }

    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.arguments().iter().map(Word::text)
    }

    /// Words that are no options; after `--` every word.
    pub fn operands(&self) -> impl Iterator<Item = &Word> {
        let mut all = false;
        self.arguments().iter().filter(move |word| {
            if word.text() == "--" && !all {
                all = true;
                return false;
            }
            all || !word.text().starts_with('-') || word.text() == "-"
        })
    }

    /// Whether a short option is given, alone or among others, or one of the long ones.
    pub fn has(&self, short: &[char], long: &[&str]) -> bool {
        self.texts().take_while(|text| *text != "--").any(|text| match text.strip_prefix("--") {
            Some(name) => long.contains(&name.split('=').next().unwrap_or(name)),
            None => text.strip_prefix('-').is_some_and(|flags| flags.contains(short)),
        })
    }

    pub fn has_word(&self, words: &[&str]) -> bool {
        self.texts().any(|text| words.contains(&text))
    }

    /// The value of an option, in the next word: one that is joined to it is there once the call is spelt out.
    pub fn value(&self, options: &[&str]) -> Option<&Word> {
        let words = self.arguments();
        words
            .iter()
            .enumerate()
            .find_map(|(at, word)| options.contains(&word.text()).then(|| words.get(at + 1)).flatten())
    }

    pub fn path(&self, word: &Word, context: &Context) -> Path {
        Path::of(word, self.directory.as_deref(), context)
    }

    /// The call as one line, cut to what a person reads at a glance.
    pub fn line(&self) -> String {
        let mut line = String::new();
        for word in self.argv.iter() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.extend(
                word.text()
                    .chars()
                    .map(|c| if c.is_control() { '\u{FFFD}' } else { c })
                    .take(300 - line.len().min(300)),
            );
            if line.len() >= 300 {
                line.push('…');
                break;
            }
        }
        line.replace(HOLE, "‹?›")
    }

    /// The call as it is if nothing comes into the gaps within its words: a variable that is not set leaves nothing behind,
    /// so `sha${x}dow` may well be `shadow`. None if there are no such words.
    pub fn without_gaps(&self) -> Option<Self> {
        let gap = |word: &Word| {
            let mut letters = word.text().chars();
            let mut before = letters.next()?;
            while let Some(letter) = letters.next() {
                if letter == HOLE && before.is_ascii_alphanumeric() {
                    return letters.next().filter(char::is_ascii_alphanumeric);
                }
                before = letter;
            }
            None
        };
        if !self.arguments().iter().any(|word| word.is_unknown() && gap(word).is_some()) {
            return None;
        }
        let closed = self.argv.iter().map(|word| match gap(word) {
            Some(_) => word.with_text(word.text().replace(HOLE, "")),
            None => word.clone(),
        });
        Some(self.with_argv(closed.collect::<Vec<_>>()))
    }
}
