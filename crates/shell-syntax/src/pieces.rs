//! A long text cut between its commands, so that its pieces can be parsed side by side, and the same piece once only.
//!
//! A cut is made at the end of a line where everything that was opened is closed. What a shell has read up to there is
//! whole, so it reads the rest as if it stood alone; a parser that refuses one of the pieces shows that a cut was wrong,
//! and then the text is parsed as a whole ([`crate::reading`]). That shows every mistake but those about here-documents,
//! which a parser lets end where the text ends. So this is careful where bytes are not read as commands (quotes,
//! comments, here-documents), and whatever it does not know for certain ends the cutting: the rest is one piece.

mod opaque;

use std::ops::Range;

/// The pieces of a text in their order. Comments and empty lines between commands are in none of them.
pub(crate) fn of(text: &str) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut scanner = Scanner::new(text.as_bytes());
    let mut start = 0;
    // The first parser keeps the aliases it has met, and a carriage return is a letter to some and the end to others.
    let certain = !text.contains("alias") && !text.contains('\r');
    while certain && start < text.len() {
        match scanner.piece() {
            Some(end) => {
                if scanner.last.is_some() {
                    pieces.push(start..end);
                }
                start = end;
            }
            None => break,
        }
    }
    if start < text.len() {
        pieces.push(start..text.len());
    }
    pieces
}

/// What has been opened and not closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    If,
    Loop,
    Case,
    Brace,
    /// A subshell, the brackets of a function, a process substitution.
    Paren,
    /// `@(…)`.
    Glob,
    /// `a=(…)`.
    Array,
    /// `[[`.
    Condition,
    /// `((` or `$((`.
    Arithmetic,
    /// Brackets within that.
    Group,
    /// `$(`.
    Substitution,
    /// `${`.
    Parameter,
    /// `"`.
    Quote,
}

struct Heredoc<'a> {
    end: &'a [u8],
    strips_tabs: bool,
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    open: Vec<Open>,
    heredocs: Vec<Heredoc<'a>>,
    /// Where the word began in which `at` is.
    word: Option<usize>,
    /// Whether that word is nothing but letters as they stand.
    plain: bool,
    /// How many brackets like `{` are open in that word. The first parser looks for their end beyond the word.
    braces: usize,
    /// Whether a word that begins here can be a keyword.
    command: bool,
    /// Whether what stands last in the line wants something after it: `function f`, `!`.
    unfinished: bool,
    /// Whether the next word is the name of a function.
    function: bool,
    /// Where the last byte is that means something, in this piece.
    last: Option<usize>,
}

/// `None`, and the cutting ends.
type Certain = Option<()>;

