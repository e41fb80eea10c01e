//! Program text with its strings told apart from its code, and calls with constant arguments read out of it.

use crate::language::{Effect, Language};
use crate::rules::Call as Known;

/// An argument of a call, as far as it is constant.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    Text(String),
    List(Vec<Argument>),
    Other,
}

pub(crate) struct Program<'a> {
    pub code: &'a str,
    /// The code with the insides of strings and comments blanked, byte for byte.
    pub masked: String,
    /// Strings: where they start and end, quotes included, and whether they are constant.
    pub strings: Vec<(usize, usize, bool)>,
}

impl<'a> Program<'a> {
    pub fn read(code: &'a str, language: Language) -> Self {
        let bytes = code.as_bytes();
        let mut masked = bytes.to_vec();
        let mut strings = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let byte = bytes[at];
            if let Some(comment) = language.comment()
                && bytes[at..].starts_with(comment.as_bytes())
                && (comment != "#" || at == 0 || bytes[at - 1] != b'$')
                && (comment != "//" || at == 0 || bytes[at - 1] != b':')
                && (comment != "--" || at == 0 || bytes[at - 1].is_ascii_whitespace())
            {
                while at < bytes.len() && bytes[at] != b'\n' {
                    masked[at] = b' ';
                    at += 1;
                }
                continue;
            }
            let quote = matches!(byte, b'"' | b'\'')
                && !(byte == b'\'' && matches!(language, Language::Awk | Language::Emacs))
                && language != Language::M4
                || byte == b'`'
                    && matches!(
                        language,
                        Language::Javascript
                            | Language::Perl
                            | Language::Ruby
                            | Language::Php
                            | Language::Julia
                            | Language::M4
                    );
            if !quote {
                at += 1;
                continue;
            }
            let triple = bytes[at..].starts_with(&[byte; 3])
                && matches!(language, Language::Python | Language::Julia | Language::Groovy);
            // m4 quotes `like this'.
            let closing = if language == Language::M4 { b'\'' } else { byte };
            let Some(end) = string_end(bytes, at, if triple { 3 } else { 1 }, closing) else {
                // An unbalanced quote: nothing is masked, so that nothing can hide.
                return Self { code, masked: code.to_owned(), strings };
            };
            let width = if triple { 3 } else { 1 };
            let inside = &code[at + width..end - width];
            let formatted = language == Language::Python
                && at > 0
                && matches!(bytes[at - 1], b'f' | b'F')
                && inside.contains('{');
            let plain_quote =
                byte == b'\'' && matches!(language, Language::Perl | Language::Php | Language::Ruby);
            let constant = !formatted && (plain_quote || !language.interpolates(inside));
            let keep = byte == b'`' && language == Language::Javascript || formatted;
            if !keep || constant {
                masked[at + width..end - width].fill(b' ');
            }
            strings.push((at, end, constant));
            at = end;
        }
        let masked = String::from_utf8(masked).unwrap_or_else(|_| code.to_owned());
        Self { code, masked, strings }
    }

    /// Where a call is made: the start of its name, and the place after it.
    pub fn occurrences(&self, known: &Known, language: Language) -> Vec<(usize, usize)> {
        let name = known.name;
        self.masked
            .match_indices(name)
            .filter_map(|(at, _)| {
                let before = self.masked[..at].chars().next_back();
                if !name.starts_with('.')
                    && before.is_some_and(|c| {
                        c.is_alphanumeric() || c == '_' || (c == '$' && language != Language::Javascript)
                    })
                {
                    return None;
                }
                let after = at + name.len();
                let rest = &self.masked[after..];
                let next = rest.trim_start().chars().next();
                let follows = match next {
                    Some('(') => true,
                    Some('{') if known.effect == Effect::Code => false,
                    Some(next)
                        if (language == Language::Perl
                            || language == Language::Ruby
                                && matches!(
                                    known.effect,
                                    Effect::Code | Effect::Delete | Effect::DeleteTree
                                ))
                            && (next.is_alphabetic() || next == '<')
                            && rest.starts_with(' ') =>
                    {
                        !rest.trim_start().starts_with("if ")
                            && !rest.trim_start().starts_with("or ")
                            && known.effect != Effect::Ask
                    }
                    Some('"' | '\'' | '`' | '[' | '{' | '$' | '@' | 'q') => {
                        language.bare_calls()
                            && (rest.starts_with([' ', '"', '\'', '`']) || next == Some('('))
                    }
                    _ => false,
                } || known.effect == Effect::Ask
                    || (language.bare_calls()
                        && matches!(known.effect, Effect::Stop | Effect::Shell)
                        && !rest
                            .starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == '='));
                if rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
                    && !name.ends_with(['.', '(', ':'])
                {
                    return None;
                }
                follows.then_some((at, after))
            })
            .collect()
    }

    pub fn arguments(&self, at: usize, language: Language) -> Vec<Argument> {
        let mut reader = Reader { program: self, at, language };
        reader.space();
        let bracketed = reader.take('(');
        let mut arguments = Vec::new();
        for _ in 0..32 {
            reader.space();
            if reader.at >= self.code.len()
                || (bracketed && reader.peek() == Some(')'))
                || reader.peek() == Some(';')
            {
                break;
            }
            arguments.push(reader.argument(0));
            reader.space();
            if !reader.take(',') {
                break;
            }
        }
        arguments
    }

    pub fn string_before(&self, at: usize) -> Option<String> {
        let (start, end, constant) = self.strings.iter().rev().find(|(_, end, _)| *end <= at)?;
        constant.then(|| self.code[*start..*end].trim_matches(['"', '\'']).to_owned())
    }
}

