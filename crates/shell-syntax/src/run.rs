//! The walk through a text in the order of execution.

use std::rc::Rc;

use compact_str::CompactString;
use shuck_ast as ast;

use crate::functions;
use crate::reading::Reading;
use crate::scan;
use crate::{FileContent, Input, Redirect, RedirectKind, Shell, SimpleCommand, Source, Watch, Word};

/// Longer texts are parsed again when they come again.
const LONGEST_REMEMBERED: usize = 16 * 1024;

impl Shell {
    /// Runs a text in this shell and gives what it would print, as far as that is known.
    pub fn run_text(&mut self, text: &str, watch: &mut dyn Watch) -> Word {
        self.run_text_with(text, &Input::Inherited, watch)
    }

    /// Runs a text in a shell of its own: nothing it sets comes back, except files that it writes. It is another program,
    /// which knows functions of this one only if they are exported.
    pub fn run_child(
        &mut self,
        text: &str,
        positional: Vec<Word>,
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Word {
        self.process += 1;
        let output = self.run_inside(text, positional, input, watch);
        self.process -= 1;
        output
    }

    /// The same in a copy of this shell.
    pub(crate) fn run_inside(
        &mut self,
        text: &str,
        positional: Vec<Word>,
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Word {
        self.in_subshell(|shell| {
            shell.positional = positional.into();
            let before = shell.traps.len();
            let output = shell.deeper(|shell| shell.run_text_with(text, input, watch));
            shell.run_traps(before, watch);
            output
        })
    }

    /// Runs a script out of a file, whose name is `$0` then. One that starts itself again and goes on never ends.
    pub fn run_script(
        &mut self,
        path: &str,
        text: &str,
        positional: Vec<Word>,
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Word {
        let Some(words) = self.enter(path, &text.into(), positional.into()) else {
            return Word::unknown(None);
        };
        let concurrent = std::mem::take(&mut self.concurrent);
        let name = std::mem::replace(&mut self.name, Word::known(path));
        let output = self.run_child(text, words.to_vec(), input, watch);
        self.name = name;
        self.concurrent = concurrent;
        self.calls.pop();
        output
    }

    /// What was to happen at the end of a shell, with the variables as they are then.
    pub(crate) fn run_traps(&mut self, before: usize, watch: &mut dyn Watch) {
        for text in self.traps.split_off(before.min(self.traps.len())) {
            self.deeper(|shell| shell.run_text_with(&text, &Input::Inherited, watch));
        }
    }

    /// Runs the text of `sh -c`: the first word after it is `$0`, the others are the arguments.
    pub fn run_command_string(
        &mut self,
        text: &str,
        words: &[Word],
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Word {
        let Some((name, arguments)) = words.split_first() else {
            return self.run_child(text, Vec::new(), input, watch);
        };
        let before = std::mem::replace(&mut self.name, name.clone());
        let output = self.run_child(text, arguments.to_vec(), input, watch);
        self.name = before;
        output
    }

    pub(crate) fn run_text_with(&mut self, text: &str, input: &Input, watch: &mut dyn Watch) -> Word {
        if let Err(doubt) = scan::admit(text) {
            self.doubt(doubt);
            return Word::unknown(None);
        }
        // A backslash at the very end quotes nothing: `dir C:\` is a whole command.
        let text =
            if text.ends_with('\\') && !text.ends_with("\\\\") { &text[..text.len() - 1] } else { text };
        if !self.read.contains_key(text) && !self.may_parse(text.len()) {
            return Word::unknown(None);
        }
        self.quoted_elsewhere(text, input, watch);
        let reading = self.read_text(text);
        for doubt in &reading.doubts {
            self.doubt(doubt.clone());
        }
        let mut output = Word::default();
        for (file, source) in reading.pieces() {
            self.sequence_into(&mut output, &file.body, source, input, watch);
        }
        output
    }

    /// What both parsers make of a text. Functions, traps and evaluated texts come again and again.
    fn read_text(&mut self, text: &str) -> Rc<Reading> {
        if let Some(known) = self.read.get(text) {
            return Rc::clone(known);
        }
        let reading = Rc::new(Reading::of(text, self.manner));
        if text.len() <= LONGEST_REMEMBERED && self.depth > 0 {
            self.read.insert(text.to_owned(), Rc::clone(&reading));
        }
        reading
    }

    pub(crate) fn sequence(
        &mut self,
        sequence: &ast::StmtSeq,
        source: &str,
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Word {
        let mut output = Word::default();
        self.sequence_into(&mut output, sequence, source, input, watch);
        output
    }

    fn sequence_into(
        &mut self,
        output: &mut Word,
        sequence: &ast::StmtSeq,
        source: &str,
        input: &Input,
        watch: &mut dyn Watch,
    ) {
        let before = self.conditional;
        for statement in &sequence.stmts {
            if self.left.any() {
                self.conditional = before + 1;
            }
            if let Some(place) = self.stayed.take() {
                self.directory = Some(place);
            }
            let printed = self.deeper(|shell| shell.statement(statement, source, input, watch));
            if output.text().len() < scan::LONGEST {
                output.push(&printed);
            }
        }
        self.conditional = before;
    }

    /// Whatever follows in the loop, the function or the subshell may not run. What follows an `exit` of the whole text
    /// either runs or leaves nothing behind, so there is nothing to note.
    pub(crate) fn leave(&mut self, name: &str, with_operand: bool) {
        match name {
            "return" => self.left.function = true,
            "exit" => self.left.process |= self.subshells > 0,
            _ => {
                self.left.turn = true;
                // `break 2`: more than this loop.
                self.left.function |= with_operand;
            }
        }
    }

    /// A branch that may not run.
    pub(crate) fn maybe<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        let before = Rc::clone(&self.positional);
        let result = self.perhaps(inner);
        self.positional_or(&before);
        result
    }

    /// The same, where what has become of the words of the shell is looked at later.
    pub(crate) fn perhaps<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        self.conditional += 1;
        let result = inner(self);
        self.conditional -= 1;
        result
    }

    /// After a branch that may not have run, `$1` and its like are these or those.
    pub(crate) fn positional_or(&mut self, before: &Rc<Vec<Word>>) {
        if Rc::ptr_eq(before, &self.positional) || *before == self.positional {
            return;
        }
        let unknown = Word::unknown(Some(Source::Variable("@".to_owned())));
        let either = |at: usize| match (before.get(at), self.positional.get(at)) {
            (Some(one), Some(other)) if one == other => one.clone(),
            _ => unknown.clone(),
        };
        let either: Vec<Word> = (0..before.len().max(self.positional.len())).map(either).collect();
        self.positional = either.into();
    }

    pub(crate) fn concurrently<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        self.concurrent += 1;
        let result = inner(self);
        self.concurrent -= 1;
        result
    }

    pub(crate) fn statement(
        &mut self,
        statement: &ast::Stmt,
        source: &str,
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Word {
        self.elsewhere(statement, source, watch);
        let background = matches!(statement.terminator, Some(ast::StmtTerminator::Background(_)));
        if background {
            self.concurrently(|shell| {
                shell.in_subshell(|shell| shell.redirected(statement, source, input, watch))
            })
        } else {
            self.redirected(statement, source, input, watch)
        }
    }

    /// Opens the files of a statement, runs it, and keeps what it printed where it went.
    pub(crate) fn redirected(
        &mut self,
        statement: &ast::Stmt,
        source: &str,
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Word {
        if self.unsure {
            self.each_redirect(&statement.redirects, source, watch);
        }
        let (redirects, own_input) = self.redirects(&statement.redirects, source, watch);
        let input = own_input.as_ref().unwrap_or(input);
        let target = redirects
            .iter()
            .rev()
            .find(|redirect| {
                matches!(redirect.kind, RedirectKind::Write | RedirectKind::Append)
                    && matches!(redirect.descriptor, None | Some(1))
            })
            .map(|redirect| (redirect.target.clone(), redirect.kind));
        let mut output = self.command(&statement.command, redirects, source, input, watch);
        let Some((target, kind)) = target else { return output };
        // `exec > file`: all that is printed from now on.
        let lasting =
            |command: &SimpleCommand| matches!(command.argv.as_slice(), [name] if name.text() == "exec");
        if self.commands.last().is_some_and(lasting) {
            output = Word::unknown(None);
        }
        if let Some(path) = target.as_known() {
            match kind {
                RedirectKind::Append => self.append_file(path, &output),
                _ => self.write_file(path, FileContent::Text(output)),
            }
        }
        Word::default()
    }

    pub(crate) fn redirects(
        &mut self,
        redirects: &[ast::Redirect],
        source: &str,
        watch: &mut dyn Watch,
    ) -> (Vec<Redirect>, Option<Input>) {
        use ast::RedirectKind as Kind;
        let mut opened = Vec::with_capacity(redirects.len());
        let mut input = None;
        for redirect in redirects {
            if let Some(heredoc) = redirect.heredoc() {
                let text = self.heredoc(heredoc, source, watch);
                if matches!(redirect.fd, None | Some(0)) {
                    input = Some(Input::Text(text.into()));
                }
                continue;
            }
            let Some(word) = redirect.word_target() else { continue };
            let target = self.single(word, source, watch);
            let kind = match redirect.kind {
                Kind::Output | Kind::Clobber | Kind::OutputBoth => RedirectKind::Write,
                Kind::Append => RedirectKind::Append,
                Kind::Input => RedirectKind::Read,
                Kind::ReadWrite => RedirectKind::ReadWrite,
                Kind::DupOutput if !target.text().chars().all(|c| c.is_ascii_digit() || c == '-') => {
                    RedirectKind::Write
                }
                Kind::DupOutput | Kind::DupInput => RedirectKind::Duplicate,
                Kind::HereString => {
                    let mut text = target;
                    text.push_str("\n");
                    input = Some(Input::Text(text.into()));
                    continue;
                }
                Kind::HereDoc | Kind::HereDocStrip => continue,
            };
            if kind == RedirectKind::Read && matches!(redirect.fd, None | Some(0)) {
                input = Some(self.input_file(&target));
            }
            // What was opened under another number: a file, a connection, the output of a command.
            if redirect.kind == Kind::DupInput
                && matches!(redirect.fd, None | Some(0))
                && !matches!(target.text(), "0" | "1" | "2" | "-" | "0-")
            {
                input = Some(Input::Text(Word::unknown(None).into()));
            }
            // What arrives there under another number than that of the output is not followed.
            let followed = matches!(redirect.fd, None | Some(1))
                && redirect.fd_var.is_none()
                && kind != RedirectKind::ReadWrite;
            if matches!(kind, RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite)
                && !followed
                && let Some(path) = target.as_known().filter(|path| !path.starts_with("/dev/"))
            {
                self.write_file(path, FileContent::Text(Word::unknown(None)));
            }
            opened.push(Redirect { descriptor: redirect.fd, kind, target });
        }
        (opened, input)
    }

    fn input_file(&self, target: &Word) -> Input {
        let content = target.as_known().and_then(|path| self.file(path));
        match content {
            Some(FileContent::Text(text)) => {
                let mut text = text.clone();
                text.add_sources(target.sources());
                Input::Text(text.into())
            }
            _ => Input::File(target.clone()),
        }
    }

    fn heredoc(&mut self, heredoc: &ast::Heredoc, source: &str, watch: &mut dyn Watch) -> Word {
        let mut text = Word::default();
        for part in &heredoc.body.parts {
            let kind = match &part.kind {
                ast::HeredocBodyPart::Literal(literal) => {
                    text.push_str(literal.as_str(source, part.span));
                    continue;
                }
                ast::HeredocBodyPart::Variable(name) => ast::WordPart::Variable(name.clone()),
                ast::HeredocBodyPart::CommandSubstitution { body, syntax } => {
                    ast::WordPart::CommandSubstitution { body: body.clone(), syntax: *syntax }
                }
                ast::HeredocBodyPart::ArithmeticExpansion {
                    expression,
                    expression_ast,
                    expression_word_ast,
                    syntax,
                } => ast::WordPart::ArithmeticExpansion {
                    expression: expression.clone(),
                    expression_ast: expression_ast.clone(),
                    expression_word_ast: expression_word_ast.clone(),
                    syntax: *syntax,
                },
                ast::HeredocBodyPart::Parameter(parameter) => ast::WordPart::Parameter(parameter.clone()),
            };
            let node = ast::WordPartNode::new(kind, part.span);
            for word in self.part(&node, true, source, watch).words {
                text.push(&word);
            }
        }
        text
    }

    fn command(
        &mut self,
        command: &ast::Command,
        redirects: Vec<Redirect>,
        source: &str,
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Word {
        match command {
            ast::Command::Simple(simple) => self.simple(simple, redirects, source, input, watch),
            ast::Command::Builtin(builtin) => {
                let (name, operand, rest) = match builtin {
                    ast::BuiltinCommand::Break(command) => ("break", &command.depth, &command.extra_args),
                    ast::BuiltinCommand::Continue(command) => {
                        ("continue", &command.depth, &command.extra_args)
                    }
                    ast::BuiltinCommand::Return(command) => ("return", &command.code, &command.extra_args),
                    ast::BuiltinCommand::Exit(command) => ("exit", &command.code, &command.extra_args),
                };
                let mut argv = vec![Word::known(name)];
                argv.extend(self.fields(operand.iter().chain(rest), source, watch));
                self.leave(name, argv.len() > 1);
                self.emit(SimpleCommand { argv: argv.into(), redirects, ..self.blank(input) }, watch);
                Word::default()
            }
            ast::Command::Decl(clause) => self.declaration(clause, redirects, source, input, watch),
            ast::Command::Binary(binary) => {
                if !redirects.is_empty() {
                    self.emit(SimpleCommand { redirects, ..self.blank(input) }, watch);
                }
                self.binary(binary, source, input, watch)
            }
            ast::Command::Compound(compound) => {
                if !redirects.is_empty() {
                    self.emit(SimpleCommand { redirects, ..self.blank(input) }, watch);
                }
                self.compound(compound, source, input, watch)
            }
            ast::Command::Function(function) => {
                let body = functions::body(function, source);
                for name in function.header.static_names() {
                    self.define(name.as_str(), &body);
                }
                Word::default()
            }
            ast::Command::AnonymousFunction(function) => self.statement(&function.body, source, input, watch),
        }
    }

    pub(crate) fn blank(&self, input: &Input) -> SimpleCommand {
        self.called(Rc::default(), input)
    }

    /// A command of these words, in the circumstances of now.
    pub(crate) fn called(&self, argv: Rc<Vec<Word>>, input: &Input) -> SimpleCommand {
        SimpleCommand {
            argv,
            assignments: Vec::new(),
            redirects: Vec::new(),
            input: input.clone(),
            directory: self.directory.clone(),
            written: CompactString::default(),
            piped: false,
        }
    }

    /// Records a command and tells the watcher.
    pub(crate) fn emit(&mut self, command: SimpleCommand, watch: &mut dyn Watch) -> usize {
        let index = self.commands.len();
        self.kept += command.argv.iter().map(|word| word.text().len() + 64).sum::<usize>();
        self.commands.push(command);
        watch.command(self, index);
        index
    }

    fn binary(
        &mut self,
        binary: &ast::BinaryCommand,
        source: &str,
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Word {
        match binary.op {
            ast::BinaryOp::And | ast::BinaryOp::Or => self.and_or(binary, source, input, watch),
            ast::BinaryOp::Pipe | ast::BinaryOp::PipeAll => self.concurrently(|shell| {
                let from = shell.commands.len();
                let output = shell.in_subshell(|shell| {
                    shell.deeper(|shell| shell.statement(&binary.left, source, input, watch))
                });
                let from = from..shell.commands.len();
                for command in &mut shell.commands[from.clone()] {
                    command.piped = true;
                }
                let input = Input::Pipe { from, output: output.into() };
                shell.in_subshell(|shell| {
                    shell.deeper(|shell| shell.statement(&binary.right, source, &input, watch))
                })
            }),
        }
    }
}
