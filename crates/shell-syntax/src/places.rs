//! Where the shell is behind commands that may have failed and branches that may not have run.
//!
//! Every branch begins where its condition has left the shell. Behind them all, of the places where any of them may have
//! ended the one counts where more is at stake.

use std::rc::Rc;

use shuck_ast as ast;

use crate::{Input, Shell, Watch, Word};

/// A working directory; `None` where it is not known.
pub(crate) type Place = Option<Rc<str>>;

/// Commands that nobody expects to fail.
pub(crate) const SUCCEED: &[&str] =
    &["echo", "printf", "pwd", "ls", "mkdir", "date", "whoami", "export", "umask", "clear", "touch"];
/// Places that nobody empties.
const GRAVE: &[&str] = &[
    "/",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib64",
    "/opt",
    "/proc",
    "/root",
    "/sbin",
    "/srv",
    "/sys",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/usr/local",
    "/var",
    "/var/lib",
];

impl Shell {
    /// Of two places where the shell may be, the one to believe is the one where more is at stake.
    pub(crate) fn is_grave(&self, place: Option<&str>) -> bool {
        place.is_some_and(|place| place == self.surroundings.home || GRAVE.contains(&place))
    }

    /// How much is at stake in a place: most at the top of the system, then at home, then where nobody knows.
    fn gravity(&self, place: Option<&str>) -> usize {
        match place {
            Some(place) if GRAVE.contains(&place) => 3,
            Some(place) if place == self.surroundings.home => 2,
            None => 1,
            Some(_) => 0,
        }
    }

    /// The gravest of some places; where none is grave, the last that is another than `start`.
    pub(crate) fn gravest(&self, places: &[Place], start: &Place) -> Place {
        let gravity = |place: &&Place| self.gravity(place.as_deref());
        match places.iter().max_by_key(gravity) {
            Some(place) if gravity(&place) > 0 => place.clone(),
            _ => places.iter().rev().find(|place| *place != start).unwrap_or(start).clone(),
        }
    }

    /// After a loop that may not have turned, the shell may still be where it was before.
    pub(crate) fn may_have_stayed(&mut self, before: Place) {
        if self.is_grave(before.as_deref()) && !self.is_grave(self.directory.as_deref()) {
            self.directory = before;
        }
    }

    pub(crate) fn if_clause(
        &mut self,
        clause: &ast::IfCommand,
        source: &str,
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Word {
        let (start, mut other) = self.tested(&clause.condition, source, input, watch);
        self.maybe(|shell| {
            let mut ends = Vec::new();
            let mut output = shell.branch(&clause.then_branch, &start, &mut ends, (source, input), watch);
            for (condition, branch) in &clause.elif_branches {
                shell.directory = other;
                let (start, next) = shell.tested(condition, source, input, watch);
                other = next;
                output.push(&shell.branch(branch, &start, &mut ends, (source, input), watch));
            }
            match &clause.else_branch {
                Some(branch) => {
                    output.push(&shell.branch(branch, &other, &mut ends, (source, input), watch));
                }
                None => ends.push(other),
            }
            shell.directory = shell.gravest(&ends, &start);
            output
        })
    }

    /// Where a condition leaves the shell when what follows `then` runs, and when it does not.
    pub(crate) fn tested(
        &mut self,
        condition: &ast::StmtSeq,
        source: &str,
        input: &Input,
        watch: &mut dyn Watch,
    ) -> (Place, Place) {
        let before = self.directory.clone();
        self.sequence(condition, source, input, watch);
        let reached = self.directory.clone();
        let mut places = vec![before, reached.clone()];
        places.extend(self.stayed.take().map(Some));
        let failed = self.gravest(&places, &reached);
        if condition.stmts.last().is_some_and(|last| last.negated) {
            (failed, reached)
        } else {
            (reached, failed)
        }
    }

    fn branch(
        &mut self,
        body: &ast::StmtSeq,
        start: &Place,
        ends: &mut Vec<Place>,
        (source, input): (&str, &Input),
        watch: &mut dyn Watch,
    ) -> Word {
        self.directory.clone_from(start);
        let output = self.sequence(body, source, input, watch);
        ends.extend(self.stayed.take().map(Some));
        let moved = self.directory != *start;
        if !body.stmts.last().is_some_and(|last| departs(last, source, moved)) {
            ends.push(self.directory.clone());
        }
        output
    }

    pub(crate) fn case_clause(
        &mut self,
        clause: &ast::CaseCommand,
        source: &str,
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Word {
        self.single(&clause.word, source, watch);
        let before = self.directory.clone();
        self.maybe(|shell| {
            let mut output = Word::default();
            let (mut ends, mut start) = (Vec::new(), before.clone());
            for case in &clause.cases {
                for pattern in &case.patterns {
                    shell.pattern_words(pattern, source, watch);
                }
                output.push(&shell.branch(&case.body, &start, &mut ends, (source, input), watch));
                start = match case.terminator {
                    ast::CaseTerminator::Break => before.clone(),
                    // What follows runs behind this one or without it.
                    _ => shell.gravest(&[before.clone(), shell.directory.clone()], &before),
                };
            }
            let any = |pattern: &ast::Pattern| pattern.span.slice(source).trim() == "*";
            if !clause.cases.iter().any(|case| case.patterns.iter().any(any)) {
                ends.push(before.clone());
            }
            shell.directory = shell.gravest(&ends, &before);
            output
        })
    }
}

/// Whether nothing behind a statement runs after it. Behind a loop or a function something does, and it matters there
/// where the shell has gone in the meantime.
pub(crate) fn departs(statement: &ast::Stmt, source: &str, moved: bool) -> bool {
    if matches!(statement.terminator, Some(ast::StmtTerminator::Background(_))) {
        return false;
    }
    match &statement.command {
        ast::Command::Builtin(ast::BuiltinCommand::Exit(_)) => true,
        ast::Command::Builtin(_) => !moved,
        ast::Command::Simple(simple) => match simple.name.span.slice(source) {
            "exit" | "exec" | "die" | "fail" => true,
            "return" | "break" | "continue" => !moved,
            _ => false,
        },
        ast::Command::Compound(ast::CompoundCommand::BraceGroup(body)) => {
            body.stmts.last().is_some_and(|last| departs(last, source, moved))
        }
        ast::Command::Binary(binary) if binary.op == ast::BinaryOp::And => {
            let first = binary.left.span.slice(source).split_whitespace().next();
            first.is_some_and(|name| SUCCEED.contains(&name)) && departs(&binary.right, source, moved)
        }
        _ => false,
    }
}
