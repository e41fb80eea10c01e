//! A file of `NAME=VALUE` lines.
//!
//! What is common to the tools that read such files, and nothing that runs: `export` in front, comments,
//! values bare, in single quotes (literal) or in double quotes (`\n \r \t \" \\ \$`), quoted values over
//! several lines, either line end. `$NAME` is not expanded; a secret may hold a dollar sign. The last of two
//! equal names counts, as in a shell. A file with a mistake gives nothing at all: after a lost quote every
//! later line may mean something else.

use std::fmt;
use std::path::Path;

use zeroize::Zeroizing;

use super::{SourceError, private_file};

/// A mistake and the line it is on; never what stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DotenvMistake {
    pub line: usize,
    pub mistake: Mistake,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    NoEqualsSign,
    /// Something other than letters, digits and underscores before the `=`.
    BadName,
    UnclosedQuote,
    /// Something other than a comment after the closing quote.
    TextAfterQuote,
}

impl fmt::Display for DotenvMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.mistake {
            Mistake::NoEqualsSign => "there is no =",
            Mistake::BadName => "what is before the = is not a name",
            Mistake::UnclosedQuote => "the quote is not closed",
            Mistake::TextAfterQuote => "there is text after the closing quote",
        };
        write!(f, "line {}: {what}", self.line)
    }
}

pub(crate) fn read(path: &Path, key: &str) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    let contents = private_file::read(path)?;
    match value_of(&contents, key) {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(SourceError::DotenvKeyMissing { path: path.to_owned(), key: key.to_owned() }),
        Err(mistakes) => Err(SourceError::Dotenv { path: path.to_owned(), mistakes }),
    }
}

/// The value of one name; all mistakes of the file, if it has any.
fn value_of(contents: &[u8], key: &str) -> Result<Option<Zeroizing<Vec<u8>>>, Vec<DotenvMistake>> {
    let mut text = Text { rest: contents.strip_prefix(b"\xef\xbb\xbf").unwrap_or(contents), line: 1 };
    let mut found = None;
    let mut mistakes = Vec::new();
    while !text.rest.is_empty() {
        let line = text.line;
        match text.assignment() {
            Ok(Some((name, value))) if name == key.as_bytes() => found = Some(value),
            Ok(_) => {}
            Err(mistake) => mistakes.push(DotenvMistake { line, mistake }),
        }
    }
    if mistakes.is_empty() { Ok(found) } else { Err(mistakes) }
}

/// A name and its value.
type Assignment<'a> = (&'a [u8], Zeroizing<Vec<u8>>);

struct Text<'a> {
    rest: &'a [u8],
    line: usize,
}

impl<'a> Text<'a> {
    /// Takes one line, and with a quoted value as many more as it spans. A line with a mistake is taken
    /// whole, so that the next one can be looked at.
    fn assignment(&mut self) -> Result<Option<Assignment<'a>>, Mistake> {
        let end = self.rest.iter().position(|&byte| byte == b'\n').unwrap_or(self.rest.len());
        let line = self.rest[..end].trim_ascii();
        if line.is_empty() || line[0] == b'#' {
            self.skip(end);
            return Ok(None);
        }
        let Some(equals) = self.rest[..end].iter().position(|&byte| byte == b'=') else {
            self.skip(end);
            return Err(Mistake::NoEqualsSign);
        };
        let name = without_export(self.rest[..equals].trim_ascii());
        if !is_name(name) {
            self.skip(end);
            return Err(Mistake::BadName);
        }
        let raw = &self.rest[equals + 1..end];
        let blanks = raw.len() - raw.trim_ascii_start().len();
        match raw.get(blanks) {
            Some(&quote @ (b'"' | b'\'')) => {
                self.rest = &self.rest[equals + 1 + blanks + 1..];
                self.quoted(quote).map(|value| Some((name, value)))
            }
            _ => {
                self.skip(end);
                Ok(Some((name, Zeroizing::new(without_comment(raw).trim_ascii().to_vec()))))
            }
        }
    }

    /// The rest of a quoted value, from behind its opening quote.
    fn quoted(&mut self, quote: u8) -> Result<Zeroizing<Vec<u8>>, Mistake> {
        let Some(close) = closing(self.rest, quote) else {
            self.skip(self.rest.len());
            return Err(Mistake::UnclosedQuote);
        };
        let inner = &self.rest[..close];
        self.line += inner.iter().filter(|&&byte| byte == b'\n').count();
        self.rest = &self.rest[close + 1..];
        let end = self.rest.iter().position(|&byte| byte == b'\n').unwrap_or(self.rest.len());
        let after = self.rest[..end].trim_ascii();
        self.skip(end);
        if !after.is_empty() && after[0] != b'#' {
            return Err(Mistake::TextAfterQuote);
        }
        Ok(if quote == b'"' { unescape(inner) } else { Zeroizing::new(inner.to_vec()) })
    }

    /// Goes behind the line end at `end`, if there is one.
    fn skip(&mut self, end: usize) {
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        self.line += 1;
    }
}

