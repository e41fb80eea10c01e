//! The same text as another shell reads it. Which shell will run a command is not known here, and where `dash` or a `bash`
//! without its extensions sees other commands, those are walked as well.

use shuck_ast as ast;

use crate::{Doubt, Input, Shell, Watch, unread};

impl Shell {
    /// What a statement is elsewhere, if that is something else.
    pub(crate) fn elsewhere(&mut self, statement: &ast::Stmt, source: &str, watch: &mut dyn Watch) {
        match &statement.command {
            ast::Command::Simple(simple) => {
                self.negated_group(unread::written(simple.name.span, source), watch);
                let last = simple.args.last().unwrap_or(&simple.name);
                self.background(statement, last.span, source, watch);
            }
            ast::Command::Decl(clause) => {
                let last = clause.operands.last().map(|operand| match operand {
                    ast::DeclOperand::Flag(word) | ast::DeclOperand::Dynamic(word) => word.span,
                    ast::DeclOperand::Name(name) => name.span,
                    ast::DeclOperand::Assignment(assignment) => assignment.span,
                });
                self.background(statement, last.unwrap_or_default(), source, watch);
            }
            ast::Command::Builtin(builtin) => {
                let (operand, rest) = match builtin {
                    ast::BuiltinCommand::Break(command) => (&command.depth, &command.extra_args),
                    ast::BuiltinCommand::Continue(command) => (&command.depth, &command.extra_args),
                    ast::BuiltinCommand::Return(command) => (&command.code, &command.extra_args),
                    ast::BuiltinCommand::Exit(command) => (&command.code, &command.extra_args),
                };
                let last = rest.last().or(operand.as_ref()).map(|word| word.span);
                self.background(statement, last.unwrap_or_default(), source, watch);
            }
            ast::Command::Compound(ast::CompoundCommand::Arithmetic(command)) => {
                let written = unread::written(command.span, source);
                let inside = written.strip_prefix("((").and_then(|rest| rest.strip_suffix("))"));
                match inside {
                    Some(inside) => self.nested_group(inside, command.expr_ast.is_some(), watch),
                    None => self.doubt(Doubt::Disagreement),
                }
            }
            // What the files of a function are is computed when it is called.
            ast::Command::Function(function) => {
                self.redirects(&function.body.redirects, source, watch);
            }
            _ => {}
        }
    }

    /// A text in which another shell sees other quotes, and so other commands.
    pub(crate) fn quoted_elsewhere(&mut self, text: &str, input: &Input, watch: &mut dyn Watch) {
        let Some(other) = crate::quotes::elsewhere(text) else { return };
        if !crate::reading::is_clean(&other) {
            self.doubt(Doubt::Disagreement);
        }
        self.in_subshell(|shell| shell.deeper(|shell| shell.run_text_with(&other, input, watch)));
    }

    /// `!(…)` where a command may start is a pattern only where patterns like it are turned on, and `! ( … )` elsewhere.
    fn negated_group(&mut self, name: &str, watch: &mut dyn Watch) {
        if let Some(group) = name.strip_prefix('!').filter(|group| group.starts_with('(')) {
            self.doubt(Doubt::Disagreement);
            self.in_subshell(|shell| shell.deeper(|shell| shell.run_text(group, watch)));
        }
    }

    /// `a &>f b` is `a &` and then `>f b` to a shell that does not know `&>`.
    fn background(&mut self, statement: &ast::Stmt, last: ast::Span, source: &str, watch: &mut dyn Watch) {
        let joined = |redirect: &&ast::Redirect| {
            redirect.span.end.offset() < last.end.offset()
                && unread::written(redirect.span, source).starts_with("&>")
        };
        let Some(first) = statement.redirects.iter().find(joined) else { return };
        let Some(rest) = source.get(first.span.start.offset() + 1..last.end.offset()) else {
            self.doubt(Doubt::Disagreement);
            return;
        };
        self.in_subshell(|shell| shell.deeper(|shell| shell.run_text(rest, watch)));
    }

    /// `((…))` is a subshell within a subshell to a shell without arithmetic commands.
    fn nested_group(&mut self, inside: &str, arithmetic: bool, watch: &mut dyn Watch) {
        // What computes something could be the name of a program too; what cannot be one is refused.
        let named = inside.trim_start().starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
        let commands =
            if arithmetic { named && crate::is_plain(inside) } else { crate::reading::is_clean(inside) };
        if commands && !(arithmetic && inside.contains('$')) {
            self.in_subshell(|shell| shell.deeper(|shell| shell.run_text(inside, watch)));
        }
    }
}
