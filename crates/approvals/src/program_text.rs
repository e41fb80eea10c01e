//! Program text with its strings told apart from its code, and calls with constant arguments read out of it.

use crate::language::{Effect, Language};
use crate::literal::{inside, is_plain, operator_end, unescape, without_escapes};
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
            if let Some((end, raw)) = operator_end(bytes, at, language) {
                let literal = &code[at..end];
                let constant = raw || !language.interpolates(&without_escapes(inside(literal)));
                masked[at + 1..end].fill(b' ');
                strings.push((at, end, constant));
                at = end;
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
            let escaped = without_escapes(inside);
            let formatted = language == Language::Python
                && at > 0
                && matches!(bytes[at - 1], b'f' | b'F')
                && inside.contains('{');
            let plain_quote =
                byte == b'\'' && matches!(language, Language::Perl | Language::Php | Language::Ruby);
            // Of the quotes of this language only the backtick has holes.
            let plain_quote = plain_quote || language == Language::Javascript && byte != b'`';
            let constant = !formatted && (plain_quote || !language.interpolates(&escaped));
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
                } || matches!(known.effect, Effect::Ask | Effect::Power)
                    || (language.bare_calls()
                        && matches!(known.effect, Effect::Stop | Effect::Shell)
                        && !rest
                            .starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == '='));
                if rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
                    && !name.ends_with(['.', '(', ':', '_'])
                {
                    return None;
                }
                follows.then_some((at, after))
            })
            .collect()
    }

    pub fn arguments(&self, at: usize, language: Language) -> Vec<Argument> {
        let mut reader = Reader { program: self, at, language, depth: 0 };
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

    /// The directory that the program goes to, where it says so once and plainly.
    pub fn goes_to(&self, language: Language) -> Option<String> {
        let (at, _) = self.masked.match_indices("chdir").next()?;
        match self.arguments(at + "chdir".len(), language).first()? {
            Argument::Text(text) if text.starts_with('/') && !text.contains(cofferdam_shell_syntax::HOLE) => {
                Some(text.clone())
            }
            _ => None,
        }
    }

    /// Where the value of a name begins, where the program gives it one and no other.
    fn assigned(&self, name: &str) -> Option<usize> {
        if name.is_empty() {
            return None;
        }
        let mut assigned = None;
        for (at, _) in self.masked.match_indices(name) {
            let before = &self.masked[..at];
            let rest = self.masked[at + name.len()..].trim_start();
            if before.ends_with(|c: char| c.is_alphanumeric() || "_$@.".contains(c)) {
                continue;
            }
            // Whatever is done to it later, or who gives it its value, it is not known then.
            let changed = ["+=", ".=", "<<", "-=", "*=", "%=", "||=", "??="];
            let given = before.trim_end().ends_with(['(', ',']) && rest.starts_with('=');
            if given || before.ends_with("for ") || changed.iter().any(|mark| rest.starts_with(mark)) {
                return None;
            }
            let Some(value) = rest.strip_prefix(":=").or_else(|| rest.strip_prefix('=')) else { continue };
            if value.starts_with(['=', '~', '>']) {
                continue;
            }
            if assigned.replace(self.masked.len() - value.len()).is_some() {
                return None;
            }
        }
        assigned
    }

    /// The text that a name stands for.
    fn value_of(&self, name: &str, language: Language, depth: usize) -> Option<String> {
        let at = self.assigned(name).filter(|_| depth <= 4)?;
        let mut reader = Reader { program: self, at, language, depth: depth + 1 };
        reader.text().filter(|text| !text.contains(cofferdam_shell_syntax::HOLE))
    }

    /// A string with names in it, each replaced by what it stands for.
    fn filled(&self, text: &str, language: Language, depth: usize) -> Option<String> {
        let mark = match language {
            Language::Python => "{",
            Language::Javascript => "${",
            Language::Ruby => "#{",
            Language::Perl | Language::Php => "$",
            _ => return None,
        };
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(mark) {
            filled.push_str(&rest[..at]);
            let sigil = if mark == "$" { "$" } else { "" };
            let after = &rest[at + mark.len()..];
            let braced = mark != "$" || after.starts_with('{');
            let after = if mark == "$" { after.strip_prefix('{').unwrap_or(after) } else { after };
            let name = name_at(after);
            filled.push_str(&self.value_of(&format!("{sigil}{name}"), language, depth)?);
            rest = &after[name.len()..];
            if braced {
                rest = rest.strip_prefix('}')?;
            }
        }
        filled.push_str(rest);
        Some(filled)
    }

    pub fn string_before(&self, at: usize) -> Option<String> {
        let (start, end, constant) = self.strings.iter().rev().find(|(_, end, _)| *end <= at)?;
        constant.then(|| inside(&self.code[*start..*end]).to_owned())
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
    /// How many names were followed to get here.
    depth: usize,
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
        // A list that is taken apart again is its words.
        if matches!(self.language, Language::Ruby | Language::Python) {
            self.take('*');
        }
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
        // `qw(rm -rf /)` and `%w[rm -rf /]` are lists of words.
        let listed = self.program.strings.iter().find(|(from, ..)| *from == self.at).copied();
        if let Some((from, end, true)) = listed
            && ["qw", "%w", "%W"].iter().any(|kind| self.program.code[from..].starts_with(kind))
        {
            self.at = end;
            let words = inside(&self.program.code[from..end]).split_whitespace();
            return Argument::List(words.map(|word| Argument::Text(word.to_owned())).collect());
        }
        let start = self.at;
        if let Some(text) = self.text() {
            return Argument::Text(text);
        }
        // A text that is cut into words: `'rm -rf /'.split()`, `shlex.split('rm -rf /')`.
        self.at = start;
        if self.program.masked[start..].starts_with("shlex.split(") {
            self.at = start + "shlex.split(".len();
            if let Some(text) = self.text() {
                self.other();
                return words_of(&text);
            }
        } else if let Some(text) = self.piece()
            && self.program.masked[self.at..].starts_with(".split(")
        {
            self.other();
            return words_of(&text);
        }
        self.at = start;
        // A name that stands for a list.
        let name = name_at(&self.program.masked[self.at..]);
        let value = self.program.assigned(name).filter(|_| depth + self.depth < 4);
        if let Some(at) = value.filter(|at| self.program.masked[*at..].trim_start().starts_with('[')) {
            let mut reader =
                Reader { program: self.program, at, language: self.language, depth: self.depth + 1 };
            let list = reader.argument(depth + 1);
            self.other();
            return list;
        }
        self.other()
    }

    /// A string, or several joined by an operator or by standing next to each other. What is joined to a known beginning
    /// and not known itself is a hole.
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
            match self.piece() {
                Some(piece) => text.push_str(&piece),
                None if !text.trim().is_empty() && self.language != Language::Awk => {
                    self.other();
                    text.push(cofferdam_shell_syntax::HOLE);
                    return Some(text);
                }
                None => {
                    self.at = start;
                    return None;
                }
            }
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

    /// One string, or a name that stands for one.
    fn piece(&mut self) -> Option<String> {
        let found = self.program.strings.iter().find(|(from, ..)| *from == self.at);
        let Some(&(from, end, constant)) = found else {
            if let Some(path) = self.joined_path().or_else(|| self.well_known_path()) {
                return Some(path);
            }
            let name = name_at(&self.program.masked[self.at..]);
            let value = self.program.value_of(name, self.language, self.depth)?;
            self.at += name.len();
            return Some(value);
        };
        let literal = &self.program.code[from..end];
        let raw = self.language == Language::Python && self.program.code[..from].ends_with(['r', 'R']);
        let text = if constant {
            inside(literal).into()
        } else {
            self.program.filled(inside(literal), self.language, self.depth)?
        };
        self.at = end;
        Some(if raw {
            text
        } else if is_plain(literal, self.language) {
            text.replace("\\'", "'").replace("\\\\", "\\")
        } else {
            unescape(&text)
        })
    }

    /// `Path('/')`, `os.path.join('/', name)`: a path with a hole for each part that is not known.
    fn joined_path(&mut self) -> Option<String> {
        const JOINS: &[&str] = &[
            "os.path.join(",
            "pathlib.Path(",
            "Path(",
            "path.join(",
            "path.resolve(",
            "File.join(",
            "os.path.expanduser(",
        ];
        let rest = &self.program.masked[self.at..];
        let join = JOINS.iter().find(|join| rest.starts_with(**join))?;
        let open = self.at + join.len() - 1;
        let parts = self.program.arguments(open, self.language);
        let mut path = String::new();
        for part in parts {
            if !path.is_empty() && !path.ends_with('/') {
                path.push('/');
            }
            match part {
                Argument::Text(text) => path.push_str(&text),
                _ => path.push(cofferdam_shell_syntax::HOLE),
            }
        }
        let mut depth = 0usize;
        let close = self.program.masked[open..].char_indices().find(|(_, character)| {
            depth = match character {
                '(' => depth + 1,
                ')' => depth - 1,
                _ => depth,
            };
            depth == 0
        })?;
        self.at = open + close.0 + 1;
        (!path.starts_with(cofferdam_shell_syntax::HOLE)).then_some(path)
    }

    /// What the languages call the home, and the root.
    fn well_known_path(&mut self) -> Option<String> {
        const HOMES: &[&str] = &[
            "pathlib.Path.home()",
            "Path.home()",
            "os.environ['HOME']",
            "os.environ[\"HOME\"]",
            "os.getenv('HOME')",
            "os.getenv(\"HOME\")",
            "os.environ.get('HOME')",
            "require('os').homedir()",
            "require(\"os\").homedir()",
            "os.homedir()",
            "process.env.HOME",
            "Dir.home",
            "ENV['HOME']",
            "ENV[\"HOME\"]",
            "$ENV{HOME}",
            "getenv('HOME')",
            "getenv(\"HOME\")",
        ];
        let rest = &self.program.code[self.at..];
        if let Some(home) = HOMES.iter().find(|home| rest.starts_with(**home)) {
            self.at += home.len();
            return Some("~".to_owned());
        }
        let root = ["os.sep", "path.sep", "File::SEPARATOR"].iter().find(|root| rest.starts_with(**root))?;
        self.at += root.len();
        Some("/".to_owned())
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

/// The name that a text begins with, its sigil included.
fn name_at(text: &str) -> &str {
    let sigil = usize::from(text.starts_with('$'));
    let end =
        text[sigil..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len() - sigil);
    if end == 0 || text[sigil..].starts_with(|c: char| c.is_ascii_digit()) {
        ""
    } else {
        &text[..sigil + end]
    }
}

fn words_of(text: &str) -> Argument {
    Argument::List(text.split_whitespace().map(|word| Argument::Text(word.to_owned())).collect())
}
