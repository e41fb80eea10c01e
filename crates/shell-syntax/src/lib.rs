//! Shell text understood as a shell would understand it, without running anything.
//!
//! A text is parsed by two parsers that share no code ([`Doubt::Disagreement`] when they differ), or, where it is so plain
//! that there is one reading, by a reader of our own that tests hold to both (`plain`); and then walked in the order of execution: assignments, expansions, functions, aliases, `eval`, `cd` and files that
//! the text itself writes are followed, so that every simple command arrives at the [`Watch`] with its words
//! as the program would see them. What cannot be known before it runs is a hole in a word, never a guess.
//!
//! Pure: nothing here reads a file, an environment or a clock. It is a reader of intentions, not a boundary:
//! what a text does when it runs is decided by the machine it runs on.

mod arithmetic;
mod assign;
mod brace;
mod builtin;
mod compound;
mod doubt;
mod edited;
mod elsewhere;
mod evaluated;
mod expand;
mod files;
mod functions;
mod guarded;
mod outcome;
mod output;
mod parameter;
mod pattern;
mod pieces;
mod places;
mod plain;
mod quotes;
mod reading;
mod run;
mod scan;
mod second;
mod shell;
mod unread;
mod variables;
mod word;

pub use doubt::Doubt;
pub use scan::{LONGEST, misleading};
pub use shell::{
    FileContent, Input, Redirect, RedirectKind, Shell, SimpleCommand, Surroundings, Watch, normalise,
    normalise_into,
};
pub use word::{HOLE, Source, Word};

/// Everything that a text would run, with what stayed in doubt.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    pub commands: Vec<SimpleCommand>,
    pub doubts: Vec<Doubt>,
}

/// Reads a whole text without a watcher: the commands in the order of execution.
pub fn parse(text: &str, surroundings: Surroundings) -> Parsed {
    parse_in(reading::Manner::default(), text, surroundings)
}

/// The same, where texts of this length and longer are parsed in pieces. What comes out is the same for every length,
/// which is what tests ask.
#[doc(hidden)]
pub fn parse_in_pieces_from(length: usize, text: &str, surroundings: Surroundings) -> Parsed {
    parse_in(reading::Manner { cut_from: length, plainly: true }, text, surroundings)
}

/// The same, where nothing is read but by both parsers. What comes out is the same, which is what tests ask.
#[doc(hidden)]
pub fn parse_by_parsers_alone(text: &str, surroundings: Surroundings) -> Parsed {
    parse_in(reading::Manner { plainly: false, ..reading::Manner::default() }, text, surroundings)
}

/// Whether a text is read without the parsers.
#[doc(hidden)]
pub fn is_plain(text: &str) -> bool {
    plain::read(text).is_some()
}

fn parse_in(manner: reading::Manner, text: &str, surroundings: Surroundings) -> Parsed {
    struct Nobody;
    impl Watch for Nobody {
        fn command(&mut self, _: &mut Shell, _: usize) {}
    }
    let mut shell = Shell::new(surroundings);
    shell.manner = manner;
    shell.run_text(text, &mut Nobody);
    shell.finish(&mut Nobody)
}

#[cfg(test)]
mod tests;
