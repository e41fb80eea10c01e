//! Simple commands, and what is made of several.

use shuck_ast as ast;

use super::words::{is_letter, is_name};
use super::{End, Reader, span, statement};

impl Reader<'_> {
    pub(super) fn command(&mut self) -> Option<ast::Stmt> {
        let from = self.at;
        if self.peek() == b'{' {
            if !matches!(self.ahead(1), b' ' | b'\n') {
                return None;
            }
            let body = self.group()?;
            let group = ast::CompoundCommand::BraceGroup(body);
            return self.with_files(ast::Command::Compound(group), from);
        }
        let compound = match self.keyword() {
            b"if" => self.condition()?,
            b"for" => self.for_each()?,
            b"while" | b"until" => self.repetition()?,
            word if is_reserved(word) => return None,
            _ => {
                return match self.brackets() {
                    Some(body) => self.function(body),
                    None => self.simple(),
                };
            }
        };
        self.with_files(ast::Command::Compound(compound), from)
    }

    /// The files that a whole compound command opens.
    fn with_files(&mut self, command: ast::Command, from: usize) -> Option<ast::Stmt> {
        let to = self.at;
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => break,
            }
        }
        // What follows is an operator or the end of the line; anything else is no word of this command.
        let ended = matches!(self.peek(), b'\n' | b';' | b'&' | b'|' | b'#');
        let mut statement = statement(command, from, to);
        statement.redirects = redirects.into_boxed_slice();
        ended.then_some(statement)
    }

    /// `{ …; }`, with its brackets.
    fn group(&mut self) -> Option<ast::StmtSeq> {
        let from = self.at;
        self.at += 1;
        let (mut body, end) = self.sequence()?;
        body.span = span(from, self.at);
        (end == End::Brace).then_some(body)
    }

    fn condition(&mut self) -> Option<ast::CompoundCommand> {
        let from = self.at;
        self.at += 2;
        let (condition, end) = self.sequence()?;
        if end != End::Then {
            return None;
        }
        let (then_branch, mut end) = self.sequence()?;
        let mut elif_branches = Vec::new();
        while end == End::Elif {
            let (condition, then) = self.sequence()?;
            if then != End::Then {
                return None;
            }
            let (branch, next) = self.sequence()?;
            elif_branches.push((condition, branch));
            end = next;
        }
        let mut else_branch = None;
        if end == End::Else {
            let (branch, next) = self.sequence()?;
            else_branch = Some(branch);
            end = next;
        }
        let (then_span, fi_span) = (ast::Span::new(), ast::Span::new());
        let syntax = ast::IfSyntax::ThenFi { then_span, fi_span };
        let span = span(from, self.at);
        let clause = ast::IfCommand { condition, then_branch, elif_branches, else_branch, syntax, span };
        (end == End::Fi).then(|| ast::CompoundCommand::If(Box::new(clause)))
    }

    fn for_each(&mut self) -> Option<ast::CompoundCommand> {
        let from = self.at;
        self.at += 3;
        self.blanks();
        let start = self.at;
        while is_name(self.peek(), self.at > start) {
            self.at += 1;
        }
        let name = &self.text[start..self.at];
        if is_reserved(name.as_bytes()) {
            return None;
        }
        let target = ast::ForTarget {
            word: self.literal(start, self.at),
            name: Some(ast::Name::new(name)),
            span: span(start, self.at),
        };
        if name.is_empty() || !matches!(self.peek(), b' ' | b'\t') {
            return None;
        }
        self.blanks();
        if self.keyword() != b"in" {
            return None;
        }
        self.at += 2;
        let mut words = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                b'\n' | b';' => break,
                _ => words.push(self.word()?),
            }
        }
        if self.at >= self.bytes.len() || words.is_empty() {
            return None;
        }
        self.at += 1;
        self.newlines();
        let body = self.body()?;
        let (do_span, done_span) = (ast::Span::new(), ast::Span::new());
        let syntax = ast::ForSyntax::InDoDone { in_span: None, do_span, done_span };
        let span = span(from, self.at);
        let clause = ast::ForCommand { targets: vec![target], words: Some(words), body, syntax, span };
        Some(ast::CompoundCommand::For(Box::new(clause)))
    }

    /// `do …; done`.
    fn body(&mut self) -> Option<ast::StmtSeq> {
        if self.keyword() != b"do" {
            return None;
        }
        self.at += 2;
        let (body, end) = self.sequence()?;
        (end == End::Done).then_some(body)
    }

    fn repetition(&mut self) -> Option<ast::CompoundCommand> {
        let from = self.at;
        let until = self.peek() == b'u';
        self.at += 5;
        let before = std::mem::take(&mut self.ampersand);
        let (condition, end) = self.sequence()?;
        if end != End::Do {
            return None;
        }
        let (body, end) = self.sequence()?;
        // Whether it starts jobs without end is asked of its text, from the end of one token to the end of another.
        if end != End::Done || self.ampersand {
            return None;
        }
        self.ampersand = before;
        let (done_span, span) = (None, span(from, self.at));
        Some(if until {
            ast::CompoundCommand::Until(Box::new(ast::UntilCommand { condition, body, done_span, span }))
        } else {
            ast::CompoundCommand::While(Box::new(ast::WhileCommand { condition, body, done_span, span }))
        })
    }

    /// Where the body begins of a function that is defined here: `name() {`.
    fn brackets(&self) -> Option<usize> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|byte| !is_name(*byte, true))?;
        // Most words are followed by something else.
        if !matches!(rest[length], b'(' | b' ') || length == 0 {
            return None;
        }
        let brackets = [&b"() {"[..], b"(){", b" () {", b" (){"];
        let found = brackets.into_iter().find(|brackets| rest[length..].starts_with(brackets))?;
        Some(self.at + length + found.len() - 1)
    }

    fn function(&mut self, start: usize) -> Option<ast::Stmt> {
        let from = self.at;
        let length = self.bytes[from..].iter().take_while(|byte| is_name(**byte, true)).count();
        self.at = start;
        if self.bytes[from].is_ascii_digit() || !matches!(self.ahead(1), b' ' | b'\n') {
            return None;
        }
        let word = self.literal(from, from + length);
        let name = Some(ast::Name::new(&self.text[from..from + length]));
        let body = self.group()?;
        let body = statement(ast::Command::Compound(ast::CompoundCommand::BraceGroup(body)), start, self.at);
        let header = ast::FunctionHeader {
            function_keyword_span: None,
            entries: vec![ast::FunctionHeaderEntry { word, static_name: name }],
            trailing_parens_span: None,
        };
        let to = self.at;
        self.blanks();
        let function = ast::FunctionDef { header, body: Box::new(body), span: span(from, to) };
        matches!(self.peek(), b'\n' | b';').then(|| statement(ast::Command::Function(function), from, to))
    }

    pub(super) fn simple(&mut self) -> Option<ast::Stmt> {
        let from = self.at;
        let (mut assignments, mut args, mut redirects) = (Vec::new(), Vec::new(), Vec::new());
        let mut name: Option<ast::Word> = None;
        let mut to = from;
        loop {
            self.blanks();
            match self.peek() {
                b'\n' | b';' | b'|' => break,
                b'&' if self.ahead(1) != b'>' => break,
                b'#' => break,
                _ => {}
            }
            // `a &>f b` is `a &` and then `>f b` to a shell that does not know `&>`.
            let last: Option<&ast::Redirect> = redirects.last();
            let joined = last.is_some_and(|last| last.kind == ast::RedirectKind::OutputBoth);
            if let Some(redirect) = self.redirect()? {
                if joined {
                    return None;
                }
                if redirects.is_empty() {
                    redirects.reserve_exact(1);
                }
                redirects.push(redirect);
            } else if joined {
                return None;
            } else if name.is_some() {
                if args.is_empty() {
                    args.reserve(3);
                }
                args.push(self.word()?);
            } else if let Some(assignment) = self.assignment() {
                assignments.push(assignment?);
            } else {
                // To some it is reserved behind an assignment too.
                if self.at > from && is_reserved(self.keyword()) {
                    return None;
                }
                name = Some(self.word()?);
            }
            to = self.at;
        }
        if name.is_none() && assignments.is_empty() {
            return None;
        }
        let written = name.as_ref().and_then(|name| self.only_literal(name));
        let assignments = assignments.into_boxed_slice();
        let span = span(from, self.token_end(to));
        let command = match written {
            Some("break" | "continue" | "return" | "exit") if !assignments.is_empty() => return None,
            Some("declare" | "local" | "export" | "readonly" | "typeset" | "shopt" | "integer") => {
                return None;
            }
            Some(name @ ("break" | "continue" | "return" | "exit")) => {
                ast::Command::Builtin(flow(name, args, span))
            }
            _ => {
                let name = name.unwrap_or_else(|| ast::Word::literal(""));
                ast::Command::Simple(ast::SimpleCommand { name, args, assignments, span })
            }
        };
        let mut statement = statement(command, from, to);
        statement.redirects = redirects.into_boxed_slice();
        Some(statement)
    }

    /// The end of the token that follows a command: the first parser counts it to the command, and what a person is shown
    /// of a command as it is written is cut from there.
    fn token_end(&self, to: usize) -> usize {
        let mut at = self.at;
        if self.bytes.get(at) == Some(&b'#') {
            at += self.bytes[at..].iter().position(|byte| *byte == b'\n').unwrap_or(self.bytes.len() - at);
        }
        match &self.bytes[at.min(self.bytes.len())..] {
            [] => to,
            [b'&', b'&', ..] | [b'|', b'|', ..] => at + 2,
            _ => at + 1,
        }
    }

    fn only_literal(&self, word: &ast::Word) -> Option<&str> {
        match word.parts.as_slice() {
            [ast::WordPartNode { kind: ast::WordPart::Literal(text), span }] => {
                matches!(text, ast::LiteralText::Source).then(|| span.slice(self.text))
            }
            _ => None,
        }
    }

    /// `name=value`; `None` where none begins, and `None` in it where it is not plain.
    fn assignment(&mut self) -> Option<Option<ast::Assignment>> {
        let from = self.at;
        let length =
            self.bytes[from..].iter().enumerate().take_while(|(at, byte)| is_name(**byte, *at > 0)).count();
        match &self.bytes[from + length..] {
            _ if length == 0 => return None,
            [b'=', ..] => {}
            [b'+', b'=', ..] => return Some(None),
            _ => return None,
        }
        self.at += length + 1;
        let start = self.at;
        let empty = !is_letter(self.peek()) && !matches!(self.peek(), b'\'' | b'"' | b'$');
        let value = if empty {
            matches!(self.peek(), b' ' | b'\t' | b'\n' | b';').then(|| ast::Word {
                parts: Vec::new(),
                span: span(start, start),
                brace_syntax: Vec::new(),
            })
        } else {
            self.word()
        };
        let name = ast::Name::new(&self.text[from..from + length]);
        let name_span = span(from, from + length);
        let target = ast::VarRef { name, name_span, subscript: None, span: name_span };
        Some(value.map(|value| ast::Assignment {
            target,
            value: ast::AssignmentValue::Scalar(value),
            append: false,
            span: span(from, self.at),
        }))
    }

    /// A file that is opened here, if one is; `None` where that is not plain.
    fn redirect(&mut self) -> Option<Option<ast::Redirect>> {
        use ast::RedirectKind as Kind;
        let from = self.at;
        let number = self.peek().is_ascii_digit() && matches!(self.ahead(1), b'<' | b'>');
        let fd = number.then(|| i32::from(self.peek() - b'0'));
        let operator = from + usize::from(number);
        let at = |by: usize| self.bytes.get(operator + by).copied().unwrap_or(b'\n');
        let (kind, fd, length) = match (at(0), at(1), at(2)) {
            (b'>', b'>', _) => (Kind::Append, fd, 2),
            (b'>', b'&', b'0'..=b'9') => (Kind::DupOutput, Some(fd.unwrap_or(1)), 2),
            (b'>', b'&' | b'|' | b'(', _) => return None,
            (b'>', ..) => (Kind::Output, fd, 1),
            (b'<', b'<' | b'>' | b'&' | b'(', _) => return None,
            (b'<', ..) if fd.is_none() => (Kind::Input, None, 1),
            (b'&', b'>', b'>' | b'&' | b'(') => return None,
            (b'&', b'>', _) if !number => (Kind::OutputBoth, None, 2),
            (b'<', ..) => return None,
            _ => return Some(None),
        };
        self.at = operator + length;
        if kind == Kind::DupOutput {
            // `>&2x` is a file.
            let ended = matches!(self.ahead(1), b' ' | b'\n' | b';' | b'|');
            self.at += 1;
            if !ended {
                return None;
            }
            let target = ast::RedirectTarget::Word(self.literal(self.at - 1, self.at));
            let span = span(from, self.at);
            return Some(Some(ast::Redirect { fd, fd_var: None, fd_var_span: None, kind, span, target }));
        }
        while matches!(self.peek(), b' ' | b'\t') {
            self.at += 1;
        }
        let target = ast::RedirectTarget::Word(self.word()?);
        let span = span(from, self.at);
        Some(Some(ast::Redirect { fd, fd_var: None, fd_var_span: None, kind, span, target }))
    }
}