impl<'a> Scanner<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            open: Vec::new(),
            heredocs: Vec::new(),
            word: None,
            plain: false,
            braces: 0,
            command: true,
            unfinished: false,
            function: false,
            last: None,
        }
    }

    /// The end of the piece that begins here, if it is certain.
    fn piece(&mut self) -> Option<usize> {
        (self.last, self.command, self.unfinished) = (None, true, false);
        while self.at < self.bytes.len() {
            let newline = self.bytes[self.at] == b'\n';
            self.step()?;
            if newline && self.open.is_empty() && self.heredocs.is_empty() && self.is_finished() {
                return Some(self.at);
            }
        }
        self.end_word()?;
        (self.open.is_empty() && self.heredocs.is_empty()).then_some(self.at)
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(b'\n')
    }

    fn before(&self) -> u8 {
        if self.at == 0 { b'\n' } else { self.bytes[self.at - 1] }
    }

    fn top(&self) -> Option<Open> {
        self.open.last().copied()
    }

    /// Whether double quotes are open, other than around a command within them.
    fn in_quotes(&self) -> bool {
        self.open
            .iter()
            .rev()
            .take_while(|open| **open != Open::Substitution)
            .any(|open| *open == Open::Quote)
    }

    fn is_finished(&self) -> bool {
        let Some(last) = self.last else { return true };
        let before = if last == 0 { b'\n' } else { self.bytes[last - 1] };
        match self.bytes[last] {
            b'|' => false,
            b'&' => !matches!(before, b'&' | b'|' | b'<' | b'>'),
            // The brackets of a function, whose body may begin in the next line.
            b')' => before != b'(' && before != b' ',
            b'<' | b'>' => false,
            _ => !self.unfinished,
        }
    }

    fn step(&mut self) -> Certain {
        match self.top() {
            Some(Open::Quote) => self.quoted(),
            Some(Open::Parameter) => self.parameter(),
            Some(Open::Arithmetic | Open::Group) => self.arithmetic(),
            _ => self.code(),
        }
    }

    /// One byte of a word.
    fn letter(&mut self, plain: bool) {
        if self.word.is_none() {
            (self.word, self.plain, self.braces) = (Some(self.at), true, 0);
        }
        self.plain &= plain;
        self.last = Some(self.at);
        self.at += 1;
    }

    /// More of the same word, as far as it is letters that mean nothing anywhere: most of a text is such words.
    fn letters(&mut self) {
        let rest = &self.bytes[self.at..];
        let ordinary = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/');
        let length = rest.iter().position(|byte| !ordinary(byte)).unwrap_or(rest.len());
        self.at += length;
        self.last = Some(self.at - 1);
    }

    fn code(&mut self) -> Certain {
        match self.bytes[self.at] {
            b'\n' => self.newline(),
            b' ' | b'\t' => {
                self.end_word()?;
                self.at += 1;
                Some(())
            }
            b'\\' => self.backslash(),
            b'\'' => self.single_quotes(),
            b'"' => {
                self.letter(false);
                self.open.push(Open::Quote);
                Some(())
            }
            b'`' => self.backticks(),
            b'$' => self.dollar(),
            b'#' if self.word.is_none() => self.comment(),
            b'(' => self.opening(),
            b')' => self.closing(),
            b'<' => self.less(),
            byte @ (b';' | b'&' | b'|' | b'>') => {
                self.end_word()?;
                self.command = byte != b'>';
                self.unfinished = false;
                self.last = Some(self.at);
                self.at += 1;
                Some(())
            }
            byte => {
                self.letter(true);
                match byte {
                    b'{' => self.braces += 1,
                    b'}' => self.braces = self.braces.saturating_sub(1),
                    _ => self.letters(),
                }
                Some(())
            }
        }
    }

    fn newline(&mut self) -> Certain {
        self.end_word()?;
        self.at += 1;
        self.command = self.top() != Some(Open::Array);
        for heredoc in std::mem::take(&mut self.heredocs) {
            loop {
                let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
                let length = rest.iter().position(|byte| *byte == b'\n')?;
                let mut line = &rest[..length];
                self.at += length + 1;
                while let (true, [b'\t', inner @ ..]) = (heredoc.strips_tabs, line) {
                    line = inner;
                }
                if line == heredoc.end {
                    break;
                }
            }
        }
        Some(())
    }

    /// A line that goes on is read as one by all, unless what follows could be a comment.
    fn backslash(&mut self) -> Certain {
        let next = *self.bytes.get(self.at + 1)?;
        if next == b'\n' {
            if self.peek(2) == b'#' || !self.heredocs.is_empty() {
                return None;
            }
            self.plain = false;
            self.at += 2;
        } else {
            self.letter(false);
            self.letter(false);
        }
        Some(())
    }

    fn opening(&mut self) -> Certain {
        let word = self.word.is_some();
        let open = match self.before() {
            b'=' if word => Open::Array,
            b'?' | b'*' | b'+' | b'@' | b'!' if word => Open::Glob,
            b'<' | b'>' => Open::Substitution,
            _ if self.top() == Some(Open::Condition) => Open::Glob,
            _ if self.peek(1) == b'(' && !word => Open::Arithmetic,
            _ => Open::Paren,
        };
        match open {
            Open::Arithmetic => {
                self.open.push(Open::Arithmetic);
                self.letter(false);
                self.letter(false);
                return Some(());
            }
            Open::Paren => self.end_word()?,
            _ if word && self.braces > 0 => return None,
            _ => self.plain = false,
        }
        self.open.push(open);
        self.word = None;
        self.command = matches!(open, Open::Paren | Open::Substitution);
        self.unfinished = false;
        self.last = Some(self.at);
        self.at += 1;
        Some(())
    }

    fn closing(&mut self) -> Certain {
        self.end_word()?;
        match self.top()? {
            // The end of a pattern.
            Open::Case => self.command = true,
            Open::Paren => {
                self.open.pop();
                self.command = true;
            }
            Open::Substitution | Open::Array | Open::Glob => {
                self.open.pop();
                // The word goes on where it was interrupted.
                (self.word, self.plain, self.braces, self.command) = (Some(self.at), false, 0, false);
            }
            _ => return None,
        }
        self.unfinished = false;
        self.last = Some(self.at);
        self.at += 1;
        Some(())
    }

    /// `<`, `<<<`, or a here-document.
    fn less(&mut self) -> Certain {
        self.end_word()?;
        self.command = false;
        self.last = Some(self.at);
        if self.peek(1) != b'<' {
            self.at += 1;
            return Some(());
        }
        if self.peek(2) == b'<' {
            self.at += 3;
            self.last = Some(self.at - 1);
            return Some(());
        }
        let nested = |open: &Open| !matches!(open, Open::If | Open::Loop | Open::Case | Open::Brace);
        if self.open.iter().any(nested) {
            return None;
        }
        self.at += 2;
        let strips_tabs = self.peek(0) == b'-';
        self.at += usize::from(strips_tabs);
        while matches!(self.peek(0), b' ' | b'\t') {
            self.at += 1;
        }
        let quote = Some(self.peek(0)).filter(|byte| matches!(byte, b'\'' | b'"'));
        self.at += usize::from(quote.is_some());
        let rest = self.bytes.get(self.at..)?;
        let length = rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')?;
        let end = &rest[..length];
        self.at += length;
        if let Some(quote) = quote {
            if self.peek(0) != quote {
                return None;
            }
            self.at += 1;
        }
        if end.is_empty() || !matches!(self.peek(0), b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b'>') {
            return None;
        }
        self.last = Some(self.at - 1);
        self.heredocs.push(Heredoc { end, strips_tabs });
        Some(())
    }

    /// What a word means that has come to its end.
    fn end_word(&mut self) -> Certain {
        let Some(start) = self.word.take() else { return Some(()) };
        let word = if self.plain { &self.bytes[start..self.at] } else { b"" };
        let apart = matches!(self.peek(0), b' ' | b'\t' | b'\n');
        let group = word == b"{" && apart && self.command && self.top() != Some(Open::Condition);
        if std::mem::take(&mut self.braces) > 0 && !group {
            return None;
        }
        if self.top() == Some(Open::Condition) {
            if word == b"]]" {
                self.open.pop();
                self.command = false;
            }
            return Some(());
        }
        self.unfinished = false;
        if std::mem::take(&mut self.function) {
            (self.command, self.unfinished) = (true, true);
            return Some(());
        }
        let pattern = self.top() == Some(Open::Case) && matches!(self.peek(0), b')' | b'|');
        if !std::mem::take(&mut self.command) || pattern {
            return Some(());
        }
        self.command = true;
        match word {
            b"if" => self.open.push(Open::If),
            b"while" | b"until" => self.open.push(Open::Loop),
            b"{" => self.open.push(Open::Brace),
            b"then" | b"else" | b"elif" | b"do" => {}
            b"!" | b"time" => self.unfinished = true,
            b"fi" => self.close(Open::If)?,
            b"done" => self.close(Open::Loop)?,
            b"esac" => self.close(Open::Case)?,
            b"}" => self.close(Open::Brace)?,
            b"coproc" => return None,
            other => {
                self.command = false;
                match other {
                    b"for" | b"select" => self.open.push(Open::Loop),
                    b"case" => self.open.push(Open::Case),
                    b"[[" => self.open.push(Open::Condition),
                    b"function" => (self.function, self.unfinished) = (true, true),
                    _ => {}
                }
            }
        }
        Some(())
    }

    fn close(&mut self, open: Open) -> Certain {
        (self.open.pop()? == open).then_some(())
    }
}

#[cfg(test)]
mod tests;
