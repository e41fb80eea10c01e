//! Text that comes from outside: bounded, and harmless to whoever reads it.
//!
//! A host name, a path or a command is chosen by the process that is being watched. It must neither fill the
//! disk nor move a reader's cursor, so it is cut at a limit and every character that is not plainly visible
//! is written out as `\u{…}` before it becomes part of a record.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// At most `LIMIT` bytes of visible text, and a mark if there was more. Shared, because one name stands in several records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outside<const LIMIT: usize>(Arc<str>);

pub type HostName = Outside<256>;
/// A provider, a rule, a session, a tool: what people gave a short name.
pub type Label = Outside<64>;
/// A method of HTTP: any token may stand there.
pub type Method = Outside<16>;
pub type FilePath = Outside<1024>;

impl<const LIMIT: usize> Outside<LIMIT> {
    pub fn new(text: impl AsRef<[u8]>) -> Self {
        let bytes = text.as_ref();
        match std::str::from_utf8(bytes) {
            Ok(text) if bytes.len() <= LIMIT && is_plain(bytes) => Self(text.into()),
            _ => Self(made_visible(bytes, LIMIT).into()),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const LIMIT: usize> Display for Outside<LIMIT> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<const LIMIT: usize> Serialize for Outside<LIMIT> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// The path of a request: never its query, and `{}` wherever a token stands in the path itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct RequestPath(Outside<1024>);

impl RequestPath {
    /// `slots` are the places, in bytes, where a credential is declared to stand (`/bot{}/…`). A slot that is
    /// not within the path or not in order hides everything after it, because what it was to hide is unknown.
    pub fn new(target: &str, slots: &[Range<usize>]) -> Self {
        let path = target.split(['?', '#']).next().unwrap_or_default();
        let mut shown = String::with_capacity(path.len());
        let mut from = 0;
        for slot in slots {
            let (Some(before), Some(_)) = (path.get(from..slot.start), path.get(slot.clone())) else {
                shown.push_str("{}");
                return Self(Outside::new(shown));
            };
            shown.push_str(before);
            shown.push_str("{}");
            from = slot.end;
        }
        shown.push_str(path.get(from..).unwrap_or_default());
        Self(Outside::new(shown))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// A command line for people to read. This crate cannot know a secret, so it cannot remove one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct CommandText(Outside<4096>);

impl CommandText {
    /// The caller has taken every known secret out of the text.
    pub fn already_redacted(text: impl AsRef<[u8]>) -> Self {
        Self(Outside::new(text))
    }
}

fn is_plain(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, b' '..=b'~'))
}

fn made_visible(bytes: &[u8], limit: usize) -> String {
    let mut shown = String::with_capacity(bytes.len().min(limit));
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().chars().map(Piece::Char);
        for piece in valid.chain(chunk.invalid().iter().copied().map(Piece::Byte)) {
            let before = shown.len();
            piece.write(&mut shown);
            if shown.len() > limit {
                shown.truncate(before);
                shown.push_str(&format!("\u{2026}({} bytes)", bytes.len()));
                return shown;
            }
        }
    }
    shown
}

enum Piece {
    Char(char),
    Byte(u8),
}

impl Piece {
    fn write(&self, out: &mut String) {
        match *self {
            Piece::Char(character) if is_visible(character) => out.push(character),
            Piece::Char(character) => out.push_str(&format!("\\u{{{:x}}}", u32::from(character))),
            Piece::Byte(byte) => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
}

/// Whether a character shows as itself: no control, no change of direction, nothing of zero width.
pub fn is_visible(character: char) -> bool {
    !character.is_control()
        && !matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_directions_and_broken_bytes_are_written_out() {
        assert_eq!(HostName::new("a\u{1b}[2Jb").as_str(), "a\\u{1b}[2Jb");
        assert_eq!(HostName::new("evil\u{202e}moc").as_str(), "evil\\u{202e}moc");
        assert_eq!(HostName::new("line\nbreak\u{2028}").as_str(), "line\\u{a}break\\u{2028}");
        assert_eq!(HostName::new(b"\xff\xc3(").as_str(), "\\xff\\xc3(");
        assert_eq!(HostName::new("bücher.example").as_str(), "bücher.example");
    }

    #[test]
    fn long_text_is_cut_at_a_whole_character_and_says_so() {
        let label = Label::new("ä".repeat(40));
        assert_eq!(label.as_str(), format!("{}\u{2026}(80 bytes)", "ä".repeat(32)));
        assert_eq!(Label::new("x".repeat(64)).as_str(), "x".repeat(64));
        assert!(Label::new("\u{1b}".repeat(1000)).as_str().len() < 64 + 20);
    }

    #[test]
    fn a_path_loses_its_query_and_the_places_of_tokens() {
        assert_eq!(RequestPath::new("/v1/models?key=token", &[]).as_str(), "/v1/models");
        assert_eq!(RequestPath::new("/v1#token", &[]).as_str(), "/v1");
        let slot = 4..9;
        assert_eq!(RequestPath::new("/bottoken/send", std::slice::from_ref(&slot)).as_str(), "/bot{}/send");
        assert_eq!(RequestPath::new("/bottoken", std::slice::from_ref(&slot)).as_str(), "/bot{}");
        let wrong = 4..99;
        assert_eq!(RequestPath::new("/bottoken/send", std::slice::from_ref(&wrong)).as_str(), "{}");
    }
}
