//! Loops, conditions and groups.

use std::rc::Rc;

use shuck_ast as ast;

use crate::shell::{Value, either};
use crate::{Doubt, Input, Shell, Source, Watch, Word, unread};

/// A loop over more words than this is followed for the first ones, and once more with an unknown word.
const MOST_ROUNDS: usize = 16;
/// A loop whose variables still change after this many turns is not followed further.
const MOST_TURNS: usize = 6;
/// Loops within more loops than this are followed once, or the time would be a power of their depth.
const MOST_NESTED: usize = 4;

impl Shell {
    pub(crate) fn compound(
        &mut self,
        compound: &ast::CompoundCommand,
        source: &str,
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Word {
        use ast::CompoundCommand as Compound;
        match compound {
            Compound::If(clause) => self.if_clause(clause, source, input, watch),
            Compound::For(clause) => {
                let words = match &clause.words {
                    Some(words) => self.fields(words.iter(), source, watch),
                    None => self.positional.to_vec(),
                };
                let names: Vec<String> = clause
                    .targets
                    .iter()
                    .filter_map(|target| Some(target.name.as_ref()?.as_str().to_owned()))
                    .collect();
                self.rounds(
                    names.first().map_or("", String::as_str),
                    &words,
                    &clause.body,
                    (source, input),
                    watch,
                )
            }
            Compound::Foreach(clause) => {
                let words = self.fields(clause.words.iter(), source, watch);
                self.rounds(clause.variable.as_str(), &words, &clause.body, (source, input), watch)
            }
            Compound::Select(clause) => {
                let words = self.fields(clause.words.iter(), source, watch);
                self.rounds(clause.variable.as_str(), &words, &clause.body, (source, input), watch)
            }
            Compound::Repeat(clause) => {
                let before = self.directory.clone();
                let output = self.sequence(&clause.body, source, input, watch);
                self.may_have_stayed(before);
                output
            }
            Compound::ArithmeticFor(clause) => {
                for node in [&clause.init_ast, &clause.condition_ast, &clause.step_ast].into_iter().flatten()
                {
                    self.arithmetic(node, source, watch);
                }
                if let Some(ast::ArithmeticExpr::Assignment {
                    target: ast::ArithmeticLvalue::Variable(name),
                    ..
                }) = clause.init_ast.as_ref().map(|node| &node.kind)
                {
                    self.set(name.as_str(), Value::Scalar(Word::unknown(None)));
                }
                if clause.condition_ast.is_none() && starts_jobs(&clause.body, source) {
                    self.doubt(Doubt::EndlessJobs);
                }
                let before = self.directory.clone();
                let output = self
                    .turns(|shell| shell.perhaps(|shell| shell.sequence(&clause.body, source, input, watch)));
                self.may_have_stayed(before);
                output
            }
            Compound::While(clause) => {
                let before = self.directory.clone();
                let output = self.repeat((false, &clause.condition), &clause.body, source, input, watch);
                self.may_have_stayed(before);
                output
            }
            Compound::Until(clause) => {
                let before = self.directory.clone();
                let output = self.repeat((true, &clause.condition), &clause.body, source, input, watch);
                self.may_have_stayed(before);
                output
            }
            Compound::Case(clause) => self.case_clause(clause, source, input, watch),
            Compound::Subshell(body) => self.in_subshell(|shell| shell.sequence(body, source, input, watch)),
            Compound::BraceGroup(body) => self.sequence(body, source, input, watch),
            Compound::Arithmetic(command) => {
                match &command.expr_ast {
                    Some(node) => {
                        self.arithmetic(node, source, watch);
                    }
                    None => self.unread_arithmetic(unread::written(command.span, source), watch),
                }
                Word::default()
            }
            Compound::Time(clause) => match &clause.command {
                Some(command) => self.statement(command, source, input, watch),
                None => Word::default(),
            },
            Compound::Conditional(conditional) => {
                self.condition(&conditional.expression, source, watch);
                Word::default()
            }
            // It reads what later commands send to it.
            Compound::Coproc(clause) => {
                let input = Input::Text(Word::unknown(None).into());
                self.concurrently(|shell| {
                    shell.in_subshell(|shell| shell.statement(&clause.body, source, &input, watch))
                })
            }
            Compound::Always(clause) => {
                let mut output = self.sequence(&clause.body, source, input, watch);
                output.push(&self.sequence(&clause.always_body, source, input, watch));
                output
            }
        }
    }

    fn rounds(
        &mut self,
        name: &str,
        words: &[Word],
        body: &ast::StmtSeq,
        (source, input): (&str, &Input),
        watch: &mut dyn Watch,
    ) -> Word {
        let several = |word: &Word| word.is_unknown() || word.is_glob();
        // Nothing may come of patterns and unknown words, and then the body never runs.
        let mut left = words.iter().all(several);
        let before = self.directory.clone();
        let mut output = Word::default();
        if let Some(last) = words.iter().take(MOST_ROUNDS).next_back() {
            self.variables.insert(name, Value::Scalar(last.clone()));
        }
        let (positional, names) = (Rc::clone(&self.positional), Rc::clone(&self.names.functions));
        self.variables.enter_subshell();
        for word in words.iter().take(MOST_ROUNDS) {
            self.variables.insert(name, Value::Scalar(word.clone()));
            output.push(&self.turn(&mut left, |shell| shell.sequence(body, source, input, watch)));
        }
        let changed = self.variables.keep_since(|_, _, now| now).0
            || !Rc::ptr_eq(&names, &self.names.functions)
            || positional != self.positional;
        if words.len() > MOST_ROUNDS || changed && words.iter().any(several) {
            let last = words.last().filter(|_| words.len() <= MOST_ROUNDS).cloned();
            let unknown = || Word::unknown(Some(Source::Variable(name.to_owned())));
            let word = last.unwrap_or_else(unknown);
            let more = self.turns(|shell| {
                shell.variables.insert(name, Value::Scalar(word.clone()));
                shell.perhaps(|shell| shell.sequence(body, source, input, watch))
            });
            if words.len() > MOST_ROUNDS {
                output.push(&more);
            }
        }
        if left {
            self.may_have_stayed(before);
            self.one_of(name, words);
        }
        output
    }

    /// Behind a loop that may have been left early, its variable holds any of its words.
    fn one_of(&mut self, name: &str, words: &[Word]) {
        let Some(last) = words.last().filter(|_| words.len() <= MOST_ROUNDS) else { return };
        let now = self.variables.get(name).map(|variable| &variable.value);
        if !matches!(now, Some(Value::Scalar(now)) if now == last) {
            return;
        }
        for word in words.iter().rev().skip(1) {
            self.set_perhaps(name, Value::Scalar(word.clone()));
        }
    }

    /// One turn of a loop; those after a `break` may not be.
    fn turn(&mut self, left: &mut bool, body: impl FnOnce(&mut Self) -> Word) -> Word {
        let before = std::mem::take(&mut self.left.turn);
        let output = if *left { self.maybe(body) } else { body(self) };
        *left |= self.left.turn;
        self.left.turn = before;
        output
    }

    /// A loop that turns nobody knows how often: again with what a turn has left, until a turn leaves nothing new.
    fn turns(&mut self, mut turn: impl FnMut(&mut Self) -> Word) -> Word {
        self.loops += 1;
        let first = Rc::clone(&self.positional);
        let mut drained = false;
        let mut output = Word::default();
        for count in 1.. {
            let (positional, names) = (Rc::clone(&self.positional), Rc::clone(&self.names.functions));
            self.variables.enter_subshell();
            // A turn is a branch of its own: its variables are what they were or what it has made of them.
            let outer = std::mem::replace(&mut self.within_turn, self.conditional + 1);
            let printed = self.turn(&mut false, &mut turn);
            self.within_turn = outer;
            let (any, single) = self.variables.keep_since(grown_or_either);
            // A loop that takes its words one by one ends with them.
            if self.positional.is_empty() && !positional.is_empty() {
                drained = true;
                self.positional = Rc::clone(&positional);
            }
            let shifted = positional.len() > self.positional.len() && count <= MOST_ROUNDS;
            let again = match count {
                1 => any || !Rc::ptr_eq(&names, &self.names.functions) || positional != self.positional,
                _ => single || shifted,
            };
            if count == 1 || printed != output {
                output.push(&printed);
            }
            if !again {
                break;
            }
            if count >= MOST_TURNS && !shifted || self.loops > MOST_NESTED {
                self.doubt(Doubt::TooMuch);
                break;
            }
        }
        if drained {
            self.positional = Rc::default();
        }
        self.positional_or(&first);
        self.loops -= 1;
        output
    }

    /// A loop with a condition: once, or once for every known line that its condition reads.
    fn repeat(
        &mut self,
        (until, condition): (bool, &ast::StmtSeq),
        body: &ast::StmtSeq,
        source: &str,
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Word {
        let lines: Vec<Word> = match input.text().and_then(|text| Some((text, text.as_known()?))) {
            Some((word, text)) => text.lines().take(MOST_ROUNDS).map(|line| word.with_text(line)).collect(),
            None => Vec::new(),
        };
        let forever = condition.stmts.len() == 1 && never_ends(until, condition.stmts[0].span.slice(source));
        if forever && starts_jobs(body, source) {
            self.doubt(Doubt::EndlessJobs);
        }
        if lines.is_empty() {
            return self.turns(|shell| {
                let (held, failed) = shell.tested(condition, source, input, watch);
                shell.directory = if until { failed } else { held };
                shell.perhaps(|shell| shell.sequence(body, source, input, watch))
            });
        }
        let mut output = Word::default();
        let mut left = false;
        for line in lines {
            let input = Input::Text(line.into());
            self.sequence(condition, source, &input, watch);
            output.push(&self.turn(&mut left, |shell| shell.sequence(body, source, &input, watch)));
        }
        output
    }

    pub(crate) fn condition(
        &mut self,
        expression: &ast::ConditionalExpr,
        source: &str,
        watch: &mut dyn Watch,
    ) {
        use ast::ConditionalExpr as Expr;
        match expression {
            Expr::Binary(binary) => {
                self.compared(binary, source, watch);
                self.deeper(|shell| shell.condition(&binary.left, source, watch));
                self.deeper(|shell| shell.condition(&binary.right, source, watch));
            }
            Expr::Unary(unary) => self.deeper(|shell| shell.condition(&unary.expr, source, watch)),
            Expr::Parenthesized(inner) => self.deeper(|shell| shell.condition(&inner.expr, source, watch)),
            Expr::Word(word) | Expr::Regex(word) => {
                let word = self.single(word, source, watch);
                self.prompt(word.text(), watch);
            }
            Expr::Pattern(pattern) => self.pattern_words(pattern, source, watch),
            Expr::VarRef(reference) => {
                self.access(reference, source, watch);
            }
        }
    }
    /// What a pattern substitutes is run before anything is matched.
    pub(crate) fn pattern_words(&mut self, pattern: &ast::Pattern, source: &str, watch: &mut dyn Watch) {
        for part in &pattern.parts {
            match &part.kind {
                ast::PatternPart::Word(word) => {
                    self.single(word, source, watch);
                }
                ast::PatternPart::Group { patterns, .. } => {
                    for pattern in patterns {
                        self.deeper(|shell| shell.pattern_words(pattern, source, watch));
                    }
                }
                _ => {}
            }
        }
    }
}

/// A list that a turn makes longer still begins as it did: the command stays what it is.
fn grown_or_either(name: &str, before: &Value, now: Value) -> Value {
    match (before, now) {
        (Value::List(before), Value::List(now)) if !before.is_empty() && now.starts_with(before) => {
            Value::List(now)
        }
        (before, now) => either(name, before, now),
    }
}

/// Conditions that never end a loop: of `while` those that are always true, of `until` those that never are.
fn never_ends(until: bool, condition: &str) -> bool {
    let condition = condition.trim_end_matches([';', ' ', '\n']);
    if until {
        return matches!(
            condition,
            "false" | "/bin/false" | "/usr/bin/false" | "! true" | "! :" | "((0))" | "(( 0 ))"
        );
    }
    matches!(
        condition,
        "true"
            | ":"
            | "/bin/true"
            | "/usr/bin/true"
            | "[ 1 ]"
            | "[[ 1 ]]"
            | "[ true ]"
            | "[[ true ]]"
            | "((1))"
            | "(( 1 ))"
            | "test 1"
            | "! false"
    )
}

/// Whether a body leaves commands behind in the background, also within a text for another shell, and waits for
/// nothing.
fn starts_jobs(body: &ast::StmtSeq, source: &str) -> bool {
    // What is sent to the background itself, `(sleep 9 &)`, keeps nobody waiting.
    let waits = |text: &str| {
        let pieces: Vec<&str> = text.split(" &").collect();
        let last = pieces.len() - 1;
        pieces.iter().enumerate().any(|(at, piece)| {
            let kept = if at == last || pieces[at + 1].starts_with('&') {
                piece
            } else {
                piece.rsplit_once([';', '\n']).map_or("", |(before, _)| before)
            };
            kept.split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
                .any(|word| matches!(word, "wait" | "sleep" | "read" | "usleep" | "inotifywait" | "fg"))
        })
    };
    let alone = |text: &str| {
        let bytes = text.as_bytes();
        let at = |at: usize| bytes.get(at).copied().unwrap_or(b' ');
        (0..bytes.len()).any(|index| {
            let before = if index == 0 { b' ' } else { at(index - 1) };
            bytes[index] == b'&'
                && !matches!(before, b'&' | b'>' | b'<' | b'|' | b'\\')
                && matches!(at(index + 1), b' ' | b';' | b'"' | b'\'' | b')' | b'\n' | b'}')
        })
    };
    let left =
        |statement: &&ast::Stmt| matches!(statement.terminator, Some(ast::StmtTerminator::Background(_)));
    let text = |statement: &ast::Stmt| statement.span.slice(source);
    (body.stmts.iter().any(|statement| left(&statement) || alone(text(statement))))
        && !body.stmts.iter().filter(|statement| !left(statement)).any(|statement| waits(text(statement)))
}