fn string_end(bytes: &[u8], start: usize, width: usize, quote: u8) -> Option<usize> {
    let mut at = start + width;
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            at += 2;
            continue;
        }
        if bytes[at..].starts_with(&[quote; 3][..width]) {
            return Some(at + width);
        }
        at += 1;
    }
    None
}

/// Reads constant arguments.
struct Reader<'p, 'a> {
    program: &'p Program<'a>,
    at: usize,
    language: Language,
}

impl Reader<'_, '_> {
    fn peek(&self) -> Option<char> {
        self.program.code[self.at..].chars().next()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += self.peek().map_or(1, char::len_utf8);
        }
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn argument(&mut self, depth: usize) -> Argument {
        if depth > 6 {
            return self.other();
        }
        self.space();
        if self.take('[') {
            let mut items = Vec::new();
            while items.len() < 64 {
                self.space();
                if self.take(']') || self.peek().is_none() {
                    break;
                }
                items.push(self.argument(depth + 1));
                self.space();
                if !self.take(',') && self.peek() != Some(']') {
                    break;
                }
            }
            return Argument::List(items);
        }
        match self.text() {
            Some(text) => Argument::Text(text),
            None => self.other(),
        }
    }

    /// A string, or several joined by an operator or by standing next to each other.
    fn text(&mut self) -> Option<String> {
        let mut text = String::new();
        let start = self.at;
        loop {
            self.space();
            while self.peek().is_some_and(|c| "rRbBuUfF".contains(c))
                && self.program.code[self.at + 1..].starts_with(['"', '\''])
            {
                self.at += 1;
            }
            let Some(&(from, end, constant)) =
                self.program.strings.iter().find(|(from, ..)| *from == self.at)
            else {
                self.at = start;
                return None;
            };
            if !constant {
                self.at = start;
                return None;
            }
            let inside = self.program.code[from..end].trim_matches(['"', '\'', '`']);
            text.push_str(&unescape(inside));
            self.at = end;
            self.space();
            match self.peek() {
                Some('+') => self.at += 1,
                Some('.') if matches!(self.language, Language::Perl | Language::Php | Language::Lua) => {
                    while self.take('.') {}
                }
                Some('"' | '\'') if self.language == Language::Python => {}
                // Standing next to each other joins them: what is known of the command is its beginning.
                Some(next) if self.language == Language::Awk && !"),;}|>&<?:]\n".contains(next) => {
                    self.other();
                    text.push(cofferdam_shell_syntax::HOLE);
                    return Some(text);
                }
                // A method on the string changes it: `'…'.replace(…)`, `'…'[::-1]`, `'…' % x`.
                Some('.' | '[' | '%' | '*') => {
                    self.at = start;
                    return None;
                }
                _ => return Some(text),
            }
        }
    }

    /// Skips what is not understood, up to the next comma or the end of the call.
    fn other(&mut self) -> Argument {
        let mut depth = 0usize;
        while self.at < self.program.masked.len() {
            let Some(character) = self.program.masked[self.at..].chars().next() else { break };
            match character {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' if depth == 0 => break,
                ')' | ']' | '}' => depth -= 1,
                ',' | ';' if depth == 0 => break,
                _ => {}
            }
            self.at += character.len_utf8();
        }
        Argument::Other
    }
}

fn unescape(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    text.replace("\\\"", "\"")
        .replace("\\'", "'")
        .replace("\\n", "\n")
        .replace("\\t", "\t")
        .replace("\\x2f", "/")
        .replace("\\\\", "\\")
}
