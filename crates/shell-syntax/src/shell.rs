//! The state of a shell that runs nothing: variables, functions, aliases, the directory, and the files that
//! the text has written so far.

use std::collections::hash_map::Entry;
use std::ops::Range;
use std::rc::Rc;

use compact_str::CompactString;

use crate::files::{Files, Map};
use crate::functions::{Names, Running};
use crate::reading::{Manner, Reading};
pub(crate) use crate::variables::{Value, Variable, Variables};
use crate::{Doubt, HOLE, Parsed, Source, Word};

/// More commands than this are not followed.
const MOST_COMMANDS: usize = 20_000;
/// What is remembered of all commands together.
const MOST_KEPT: usize = 16 << 20;
/// Texts within a text may be this many bytes together, or a few times as long as the text itself.
const MOST_PARSED: usize = 256 * 1024;
/// Statements within substitutions within evaluated texts within functions.
const DEEPEST: usize = 120;

/// Where the text would run.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The home directory, absolute.
    pub home: String,
    /// The working directory, absolute.
    pub directory: String,
    /// The name of the user.
    pub user: String,
}

/// Told of every simple command in the order of execution, before its effects on the shell are taken.
pub trait Watch {
    /// `index` is the command's place in [`Shell::commands`].
    fn command(&mut self, shell: &mut Shell, index: usize);
}

/// What a command reads on its standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Input {
    /// Whatever the shell itself reads.
    #[default]
    Inherited,
    /// A here-document or here-string.
    Text(Rc<Word>),
    /// The output of these commands, as far as it is known.
    Pipe { from: Range<usize>, output: Rc<Word> },
    /// A file.
    File(Word),
}

impl Input {
    /// The text, as far as it is known.
    pub fn text(&self) -> Option<&Word> {
        match self {
            Self::Text(word) | Self::Pipe { output: word, .. } => Some(word),
            Self::Inherited | Self::File(_) => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectKind {
    Write,
    Append,
    Read,
    ReadWrite,
    Duplicate,
}

/// A file that a command opens before it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    pub descriptor: Option<i32>,
    pub kind: RedirectKind,
    pub target: Word,
}

/// One command with its words as the program would get them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimpleCommand {
    /// Empty when the command only assigns or only redirects.
    pub argv: Rc<Vec<Word>>,
    pub assignments: Vec<(String, Word)>,
    pub redirects: Vec<Redirect>,
    pub input: Input,
    /// `None` after a `cd` to an unknown place.
    pub directory: Option<Rc<str>>,
    /// Where it is written, in the text that was parsed last; empty for what was computed.
    pub written: CompactString,
    /// Whether its output goes on to another command.
    pub piped: bool,
}

/// What the text itself has put into a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileContent {
    Text(Word),
    /// A copy of, or a link to, this file.
    Same(String),
}

/// What a `break`, `return` or `exit` may have left: all that follows there may not run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Left {
    pub turn: bool,
    pub function: bool,
    pub process: bool,
}

impl Left {
    pub fn any(self) -> bool {
        self.turn || self.function || self.process
    }
}

/// The variables that a function hides while it runs.
#[derive(Debug, Default)]
pub(crate) struct Locals {
    /// How many branches are around the function itself.
    pub conditional: usize,
    /// What each was outside, and whether it is hidden whatever happens.
    pub hidden: Vec<(String, Option<Variable>, bool)>,
}

/// A shell in the middle of a text.
#[derive(Debug)]
pub struct Shell {
    pub(crate) surroundings: Surroundings,
    pub(crate) variables: Variables,
    /// `$0`.
    pub(crate) name: Word,
    /// Shared, because every subshell gets them and few change them.
    pub(crate) positional: Rc<Vec<Word>>,
    pub(crate) names: Names,
    /// Functions that ended with their subshell before anything called them.
    pub(crate) uncalled: Vec<(String, Rc<str>)>,
    /// How many programs deep this shell was started by the first one.
    pub(crate) process: usize,
    /// What is to happen when the shell ends.
    pub(crate) traps: Vec<String>,
    pub(crate) files: Files,
    pub(crate) directory: Option<Rc<str>>,
    /// Where the shell still is if the list of commands that has just ended did not run to its end.
    pub(crate) stayed: Option<Rc<str>>,
    /// Whether any variable may hold one of several values.
    pub(crate) unsure: bool,
    /// How many commands the one that is read may be.
    pub(crate) choices: usize,
    /// Variables whose values are computed when they are set.
    pub(crate) computed: Vec<String>,
    pub(crate) commands: Vec<SimpleCommand>,
    pub(crate) doubts: Vec<Doubt>,
    pub(crate) depth: usize,
    /// Above zero in branches that may not run.
    pub(crate) conditional: usize,
    /// The functions and scripts that are running.
    pub(crate) calls: Vec<Running>,
    /// The subshells and programs around this command.
    pub(crate) subshells: usize,
    /// How many branches are around the turn of a loop that is followed: within it, what is set is set.
    pub(crate) within_turn: usize,
    /// The loops around this command.
    pub(crate) loops: usize,
    /// What ends before all of it has run.
    pub(crate) left: Left,
    /// What `local` has hidden in each function that runs.
    pub(crate) locals: Vec<Locals>,
    /// Above zero within a pipeline or a background job.
    pub(crate) concurrent: usize,
    /// How many bytes are kept for the commands and files seen so far.
    pub(crate) kept: usize,
    /// Texts that were parsed and may come again.
    pub(crate) read: Map<Rc<Reading>>,
    /// How many bytes may still be parsed: text within text is read again at every level.
    pub(crate) budget: Option<usize>,
    /// How texts are read.
    pub(crate) manner: Manner,
}

