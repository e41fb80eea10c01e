//! The plain part of shell, read here instead of by the two parsers: what most lines of most scripts are made of.
//!
//! Simple commands of ordinary letters and quotes with `$name` in them, joined by `;`, `&&`, `||`, `|` and `&`, their files,
//! and `if`, `for`, `while`, groups and functions made of those. There every shell and both parsers read the same, so
//! one reading is enough, and it takes a small part of the time. Everything that could be read in another way, and
//! everything that is merely rare, makes the whole text go to both parsers: backslashes, `$(…)`, here-documents, braces,
//! aliases, arrays, letters beyond ASCII. What comes out is the tree of the first parser as far as the walk looks at it;
//! where the walk does not look (comments, lines, columns, the place of a keyword) it is empty. Tests and a fuzz target
//! compare it with both parsers.

mod commands;
mod words;

use shuck_ast as ast;

use crate::scan;

/// Deeper nesting is left to the parsers, which have limits of their own.
const DEEPEST: usize = 12;
/// Longer chains too: each link is a level of the tree.
const LONGEST_CHAIN: usize = 64;

/// The tree of a text that is plain from its beginning to its end.
pub(crate) fn read(text: &str) -> Option<ast::File> {
    // The first parser replaces aliases by what they stand for.
    if !scan::is_printable(text) || text.contains("alias") {
        return None;
    }
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0, depth: 0, ampersand: false };
    let (body, end) = reader.sequence()?;
    (end == End::Text).then(|| ast::File { body, span: span(0, text.len()) })
}

/// What a sequence of statements ended at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Text,
    Then,
    Elif,
    Else,
    Fi,
    Do,
    Done,
    Brace,
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    /// Whether `&` has been met, other than in `&&` and `>&`: loops without end are told by it, from their text.
    ampersand: bool,
}

/// The walk asks for bytes alone, never for lines and columns.
fn span(from: usize, to: usize) -> ast::Span {
    let position = |at| ast::Position::at(1, 1, at);
    ast::Span::from_positions(position(from), position(to))
}

fn sequence(stmts: Vec<ast::Stmt>, from: usize, to: usize) -> ast::StmtSeq {
    ast::StmtSeq { leading_comments: Vec::new(), stmts, trailing_comments: Vec::new(), span: span(from, to) }
}

fn statement(command: ast::Command, from: usize, to: usize) -> ast::Stmt {
    ast::Stmt {
        leading_comments: Vec::new(),
        command,
        negated: false,
        redirects: Box::default(),
        terminator: None,
        terminator_span: None,
        inline_comment: None,
        span: span(from, to),
    }
}

