//! The chain: a record carries the hash of the one before it and its own.
//!
//! A line is `{"v":1,"seq":…,"time":…,[ "session":…,] "kind":…,…,"prev":"…","hash":"…"}`. The hash is SHA-256
//! over the line's bytes up to, and without, `,"hash"`. As `prev` is among those bytes, every hash stands for
//! all that came before. `v` is the version of this format. Anybody can check one with `sha256sum` and no program of ours.

use std::fmt::{self, Display, Formatter};

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::event::Event;
use crate::outside::Label;
use crate::time::WIDTH;

const PREV: &[u8] = br#","prev":""#;
const HASH: &[u8] = br#"","hash":""#;
const END: &[u8] = b"\"}\n";
/// From the comma before `prev` to the end of the line, without the line end.
const SEAL: usize = PREV.len() + 64 + HASH.len() + 64 + 2;
/// No event comes near this; a longer line is not one of ours.
pub const LONGEST_LINE: usize = 64 * 1024;

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// What the first record follows.
    pub const NONE: Self = Self([0; 32]);

    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 64];
        for (pair, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
        }
        out.extend_from_slice(&text);
    }

    pub fn parse(text: &[u8]) -> Option<Self> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let mut bytes = [0; 32];
        let (pairs, rest) = text.as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return None;
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(Self(bytes))
    }
}

impl Display for Hash {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A place in the chain: the number of a record and its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Link {
    pub seq: u64,
    pub hash: Hash,
}

impl Link {
    /// Before the first record.
    pub const START: Self = Self { seq: 0, hash: Hash::NONE };
}

/// Appends the record that follows `after` to `line`, line end included, and gives its place.
pub(crate) fn write_line(
    line: &mut Vec<u8>,
    (after, time): (Link, &[u8; WIDTH]),
    session: Option<&Label>,
    event: &Event,
) -> serde_json::Result<Link> {
    let seq = after.seq + 1;
    let start = line.len();
    line.extend_from_slice(br#"{"v":1,"seq":"#);
    serde_json::to_writer(&mut *line, &seq)?;
    line.extend_from_slice(br#","time":""#);
    line.extend_from_slice(time);
    line.push(b'"');
    if let Some(session) = session {
        line.extend_from_slice(br#","session":"#);
        serde_json::to_writer(&mut *line, session)?;
    }
    line.extend_from_slice(br#","kind":""#);
    line.extend_from_slice(event.kind().name().as_bytes());
    line.push(b'"');
    write_fields(line, event)?;
    line.extend_from_slice(PREV);
    after.hash.write(line);
    line.push(b'"');
    let hash = Hash::of(&line[start..]);
    line.extend_from_slice(&HASH[1..]);
    hash.write(line);
    line.extend_from_slice(END);
    Ok(Link { seq, hash })
}

/// The event's fields are an object of their own; its braces become the comma that joins it to the line.
fn write_fields(line: &mut Vec<u8>, event: &Event) -> serde_json::Result<()> {
    let start = line.len();
    event.write_fields(line)?;
    line.pop();
    match line.len() - start {
        1 => line.truncate(start),
        _ => line[start] = b',',
    }
    Ok(())
}

/// A line taken apart at its seal; nothing has been checked yet.
#[derive(Debug, Clone, Copy)]
pub struct Sealed<'a> {
    /// What people wrote and ask for: everything before `prev`.
    pub body: &'a [u8],
    pub prev: Hash,
    pub hash: Hash,
    hashed: &'a [u8],
}

impl<'a> Sealed<'a> {
    /// `line` has no line end.
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        let (body, seal) = line.split_at_checked(line.len().checked_sub(SEAL)?)?;
        let (prev, rest) = seal.strip_prefix(PREV)?.split_at(64);
        let hash = rest.strip_prefix(HASH)?.strip_suffix(b"\"}")?;
        let hashed = &line[..line.len() - (HASH.len() - 1 + 64 + 2)];
        Some(Self { body, prev: Hash::parse(prev)?, hash: Hash::parse(hash)?, hashed })
    }

    /// Whether the line is as it was written.
    pub fn is_intact(&self) -> bool {
        Hash::of(self.hashed) == self.hash
    }
}

/// What a line says without its seal, for those who search it: a hash is no text to find things in.
pub fn body(line: &[u8]) -> &[u8] {
    match line.len().checked_sub(SEAL) {
        Some(at) if line[at..].starts_with(PREV) => &line[..at],
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{RecordClosed, RecordOpened};

    const NEVER: &[u8; WIDTH] = b"1970-01-01T00:00:00.000000Z";

    #[test]
    fn a_line_is_json_and_its_hash_is_over_what_stands_before_it() {
        let mut line = Vec::new();
        let event = Event::from(RecordClosed { next_file: 2 });
        let link = write_line(&mut line, (Link::START, NEVER), Some(&Label::new("s-1")), &event).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(value["seq"], 1);
        assert_eq!(value["session"], "s-1");
        assert_eq!(value["kind"], "record-closed");
        assert_eq!(value["next_file"], 2);
        assert_eq!(value["prev"], "0".repeat(64));
        let text = std::str::from_utf8(&line).unwrap();
        let (before, after) = text.split_once(",\"hash\":\"").unwrap();
        assert_eq!(Hash::of(before.as_bytes()).to_string(), after.trim_end_matches("\"}\n"));
        let sealed = Sealed::parse(line.strip_suffix(b"\n").unwrap()).unwrap();
        assert!(sealed.is_intact());
        assert_eq!((sealed.prev, sealed.hash), (Hash::NONE, link.hash));
        assert!(sealed.body.ends_with(b"\"next_file\":2"));
    }

    #[test]
    fn an_event_without_fields_leaves_no_stray_comma() {
        let mut line = Vec::new();
        let event = Event::from(RecordOpened { removed_through: None, removed_hash: None });
        write_line(&mut line, (Link::START, NEVER), None, &event).unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&line).is_ok());
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let mut line = Vec::new();
        let event = Event::from(RecordClosed { next_file: 2 });
        write_line(&mut line, (Link::START, NEVER), None, &event).unwrap();
        line.pop();
        for at in 0..line.len() {
            let mut changed = line.clone();
            changed[at] ^= 1;
            assert!(Sealed::parse(&changed).is_none_or(|sealed| !sealed.is_intact()), "byte {at}");
        }
    }
}