impl Shell {
    pub fn new(surroundings: Surroundings) -> Self {
        let directory = Some(surroundings.directory.as_str().into());
        Self {
            surroundings,
            variables: Variables::default(),
            name: Word::known("bash"),
            positional: Rc::default(),
            names: Names::default(),
            uncalled: Vec::new(),
            process: 0,
            traps: Vec::new(),
            files: Files::default(),
            directory,
            stayed: None,
            unsure: false,
            choices: 1,
            computed: Vec::new(),
            commands: Vec::new(),
            doubts: Vec::new(),
            depth: 0,
            conditional: 0,
            calls: Vec::new(),
            subshells: 0,
            within_turn: 0,
            loops: 0,
            left: Left::default(),
            locals: Vec::new(),
            concurrent: 0,
            kept: 0,
            read: Map::default(),
            budget: None,
            manner: Manner::default(),
        }
    }

    /// The commands seen so far.
    pub fn commands(&self) -> &[SimpleCommand] {
        &self.commands
    }

    pub fn doubts(&self) -> &[Doubt] {
        &self.doubts
    }

    pub fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// Where commands run now; `None` after a `cd` to an unknown place.
    pub fn directory(&self) -> Option<&str> {
        self.directory.as_deref()
    }

    /// What this text has written to a file, if it has.
    pub fn file(&self, path: &str) -> Option<&FileContent> {
        // Most texts write nothing, and then no path has to be made whole to find that out.
        if !self.files.may_have(path) {
            return None;
        }
        self.files.get(&self.resolve(path)?)
    }

    /// A number that changes whenever this text writes a file: what a command would read may be another thing then.
    pub fn writes(&self) -> u64 {
        self.files.writes()
    }

    /// Records that a file now holds something.
    pub fn write_file(&mut self, path: &str, content: FileContent) {
        if let Some(path) = self.resolve(path) {
            if let FileContent::Text(text) = &content {
                self.kept += text.text().len();
            }
            match self.files.entry(path) {
                Entry::Occupied(mut place) if self.conditional > 0 => {
                    let before = std::mem::replace(place.get_mut(), FileContent::Same(String::new()));
                    *place.get_mut() = either_content(before, content);
                }
                place => drop(place.insert_entry(content)),
            }
        }
    }

    /// Records that something was added to the end of a file. In place: a script that keeps a log would otherwise be
    /// copied once for every line of it.
    pub(crate) fn append_file(&mut self, path: &str, more: &Word) {
        let Some(path) = self.resolve(path) else { return };
        self.kept += more.text().len();
        match self.files.entry(path).or_insert_with(|| FileContent::Text(Word::default())) {
            FileContent::Text(before) => before.push(more),
            same @ FileContent::Same(_) => *same = FileContent::Text(more.clone()),
        }
    }

    /// An absolute path without `.`, `..` and doubled slashes.
    pub fn resolve(&self, path: &str) -> Option<String> {
        if path.starts_with('/') {
            return Some(normalise("/", path));
        }
        self.directory.as_deref().map(|directory| normalise(directory, path))
    }

    pub(crate) fn doubt(&mut self, doubt: Doubt) {
        if !self.doubts.contains(&doubt) {
            self.doubts.push(doubt);
        }
    }

    /// Takes the length of a text that is about to be parsed from the budget.
    pub(crate) fn may_parse(&mut self, length: usize) -> bool {
        let budget = self.budget.get_or_insert(MOST_PARSED.max(length.saturating_mul(4)));
        match budget.checked_sub(length) {
            Some(left) => {
                *budget = left;
                true
            }
            None => {
                self.doubt(Doubt::TooMuch);
                false
            }
        }
    }