fn flow(name: &str, args: Vec<ast::Word>, span: ast::Span) -> ast::BuiltinCommand {
    let mut args = args.into_iter();
    let (operand, extra_args) = (args.next(), args.collect());
    let assignments = Box::default();
    match name {
        "break" => {
            ast::BuiltinCommand::Break(ast::BreakCommand { depth: operand, extra_args, assignments, span })
        }
        "continue" => ast::BuiltinCommand::Continue(ast::ContinueCommand {
            depth: operand,
            extra_args,
            assignments,
            span,
        }),
        "return" => {
            ast::BuiltinCommand::Return(ast::ReturnCommand { code: operand, extra_args, assignments, span })
        }
        _ => ast::BuiltinCommand::Exit(ast::ExitCommand { code: operand, extra_args, assignments, span }),
    }
}

/// Words that are no commands where a command could stand.
fn is_reserved(word: &[u8]) -> bool {
    matches!(
        word,
        b"if"
            | b"then"
            | b"elif"
            | b"else"
            | b"fi"
            | b"for"
            | b"while"
            | b"until"
            | b"do"
            | b"done"
            | b"case"
            | b"esac"
            | b"in"
            | b"select"
            | b"time"
            | b"coproc"
            | b"function"
            | b"always"
            | b"repeat"
            | b"foreach"
    )
}
