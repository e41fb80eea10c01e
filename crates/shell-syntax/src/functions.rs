//! Names that the text itself gives to commands: functions and aliases, and where they end.
//!
//! Such a name hides the program of that name only where it surely stands. Defined in a branch that may not run, or in
//! a shell that has started this one, the body and the program are both followed: one of them is what runs.

use std::cell::Cell;
use std::rc::Rc;

use shuck_ast as ast;

use crate::files::Map;
use crate::shell::{Left, Locals};
use crate::{Doubt, Input, Shell, Source, Watch, Word};

/// A name may have this many bodies before nobody can say what it runs.
const MOST_BODIES: usize = 8;
/// So many calls may run within each other that repeat a name, before their words are taken for unknown.
const MOST_REPEATED: usize = 4;
/// The same call may run within itself so often: variables change what it does.
const MOST_ALIKE: usize = 2;

#[derive(Clone, Debug)]
pub(crate) struct Function {
    /// Several, where branches define it differently.
    bodies: Vec<Rc<str>>,
    called: Rc<Cell<bool>>,
    /// Whether it is defined whatever happens.
    sure: bool,
    /// The process that has defined it; those that it starts do not see it unless it is exported.
    process: usize,
}

/// What a shell calls by names of its own. Shared, because every subshell gets them and few change them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub functions: Rc<Map<Function>>,
    pub aliases: Rc<Map<String>>,
    pub programs: Rc<Map<String>>,
}

/// A function or a script that is running.
#[derive(Debug)]
pub(crate) struct Running {
    name: String,
    body: Rc<str>,
    words: Rc<Vec<Word>>,
}

/// What stood in for a command.
pub(crate) struct StoodIn {
    pub output: Word,
    /// Whether the program of that name may run instead.
    pub or_program: bool,
}

impl Shell {
    pub(crate) fn define(&mut self, name: &str, body: &Rc<str>) {
        let (process, unsure) = (self.process, self.conditional > 0);
        let functions = Rc::make_mut(&mut self.names.functions);
        let mut bodies = vec![Rc::clone(body)];
        let before = functions.get(name).filter(|_| unsure);
        let sure = before.map_or(!unsure, |before| before.sure && before.process == process);
        if let Some(before) = before {
            bodies.extend(before.bodies.iter().filter(|other| *other != body).cloned());
        }
        let many = bodies.len() > MOST_BODIES;
        bodies.truncate(MOST_BODIES);
        functions.insert(name.to_owned(), Function { bodies, called: Rc::default(), sure, process });
        if many {
            self.doubt(Doubt::TooMuch);
        }
    }

    /// `unset` takes a function away where it says so, and otherwise only where there is no such variable.
    pub(crate) fn undefine(&mut self, name: &str, surely: bool) {
        if !self.names.functions.contains_key(name) {
            return;
        }
        let functions = Rc::make_mut(&mut self.names.functions);
        if surely && self.conditional == 0 {
            functions.remove(name);
        } else if let Some(function) = functions.get_mut(name) {
            function.sure = false;
        }
    }

    /// Puts back the names from before a subshell; what it defined and never called is kept, to be looked at.
    pub(crate) fn restore_names(&mut self, before: Names) {
        let inner = std::mem::replace(&mut self.names, before);
        if Rc::ptr_eq(&inner.functions, &self.names.functions) {
            return;
        }
        let outer = &self.names.functions;
        let gone = inner.functions.iter().filter(|(name, function)| {
            !function.called.get()
                && outer.get(*name).is_none_or(|other| !Rc::ptr_eq(&other.called, &function.called))
        });
        let gone = gone
            .flat_map(|(name, function)| function.bodies.iter().map(|body| (name.clone(), Rc::clone(body))));
        self.uncalled.extend(gone);
    }

    /// The bodies that nothing has called, by name, so that the same text is told in the same order every time.
    pub(crate) fn take_uncalled(&mut self) -> Vec<(String, Rc<str>)> {
        let mut bodies = std::mem::take(&mut self.uncalled);
        for (name, function) in self.names.functions.iter().filter(|(_, function)| !function.called.get()) {
            bodies.extend(function.bodies.iter().map(|body| (name.clone(), Rc::clone(body))));
        }
        bodies.sort_unstable();
        bodies.dedup();
        bodies
    }

