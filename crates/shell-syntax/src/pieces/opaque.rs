//! Bytes that are not read as commands: quotes, expansions, arithmetic, comments.

use super::{Certain, Open, Scanner};

impl Scanner<'_> {
    pub(super) fn single_quotes(&mut self) -> Certain {
        let inside = &self.bytes[self.at + 1..];
        let length = inside.iter().position(|byte| *byte == b'\'')?;
        self.skip_quoted(length + 2)
    }

    /// Steps over so many bytes that are no commands, unless they could be taken for the beginning of a here-document.
    pub(super) fn skip_quoted(&mut self, length: usize) -> Certain {
        let text = &self.bytes[self.at..self.at + length];
        let lines = text.contains(&b'\n');
        if text.windows(2).any(|pair| pair == b"<<") || (lines && !self.heredocs.is_empty()) {
            return None;
        }
        self.letter(false);
        self.at += length - 1;
        self.last = Some(self.at - 1);
        Some(())
    }

    pub(super) fn quoted(&mut self) -> Certain {
        match self.bytes[self.at] {
            b'"' => {
                self.open.pop();
                self.letter(false);
            }
            b'\\' => {
                self.bytes.get(self.at + 1)?;
                self.letter(false);
                self.letter(false);
            }
            b'`' => self.backticks()?,
            b'$' => self.dollar()?,
            b'\n' if !self.heredocs.is_empty() => return None,
            b'<' if self.peek(1) == b'<' => return None,
            _ => {
                self.letter(false);
                self.letters();
            }
        }
        Some(())
    }

    /// Within `${…}`. In double quotes a quote within it means one thing to some shells and another to others.
    pub(super) fn parameter(&mut self) -> Certain {
        let in_quotes = self.in_quotes();
        match self.bytes[self.at] {
            b'}' => {
                self.open.pop();
                self.letter(false);
            }
            b'{' => {
                self.open.push(Open::Parameter);
                self.letter(false);
            }
            b'\'' if !in_quotes => self.single_quotes()?,
            b'"' if !in_quotes => {
                self.open.push(Open::Quote);
                self.letter(false);
            }
            b'$' => self.dollar()?,
            b'\\' if self.peek(1) != b'\n' => {
                self.letter(false);
                self.letter(false);
            }
            b'\'' | b'"' | b'`' | b'\n' | b'\\' | b'<' | b'(' | b')' => return None,
            _ => self.letter(false),
        }
        Some(())
    }

    /// Within `((…))`. A subshell in a subshell begins like that too: only what is the same in both, and no end but `))`.
    pub(super) fn arithmetic(&mut self) -> Certain {
        match self.bytes[self.at] {
            b'(' => {
                self.open.push(Open::Group);
                self.letter(false);
            }
            b')' if self.top() == Some(Open::Group) => {
                self.open.pop();
                self.letter(false);
            }
            b')' if self.peek(1) == b')' => {
                self.open.pop();
                self.letter(false);
                self.letter(false);
            }
            b')' => return None,
            b'$' => self.dollar()?,
            b'#' if matches!(self.before(), b' ' | b'\t' | b'(' | b';' | b'&' | b'|') => return None,
            b'\'' | b'"' | b'`' | b'\n' | b'\\' => return None,
            b'<' if self.peek(1) == b'<' => return None,
            _ => self.letter(false),
        }
        Some(())
    }

    /// The first backtick that no backslash stands before ends it.
    pub(super) fn backticks(&mut self) -> Certain {
        let inside = &self.bytes[self.at + 1..];
        let length = inside.iter().position(|byte| *byte == b'`')?;
        let odd = |byte: &u8| matches!(byte, b'\\' | b'\'' | b'\n' | b'#');
        if inside[..length].iter().any(odd) {
            return None;
        }
        self.skip_quoted(length + 2)
    }

    pub(super) fn dollar(&mut self) -> Certain {
        let in_quotes = self.in_quotes();
        self.letter(false);
        match (self.peek(0), self.peek(1)) {
            (b'(', b'(') => {
                self.open.push(Open::Arithmetic);
                self.letter(false);
                self.letter(false);
            }
            (b'(', _) if self.braces > 0 => return None,
            (b'(', _) => {
                self.open.push(Open::Substitution);
                self.letter(false);
                (self.word, self.command) = (None, true);
            }
            (b'{', _) => {
                self.open.push(Open::Parameter);
                self.letter(false);
            }
            (b'\'', _) if !in_quotes && !matches!(self.top(), Some(Open::Arithmetic | Open::Group)) => {
                let mut length = 1;
                loop {
                    match self.bytes.get(self.at + length)? {
                        b'\\' => length += 2,
                        b'\'' => break,
                        _ => length += 1,
                    }
                }
                return self.skip_quoted(length + 1);
            }
            // `$[`, an old way to write `$((`.
            (b'[', _) => return None,
            _ => {}
        }
        Some(())
    }

    pub(super) fn comment(&mut self) -> Certain {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let alone = matches!(self.before(), b' ' | b'\t' | b'\n' | b';' | b'(');
        let doubtful = !alone || matches!(self.top(), Some(Open::Condition | Open::Glob));
        if doubtful || (self.last.is_some() && rest[..length].windows(2).any(|pair| pair == b"<<")) {
            return None;
        }
        self.at += length;
        Some(())
    }
}