fn without_export(name: &[u8]) -> &[u8] {
    match name.strip_prefix(b"export") {
        Some(rest) if rest.first().is_some_and(u8::is_ascii_whitespace) => rest.trim_ascii(),
        _ => name,
    }
}

fn is_name(name: &[u8]) -> bool {
    !name.is_empty()
        && !name[0].is_ascii_digit()
        && name.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// In a bare value `#` starts a comment only after a blank: `a#b` is a value.
fn without_comment(raw: &[u8]) -> &[u8] {
    let comment =
        (0..raw.len()).find(|&at| raw[at] == b'#' && (at == 0 || raw[at - 1].is_ascii_whitespace()));
    &raw[..comment.unwrap_or(raw.len())]
}

/// In double quotes a backslash hides the quote behind it; in single quotes nothing does.
fn closing(text: &[u8], quote: u8) -> Option<usize> {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            byte if byte == quote => return Some(at),
            b'\\' if quote == b'"' => at += 2,
            _ => at += 1,
        }
    }
    None
}

/// A backslash before anything else stays what it is.
fn unescape(inner: &[u8]) -> Zeroizing<Vec<u8>> {
    // Never longer than what it is made from, so the vector never grows.
    let mut out = Zeroizing::new(Vec::with_capacity(inner.len()));
    let mut bytes = inner.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let escaped = match bytes.peek() {
            Some(b'n') => Some(b'\n'),
            Some(b'r') => Some(b'\r'),
            Some(b't') => Some(b'\t'),
            Some(&next @ (b'"' | b'\\' | b'$')) => Some(next),
            _ => None,
        };
        match escaped.filter(|_| byte == b'\\') {
            Some(meant) => {
                bytes.next();
                out.push(meant);
            }
            None => out.push(byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(contents: &str) -> Option<String> {
        let found = value_of(contents.as_bytes(), "KEY").expect("no mistakes");
        found.map(|value| String::from_utf8(value.to_vec()).expect("text"))
    }

    #[test]
    fn every_way_to_write_a_value() {
        for (contents, expected) in [
            ("KEY=abc", "abc"),
            ("KEY=abc\r\n", "abc"),
            ("\u{feff}KEY=abc\n", "abc"),
            ("  export KEY = abc  # comment\n", "abc"),
            ("export\tKEY=abc", "abc"),
            ("KEY=a#b", "a#b"),
            ("KEY=a=b==", "a=b=="),
            ("KEY=# nothing", ""),
            ("KEY=", ""),
            ("KEY=$HOME and ${X}", "$HOME and ${X}"),
            ("KEY=it's", "it's"),
            ("KEY='a \"b\" \\n $c # d' # comment", "a \"b\" \\n $c # d"),
            (r#"KEY="a \"b\" \\ \n \$c \d # e""#, "a \"b\" \\ \n $c \\d # e"),
            ("KEY=\"one\ntwo\"\nOTHER=x", "one\ntwo"),
            ("KEY=first\nOTHER=x\nKEY=last", "last"),
            ("# KEY=no\nKEY=yes", "yes"),
            ("OTHER='KEY=no\nKEY=no'\nKEY=yes", "yes"),
        ] {
            assert_eq!(value(contents).as_deref(), Some(expected), "{contents:?}");
        }
        for contents in ["", "\n\n", "# KEY=abc", "KEYS=abc", "MY_KEY=abc", "OTHER='\nKEY=abc\n'"] {
            assert_eq!(value(contents), None, "{contents:?}");
        }
    }

    #[test]
    fn all_mistakes_are_told_by_line_and_without_what_stands_there() {
        let contents =
            "A=1\nsk-canary\n\nB='x\ny' sk-canary\n1C=sk-canary\nKEY=ok\nexport D-E=1\nF=\"sk-canary\nG=1";
        let mistakes = value_of(contents.as_bytes(), "KEY").expect_err("mistakes");
        let expected = [
            (2, Mistake::NoEqualsSign),
            (4, Mistake::TextAfterQuote),
            (6, Mistake::BadName),
            (8, Mistake::BadName),
            (9, Mistake::UnclosedQuote),
        ];
        assert_eq!(mistakes, expected.map(|(line, mistake)| DotenvMistake { line, mistake }));
        let told: String = mistakes.iter().map(|mistake| format!("{mistake}{mistake:?}")).collect();
        assert!(!told.contains("canary"));
    }

    proptest! {
        #[test]
        fn single_quotes_are_literal(text in "[^'\0]{0,40}") {
            prop_assert_eq!(value(&format!("A=1\nKEY='{text}'\nB=2")), Some(text));
        }

        #[test]
        fn double_quotes_give_back_what_was_escaped(text in "[^\0]{0,40}") {
            let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
            prop_assert_eq!(value(&format!("A=1\nKEY=\"{escaped}\"\nB=2")), Some(text));
        }

        #[test]
        fn nothing_makes_it_panic(contents: Vec<u8>) {
            let _ = value_of(&contents, "KEY");
        }
    }
}