    /// Functions and aliases that this text has made itself.
    pub(crate) fn user_defined(
        &mut self,
        argv: &[Word],
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Option<StoodIn> {
        let name = argv[0].as_known()?;
        // Nearly every command is neither, and its words need not be copied to find out.
        if let Some(function) = self.names.functions.get(name) {
            function.called.set(true);
            let bodies = function.bodies.clone();
            let or_program = !function.sure || function.process != self.process;
            let words = Rc::new(argv[1..].to_vec());
            let output = match bodies.as_slice() {
                [body] if !or_program => self.call(name, body, words, input, watch),
                bodies => self.maybe(|shell| {
                    let mut output = Word::default();
                    for body in bodies {
                        output.push(&shell.call(name, body, Rc::clone(&words), input, watch));
                    }
                    if bodies.len() > 1 { Word::unknown(None) } else { output }
                }),
            };
            return Some(StoodIn { output, or_program });
        }
        // Shells that nobody types into take no notice of aliases, unless they are told to.
        let text = format!("{} \"$@\"", self.names.aliases.get(name)?);
        let before = std::mem::replace(&mut self.positional, argv[1..].to_vec().into());
        let aliases = Rc::clone(&self.names.aliases);
        Rc::make_mut(&mut self.names.aliases).remove(name);
        let output = self.maybe(|shell| shell.deeper(|shell| shell.run_text_with(&text, input, watch)));
        self.positional = before;
        self.names.aliases = aliases;
        Some(StoodIn { output, or_program: true })
    }

    fn call(
        &mut self,
        name: &str,
        body: &Rc<str>,
        words: Rc<Vec<Word>>,
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Word {
        let Some(words) = self.enter(name, body, words) else { return Word::unknown(None) };
        let before = std::mem::replace(&mut self.positional, words);
        let left = self.left;
        self.locals.push(Locals { conditional: self.conditional, hidden: Vec::new() });
        let output = self.deeper(|shell| shell.run_text_with(body, input, watch));
        self.uncover();
        self.left = Left { process: self.left.process, ..left };
        self.positional = before;
        self.calls.pop();
        output
    }

    /// `local`: the variable outside comes back when the function ends.
    pub(crate) fn hide(&mut self, name: &str) {
        let Some(locals) = self.locals.last_mut() else { return };
        if locals.hidden.iter().all(|(hidden, ..)| hidden != name) {
            let surely = self.conditional <= locals.conditional;
            locals.hidden.push((name.to_owned(), self.variables.get(name).cloned(), surely));
            // What is outside says nothing of what is inside.
            if surely {
                self.variables.remove(name);
            }
        }
    }

    fn uncover(&mut self) {
        let Some(locals) = self.locals.pop() else { return };
        for (name, before, surely) in locals.hidden.into_iter().rev() {
            match before {
                Some(before) if surely => self.variables.insert(&name, before),
                // It may have been the one outside that was set.
                Some(before) => self.maybe(|shell| shell.set(&name, before.value)),
                None if surely => self.variables.remove(&name),
                None => {}
            }
        }
    }

    /// Notes a call as running, and gives the words to run it with. Every branch is followed, so a call within itself
    /// has no end here; after a few rounds its words are unknown, and then nothing new can come of it.
    pub(crate) fn enter(
        &mut self,
        name: &str,
        body: &Rc<str>,
        words: Rc<Vec<Word>>,
    ) -> Option<Rc<Vec<Word>>> {
        let mut words = words;
        if let Some(outer) = self.calls.iter().rev().find(|call| call.name == name) {
            if self.concurrent > 0 {
                self.doubt(Doubt::SelfReplication);
                return None;
            }
            let repeated = self.repeated();
            let shrinks = length(&words) < length(&outer.words);
            if repeated >= MOST_REPEATED && !shrinks {
                let unknown = Word::unknown(Some(Source::Variable("1".to_owned())));
                words = vec![unknown; words.len().max(3)].into();
            }
            let alike = self.calls.iter().any(|call| call.body == *body && same_texts(&call.words, &words));
            if alike && repeated >= MOST_ALIKE {
                return None;
            }
        }
        self.calls.push(Running { name: name.to_owned(), body: Rc::clone(body), words: Rc::clone(&words) });
        Some(words)
    }

    /// How many of the running calls have a name that was running already.
    fn repeated(&self) -> usize {
        let again =
            |(at, call): &(usize, &Running)| self.calls[..*at].iter().any(|other| other.name == call.name);
        self.calls.iter().enumerate().filter(again).count()
    }
}

/// The text that a call runs. The first parser lets the place of a group begin behind its bracket, and that of a subshell
/// as well, but ends the latter with it.
pub(crate) fn body(function: &ast::FunctionDef, source: &str) -> Rc<str> {
    let written = function.body.span.slice(source);
    match &function.body.command {
        ast::Command::Compound(ast::CompoundCommand::BraceGroup(_)) => {
            let inside = written.strip_prefix('{').and_then(|inside| inside.strip_suffix('}'));
            inside.map_or(written, str::trim_start).into()
        }
        ast::Command::Compound(ast::CompoundCommand::Subshell(_)) => format!("({written}").into(),
        _ => written.into(),
    }
}

fn length(words: &[Word]) -> usize {
    words.iter().map(|word| word.text().len() + 1).sum()
}

fn same_texts(one: &[Word], other: &[Word]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.text() == other.text())
}