    /// Runs something one level deeper; refuses when that is too deep or too much.
    pub(crate) fn deeper<T: Default>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= DEEPEST {
            self.doubt(Doubt::TooDeep);
            return T::default();
        }
        if self.commands.len() >= MOST_COMMANDS || self.kept > MOST_KEPT {
            self.doubt(Doubt::TooMuch);
            return T::default();
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Everything seen, after the functions that were defined and never called have been looked at too.
    pub fn finish(mut self, watch: &mut dyn Watch) -> Parsed {
        self.run_uncalled(watch);
        Parsed { commands: self.commands, doubts: self.doubts }
    }

    pub fn run_uncalled(&mut self, watch: &mut dyn Watch) {
        self.run_traps(0, watch);
        // By name, so that the same text is told in the same order every time.
        let mut aliases: Vec<(String, String)> =
            self.names.aliases.iter().map(|(name, text)| (name.clone(), text.clone())).collect();
        aliases.sort_unstable();
        for (_, text) in aliases {
            self.run_inside(&text, Vec::new(), &Input::Inherited, watch);
        }
        for (_, body) in self.take_uncalled() {
            let argument = Word::unknown(Some(Source::Variable("1".to_owned())));
            self.run_inside(&body, vec![argument; 3], &Input::Inherited, watch);
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: Value) {
        let name = self.referred(name).to_owned();
        if let Value::List(words) = &value {
            self.kept += words.iter().map(|word| word.text().len() + 64).sum::<usize>();
        }
        if self.conditional > self.within_turn {
            self.set_perhaps(&name, value);
        } else {
            self.variables.insert(&name, value);
        }
    }

    /// The variable that a reference variable stands for; itself for others.
    pub(crate) fn referred<'a>(&'a self, name: &'a str) -> &'a str {
        let mut name = name;
        for _ in 0..8 {
            match self.variables.get(name) {
                Some(Variable { names_another: true, value: Value::Scalar(target), .. }) => {
                    name = target.text();
                }
                _ => break,
            }
        }
        name
    }
}

/// A file that holds the one or the other: both can be seen, and it is not known what a reader gets.
fn either_content(before: FileContent, now: FileContent) -> FileContent {
    match (before, now) {
        (FileContent::Text(before), FileContent::Text(now)) if before.text() == now.text() => {
            FileContent::Text(now)
        }
        (FileContent::Text(mut before), FileContent::Text(now)) => {
            if !before.text().ends_with(now.text()) {
                before.push_str("\n");
                before.push(&now);
            }
            before.push_str(&format!("\n{HOLE}"));
            FileContent::Text(before)
        }
        (FileContent::Text(mut text), FileContent::Same(_))
        | (FileContent::Same(_), FileContent::Text(mut text)) => {
            text.push_str(&format!("\n{HOLE}"));
            FileContent::Text(text)
        }
        (FileContent::Same(_), now) => now,
    }
}

/// A variable that holds the one or the other.
pub(crate) fn either(name: &str, before: &Value, now: Value) -> Value {
    let one = |before: &Word, now: Word| {
        if *before == now {
            return now;
        }
        let alike = before.text() == now.text();
        let mut word = if alike { now } else { Word::unknown(Some(Source::Variable(name.to_owned()))) };
        if alike {
            word.add_sources(before.sources());
        }
        word
    };
    match (before, now) {
        (Value::Scalar(before), Value::Scalar(now)) => Value::Scalar(one(before, now)),
        (Value::List(before), Value::List(now)) if before.len() == now.len() => {
            Value::List(before.iter().zip(now).map(|(before, now)| one(before, now)).collect())
        }
        (Value::Map(before), Value::Map(now)) => {
            let mut all = before.clone();
            for (key, now) in now {
                let value = one(before.get(&key).unwrap_or(&Word::default()), now);
                all.insert(key, value);
            }
            Value::Map(all)
        }
        _ => Value::Scalar(one(&Word::default(), Word::unknown(None))),
    }
}

/// Whether nothing in a path has to be taken out: no part of it is empty or begins with a dot.
fn is_clean(path: &str) -> bool {
    let bytes = path.as_bytes();
    if matches!(bytes.first(), Some(b'.')) || matches!(bytes.last(), Some(b'/')) {
        return false;
    }
    let mut at = 1;
    while at < bytes.len() {
        if bytes[at - 1] == b'/' && matches!(bytes[at], b'/' | b'.') {
            return false;
        }
        at += 1;
    }
    true
}

/// Joins and cleans a path as text; links are not looked at.
pub fn normalise(directory: &str, path: &str) -> String {
    let mut whole = String::new();
    normalise_into(&mut whole, directory, path);
    whole
}

/// The same, put where another path was before.
pub fn normalise_into(whole: &mut String, directory: &str, path: &str) {
    whole.clear();
    whole.reserve(directory.len() + path.len() + 2);
    let base = if path.starts_with('/') { "" } else { directory };
    // Most paths are clean already.
    let clean = path.strip_suffix('/').unwrap_or(path);
    let whole_base = base.is_empty() || base.starts_with('/');
    if whole_base && !clean.is_empty() && is_clean(base) && is_clean(clean) {
        whole.push_str(base);
        if !clean.starts_with('/') {
            whole.push('/');
        }
        whole.push_str(clean);
        return;
    }
    // By hand: parts are short, and searches that are made for long texts are slow on them.
    for text in [base, path] {
        let bytes = text.as_bytes();
        let mut start = 0;
        while start < bytes.len() {
            let mut end = start;
            while end < bytes.len() && bytes[end] != b'/' {
                end += 1;
            }
            match &bytes[start..end] {
                b"" | b"." => {}
                b".." => whole.truncate(whole.rfind('/').unwrap_or(0)),
                _ => {
                    whole.push('/');
                    whole.push_str(&text[start..end]);
                }
            }
            start = end + 1;
        }
    }
    if whole.is_empty() {
        whole.push('/');
    }
}