impl Reader<'_> {
    /// The byte here, or the end of a line where the text ends.
    fn peek(&self) -> u8 {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> u8 {
        self.bytes.get(self.at + by).copied().unwrap_or(b'\n')
    }

    /// Blanks, and lines that go on in the next.
    fn blanks(&mut self) {
        loop {
            match self.peek() {
                b' ' | b'\t' => self.at += 1,
                // Only between words, and where the next line begins with a word or more blanks.
                b'\\'
                    if self.ahead(1) == b'\n'
                        && self.at > 0
                        && matches!(self.bytes[self.at - 1], b' ' | b'\t')
                        && (matches!(self.ahead(2), b' ' | b'\t') || words::is_letter(self.ahead(2))) =>
                {
                    self.at += 2;
                }
                _ => return,
            }
        }
    }

    /// Blanks and ends of lines, as after an operator.
    fn newlines(&mut self) {
        loop {
            self.blanks();
            if self.at >= self.bytes.len() || self.peek() != b'\n' {
                return;
            }
            self.at += 1;
        }
    }

    /// What may stand between statements.
    fn between(&mut self) {
        loop {
            self.newlines();
            if self.at >= self.bytes.len() || self.peek() != b'#' {
                return;
            }
            let rest = &self.bytes[self.at..];
            let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            self.ampersand |= rest[..length].contains(&b'&');
            self.at += length;
        }
    }

    /// Statements up to a keyword that ends them, or the end of the text. Never none, but in an empty text.
    fn sequence(&mut self) -> Option<(ast::StmtSeq, End)> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        // Statements are large, and most sequences have one.
        let mut statements = Vec::with_capacity(1);
        self.between();
        let from = self.at;
        let end = loop {
            if let Some(end) = self.end() {
                break end;
            }
            let mut statement = self.chain()?;
            self.blanks();
            match self.peek() {
                b'\n' => {}
                b'#' if self.bytes[self.at - 1].is_ascii_whitespace() => {}
                b';' if matches!(self.ahead(1), b';' | b'&') => return None,
                b';' => self.at += 1,
                // `&!` and `&|` mean something to others.
                b'&' if matches!(self.ahead(1), b' ' | b'\t' | b'\n') => {
                    self.ampersand = true;
                    let plain = ast::BackgroundOperator::Plain;
                    statement.terminator = Some(ast::StmtTerminator::Background(plain));
                    self.at += 1;
                }
                _ => return None,
            }
            statements.push(statement);
            self.between();
            // What else is no statement is refused where the next one is looked for.
        };
        self.depth -= 1;
        if statements.is_empty() && end != End::Text {
            return None;
        }
        let body = sequence(statements, from, self.at);
        Some((body, end))
    }

    /// Takes the keyword that ends a sequence, if one is here.
    fn end(&mut self) -> Option<End> {
        if self.at >= self.bytes.len() {
            return Some(End::Text);
        }
        let (end, length) = match self.keyword() {
            b"then" => (End::Then, 4),
            b"elif" => (End::Elif, 4),
            b"else" => (End::Else, 4),
            b"fi" => (End::Fi, 2),
            b"do" => (End::Do, 2),
            b"done" => (End::Done, 4),
            _ if self.peek() == b'}' && matches!(self.ahead(1), b' ' | b'\n' | b';') => (End::Brace, 1),
            _ => return None,
        };
        self.at += length;
        Some(end)
    }

    /// The small letters here, if they are a whole word.
    fn keyword(&self) -> &[u8] {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().take(9).take_while(|byte| byte.is_ascii_lowercase()).count();
        match rest.get(length) {
            None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')') => {
                &rest[..length]
            }
            _ => &[],
        }
    }

    /// Pipelines joined by `&&` and `||`.
    fn chain(&mut self) -> Option<ast::Stmt> {
        let from = self.at;
        let mut left = self.pipeline()?;
        for _ in 0..LONGEST_CHAIN {
            self.blanks();
            let op = match (self.peek(), self.ahead(1)) {
                (b'&', b'&') => ast::BinaryOp::And,
                (b'|', b'|') => ast::BinaryOp::Or,
                _ => return Some(left),
            };
            self.at += 2;
            left = self.joined(from, left, op, Self::pipeline)?;
        }
        None
    }

    fn pipeline(&mut self) -> Option<ast::Stmt> {
        let from = self.at;
        if self.peek() == b'!' && self.ahead(1) == b' ' {
            self.at += 1;
            self.blanks();
            let mut statement = self.command()?;
            self.blanks();
            statement.negated = true;
            // What `!` turns round is the whole pipeline.
            let simple = matches!(statement.command, ast::Command::Simple(_) | ast::Command::Builtin(_));
            return (simple && (self.peek() != b'|' || self.ahead(1) == b'|')).then_some(statement);
        }
        let mut left = self.command()?;
        for _ in 0..LONGEST_CHAIN {
            self.blanks();
            if self.peek() != b'|' || matches!(self.ahead(1), b'|' | b'&') {
                return Some(left);
            }
            self.at += 1;
            left = self.joined(from, left, ast::BinaryOp::Pipe, Self::command)?;
        }
        None
    }

    fn joined(
        &mut self,
        from: usize,
        left: ast::Stmt,
        op: ast::BinaryOp,
        right: fn(&mut Self) -> Option<ast::Stmt>,
    ) -> Option<ast::Stmt> {
        let op_span = ast::Span::new();
        self.newlines();
        let right = Box::new(right(self)?);
        let whole = span(from, self.at);
        let binary = ast::BinaryCommand { left: Box::new(left), op, op_span, right, span: whole };
        Some(statement(ast::Command::Binary(binary), from, self.at))
    }
}
