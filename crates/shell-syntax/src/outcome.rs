//! What surely happened and what may have: lists of `&&` and `||`, and variables that hold one of a few values then.

use shuck_ast as ast;

use crate::places::{SUCCEED, departs};
use crate::shell::{Value, Variable, either};
use crate::{Input, Redirect, Shell, SimpleCommand, Source, Watch, Word};

/// A variable that may hold more values than this is not known.
const MOST_VALUES: usize = 6;
/// A command that may be more commands than this is not known: every such variable in it multiplies them.
const MOST_CHOICES: usize = 8;
/// How many commands of a list are looked at to know how it ends.
const LONGEST_LIST: usize = 16;
impl Shell {
    /// `a && b`, `a || b`.
    pub(crate) fn and_or(
        &mut self,
        binary: &ast::BinaryCommand,
        source: &str,
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Word {
        let and = binary.op == ast::BinaryOp::And;
        let before = self.directory.clone();
        let mut output = self.deeper(|shell| shell.statement(&binary.left, source, input, watch));
        let mut right =
            |shell: &mut Self| shell.deeper(|shell| shell.statement(&binary.right, source, input, watch));
        match self.surely(&binary.left, source, 0) {
            Some(success) if success == and => {
                let printed = right(self);
                output.push(&printed);
                return output;
            }
            // It is looked at, and nothing comes of it.
            Some(_) => {
                self.in_subshell(|shell| shell.perhaps(right));
                return output;
            }
            None => {}
        }
        let stayed = self.stayed.take();
        let reached = self.directory.clone();
        let moves = |statement: &ast::Stmt| {
            let text = statement.span.slice(source).trim_start_matches(['!', ' ']);
            text.split_whitespace().next().is_some_and(|word| matches!(word, "cd" | "pushd" | "popd"))
                && !matches!(statement.command, ast::Command::Binary(_))
        };
        // `! a && b` runs `b` where `a` has failed, as `a || b` does.
        let succeeded = and != binary.left.negated;
        let place = if moves(&binary.left) {
            before
        } else if and {
            reached.clone()
        } else {
            self.gravest(&[before, reached.clone()], &reached)
        };
        let failed = stayed.clone().map_or(place, Some);
        if !succeeded {
            self.directory.clone_from(&failed);
        }
        let printed = self.maybe(right);
        output.push(&printed);
        let within = self.stayed.take();
        if succeeded && and {
            // At home less is at stake, and these fail for nobody.
            let last = binary.left.span.slice(source).rsplit("&&").next().unwrap_or_default();
            let succeeds = last.split_whitespace().next().is_some_and(|name| SUCCEED.contains(&name));
            let at_home = failed.as_deref() == Some(self.surroundings.home.as_str());
            let left_behind = !(moves(&binary.left) || at_home && succeeds)
                && failed != self.directory
                && self.is_grave(failed.as_deref())
                && !self.is_grave(self.directory.as_deref());
            self.stayed = stayed.or(within).or(failed.filter(|_| left_behind));
            return output;
        }
        // `… || exit` goes on only after what is in front of it.
        let start = if succeeded { &reached } else { &failed };
        let departs = departs(&binary.right, source, self.directory != *start);
        let mut places = vec![if succeeded { failed.clone() } else { reached.clone() }];
        places.extend(within.map(Some));
        if !departs {
            places.push(self.directory.clone());
        }
        self.directory = self.gravest(&places, start);
        output
    }

    /// Whether a statement succeeds or fails whatever the machine is like.
    fn surely(&self, statement: &ast::Stmt, source: &str, depth: usize) -> Option<bool> {
        // A file that cannot be opened makes anything fail; of long lists only the end is looked at.
        if depth > LONGEST_LIST
            || matches!(statement.terminator, Some(ast::StmtTerminator::Background(_)))
            || !statement.redirects.is_empty()
        {
            return None;
        }
        let success = match &statement.command {
            ast::Command::Simple(simple) if simple.args.is_empty() && simple.assignments.is_empty() => {
                let name = simple.name.span.slice(source);
                let known = match name {
                    "true" | ":" => true,
                    "false" => false,
                    _ => return None,
                };
                if self.names.functions.contains_key(name) || self.names.aliases.contains_key(name) {
                    return None;
                }
                known
            }
            ast::Command::Binary(binary) => {
                let sides = (
                    self.surely(&binary.left, source, depth + 1),
                    self.surely(&binary.right, source, depth + 1),
                );
                match (binary.op, sides) {
                    (ast::BinaryOp::And, (Some(false), _) | (_, Some(false))) => false,
                    (ast::BinaryOp::And, (Some(true), Some(true))) => true,
                    (ast::BinaryOp::Or, (Some(true), _) | (_, Some(true))) => true,
                    (ast::BinaryOp::Or, (Some(false), Some(false))) => false,
                    _ => return None,
                }
            }
            _ => return None,
        };
        Some(success != statement.negated)
    }

    /// Sets a variable in a branch that may not run.
    pub(crate) fn set_perhaps(&mut self, name: &str, value: Value) {
        let Some(before) = self.variables.get(name) else {
            let mut variable = Variable::from(value);
            variable.perhaps_unset = true;
            self.variables.insert(name, variable);
            self.unsure = true;
            return;
        };
        let mut values = match (&before.value, before.values.is_empty()) {
            (Value::Scalar(word), true) => vec![word.clone()],
            _ => before.values.clone(),
        };
        let perhaps_unset = before.perhaps_unset;
        if let Value::Scalar(now) = &value
            && !values.contains(now)
        {
            values.push(now.clone());
        }
        let few = matches!(value, Value::Scalar(_))
            && values.len() > 1
            && values.len() <= MOST_VALUES
            && values.iter().all(|word| word.as_known().is_some());
        let mut variable = Variable::from(either(name, &before.value, value));
        variable.perhaps_unset = perhaps_unset;
        if few {
            self.unsure = true;
            variable.values = values;
        }
        self.variables.insert(name, variable);
    }

    /// The first variable in a command that holds one of a few values, with these.
    fn one_of_few(&self, text: &str) -> Option<(String, Vec<Word>)> {
        text.split('$').skip(1).find_map(|part| {
            let name = self.referred(name_at(part));
            let values = &self.variables.get(name)?.values;
            (!values.is_empty()).then(|| (name.to_owned(), values.clone()))
        })
    }

    /// A command that names a variable of a few values is one of a few commands.
    pub(crate) fn each_value(
        &mut self,
        simple: &ast::SimpleCommand,
        redirects: &[Redirect],
        source: &str,
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Option<Word> {
        let (name, values) = self.one_of_few(simple.span.slice(source))?;
        let before = self.variables.get(&name).cloned()?;
        let choices = self.choices;
        self.choices *= values.len();
        if self.choices > MOST_CHOICES {
            self.choices = choices;
            return None;
        }
        let (directory, mut outputs) = (self.directory.clone(), Vec::new());
        let (mut places, mut changed) = (Vec::new(), false);
        for value in values {
            let mut variable = Variable::from(Value::Scalar(value.clone()));
            variable.perhaps_unset = before.perhaps_unset;
            self.variables.insert(&name, variable);
            self.directory.clone_from(&directory);
            outputs.push(self.deeper(|shell| {
                shell.maybe(|shell| shell.simple(simple, redirects.to_vec(), source, input, watch))
            }));
            places.push(self.directory.clone());
            let now = self.variables.get(&name).map(|variable| &variable.value);
            changed |= !matches!(now, Some(Value::Scalar(now)) if *now == value);
        }
        if changed {
            // `: ${X:=…}`, `read X`: the command has set it.
            let unknown = Word::unknown(Some(Source::Variable(name.clone())));
            self.variables.insert(&name, Value::Scalar(unknown));
        } else {
            self.variables.insert(&name, before);
        }
        self.choices = choices;
        let grave = places.iter().position(|place| self.is_grave(place.as_deref()));
        let alike = places.iter().all(|place| *place == places[0]);
        self.directory = match grave {
            Some(at) => places.swap_remove(at),
            None => places.pop().flatten().filter(|_| alike),
        };
        let last = outputs.pop()?;
        let known = outputs.iter().all(|output| *output == last);
        Some(if known { last } else { Word::unknown(None) })
    }

    /// A file that is named by such a variable is one of a few files.
    pub(crate) fn each_redirect(&mut self, redirects: &[ast::Redirect], source: &str, watch: &mut dyn Watch) {
        for redirect in redirects.iter().filter(|redirect| redirect.heredoc().is_none()) {
            let Some((name, values)) = self.one_of_few(redirect.span.slice(source)) else { continue };
            let Some(before) = self.variables.get(&name).cloned() else { continue };
            for value in values {
                self.variables.insert(&name, Value::Scalar(value));
                let (redirects, _) = self.redirects(std::slice::from_ref(redirect), source, watch);
                let argv = vec![Word::known("printf"), Word::known("x")];
                let input = Input::Inherited;
                self.emit(SimpleCommand { argv: argv.into(), redirects, ..self.blank(&input) }, watch);
            }
            self.variables.insert(&name, before);
        }
    }

    /// `$X reboot` where `X` may be nothing at all: then the next word is the command.
    pub(crate) fn without_first(
        &mut self,
        simple: &ast::SimpleCommand,
        command: &SimpleCommand,
        source: &str,
        watch: &mut dyn Watch,
    ) {
        let Some(text) = simple.name.span.slice(source).strip_prefix('$') else { return };
        let Some(Variable { perhaps_unset: true, value: Value::Scalar(value), .. }) =
            self.variables.get(self.referred(name_at(text)))
        else {
            return;
        };
        let whole = text.trim_matches(['{', '}']) == name_at(text);
        let rest = command.argv.get(value.text().split_whitespace().count()..).unwrap_or_default();
        if whole && rest.first().is_some_and(|next| !next.text().starts_with('-')) {
            let argv = rest.to_vec();
            self.emit(SimpleCommand { argv: argv.into(), ..command.clone() }, watch);
        }
    }
}

/// The name behind a `$`.
fn name_at(text: &str) -> &str {
    let text = text.strip_prefix('{').unwrap_or(text);
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}
