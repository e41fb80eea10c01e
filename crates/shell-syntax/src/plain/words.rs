//! Words of ordinary letters, quotes and variables.

use shuck_ast as ast;

use super::{Reader, span};

/// Letters that mean nothing to any shell wherever they stand in a word. Stars and question marks are the walk's to
/// see, and so is a tilde.
pub(super) fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'_' | b'.' | b'/' | b':' | b'=' | b',' | b'@' | b'%' | b'+' | b'-' | b'*' | b'?' | b'~'
        )
}

/// Whether a letter can be in the name of a variable, or begin one.
pub(super) fn is_name(byte: u8, within: bool) -> bool {
    byte == b'_' || byte.is_ascii_alphabetic() || within && byte.is_ascii_digit()
}

impl Reader<'_> {
    /// The letters from here to there, as a word.
    pub(super) fn literal(&self, from: usize, to: usize) -> ast::Word {
        let span = span(from, to);
        let part = ast::WordPartNode::new(ast::WordPart::Literal(ast::LiteralText::Source), span);
        ast::Word { parts: vec![part], span, brace_syntax: Vec::new() }
    }

    pub(super) fn word(&mut self) -> Option<ast::Word> {
        let from = self.at;
        // The brackets of `[ -f a ]`; in a longer word they are a pattern or a place in an array.
        if matches!(self.peek(), b'[' | b']') {
            self.at += 1;
            return self.is_apart().then(|| self.literal(from, self.at));
        }
        self.letters();
        let plain = self.at;
        if plain > from && self.is_apart() {
            // `10>a` is a number of a file; `2>a` has been seen before.
            let number =
                matches!(self.peek(), b'<' | b'>') && self.bytes[from..plain].iter().all(u8::is_ascii_digit);
            return (!number).then(|| self.literal(from, plain));
        }
        let mut parts = Vec::with_capacity(2);
        self.at = from;
        while let Some(part) = self.part()? {
            parts.push(part);
        }
        (self.is_apart() && !parts.is_empty()).then(|| ast::Word {
            parts,
            span: span(from, self.at),
            brace_syntax: Vec::new(),
        })
    }

    fn letters(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|byte| !is_letter(*byte)).unwrap_or(rest.len());
    }

    /// Whether what stands here ends a word.
    fn is_apart(&self) -> bool {
        matches!(self.peek(), b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>')
    }

    /// The next part of a word, if it goes on; `None` where that is not plain.
    fn part(&mut self) -> Option<Option<ast::WordPartNode>> {
        let from = self.at;
        if self.at >= self.bytes.len() {
            return Some(None);
        }
        let kind = match self.peek() {
            b'\'' => {
                let length = self.bytes[from + 1..].iter().position(|byte| *byte == b'\'')?;
                let to = from + 1 + length;
                self.ampersand |= self.bytes[from + 1..to].contains(&b'&');
                self.at = to + 1;
                ast::WordPart::SingleQuoted { value: span(from + 1, to).into(), dollar: false }
            }
            b'"' => {
                let parts = self.quoted()?;
                ast::WordPart::DoubleQuoted { parts, dollar: false }
            }
            b'$' => self.variable()?,
            byte if is_letter(byte) => {
                self.letters();
                ast::WordPart::Literal(ast::LiteralText::Source)
            }
            _ => return Some(None),
        };
        Some(Some(ast::WordPartNode::new(kind, span(from, self.at))))
    }

    /// What stands between double quotes, up to and with the second.
    fn quoted(&mut self) -> Option<Vec<ast::WordPartNode>> {
        self.at += 1;
        let mut parts = Vec::with_capacity(2);
        loop {
            let from = self.at;
            match *self.bytes.get(from)? {
                b'"' => {
                    self.at += 1;
                    return Some(parts);
                }
                b'$' => {
                    let kind = self.variable()?;
                    parts.push(ast::WordPartNode::new(kind, span(from, self.at)));
                }
                _ => {
                    let rest = &self.bytes[from..];
                    let length = rest.iter().position(|byte| matches!(byte, b'"' | b'$' | b'\\' | b'`'))?;
                    if matches!(rest[length], b'\\' | b'`') {
                        return None;
                    }
                    self.ampersand |= rest[..length].contains(&b'&');
                    self.at += length;
                    let kind = ast::WordPart::Literal(ast::LiteralText::Source);
                    parts.push(ast::WordPartNode::new(kind, span(from, self.at)));
                }
            }
        }
    }

    /// `$name`, `${name}`, `$1` or `$@`.
    fn variable(&mut self) -> Option<ast::WordPart> {
        let braces = self.ahead(1) == b'{';
        let from = self.at + 1 + usize::from(braces);
        let rest = &self.bytes[from..];
        let named = rest.iter().enumerate().take_while(|(at, byte)| is_name(**byte, *at > 0)).count();
        let length = match (named, rest.first()?) {
            (0, b'0'..=b'9' | b'@' | b'*' | b'#' | b'?') if !braces => 1,
            (0, _) => return None,
            (length, _) => length,
        };
        let to = from + length;
        if braces && self.bytes.get(to) != Some(&b'}') {
            return None;
        }
        self.at = to + usize::from(braces);
        // What follows could be a place in an array to some, or an operator.
        if matches!(self.peek(), b'[' | b'{' | b'(') {
            return None;
        }
        Some(ast::WordPart::Variable(ast::Name::new(&self.text[from..to])))
    }
}
