//! Tokens in another writing, in a text that goes by.
//!
//! A text is not decoded to find them: that would cost several passes over every upload. What a token begins with is
//! looked for instead, in all the ways in which encoders write it, in one pass; only what follows such a place is read.
//! A token that begins with nothing of its own has no such place, so it is found in its plain form alone.

use aho_corasick::AhoCorasick;
use cofferdam_policy::provider::TokenForm;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// What stands before the two hexadecimal digits of a byte: in a URL, in JSON, in C and in a dump.
const ESCAPES: [&[u8]; 4] = [b"%", b"\\u00", b"\\x", b""];
/// Shorter ones are everywhere.
const SHORTEST: usize = 3;

pub(super) struct Encoded {
    /// None where no token begins with something of its own.
    finder: Option<AhoCorasick>,
    beginnings: Vec<Beginning>,
    longest: usize,
}

/// One writing of what a token begins with.
struct Beginning {
    written: Vec<u8>,
    prefix: Box<[u8]>,
    /// Of the whole token.
    length: usize,
    writing: Writing,
}

#[derive(Clone, Copy)]
enum Writing {
    /// So many bytes after the start of a group of three.
    Base64 {
        offset: usize,
    },
    Escaped {
        lead: &'static [u8],
    },
    /// Every byte followed by a zero.
    Wide,
}

impl Encoded {
    pub fn of<'f>(forms: impl IntoIterator<Item = &'f TokenForm>) -> Self {
        let mut beginnings = Vec::new();
        for form in forms {
            let (prefix, length) = (form.prefix.as_bytes(), form.prefix.len() + usize::from(form.length));
            let writings = writings(prefix).into_iter().filter(|(written, _)| written.len() >= SHORTEST);
            beginnings.extend(writings.map(|(written, writing)| Beginning {
                written,
                prefix: prefix.into(),
                length,
                writing,
            }));
        }
        let patterns = beginnings.iter().map(|beginning| &beginning.written);
        let finder = AhoCorasick::new(patterns).ok().filter(|_| !beginnings.is_empty());
        let longest = beginnings.iter().map(Beginning::room).max().unwrap_or(0);
        Self { finder, beginnings, longest }
    }

    /// The length of the longest writing of a token.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Whether `is_ours` says yes to something that stands in the text in another writing.
    pub fn any(&self, text: &[u8], mut is_ours: impl FnMut(&[u8]) -> bool) -> bool {
        let Some(finder) = &self.finder else { return false };
        let mut from = 0;
        while let Some(found) = text.get(from..).and_then(|rest| finder.find(rest)) {
            let at = from + found.start();
            let here = &text[at..];
            // Several may begin alike, and the finder has named one of them.
            let mut alike = self.beginnings.iter().filter(|beginning| here.starts_with(&beginning.written));
            if alike.any(|beginning| beginning.read(here).is_some_and(|token| is_ours(&token))) {
                return true;
            }
            from = at + 1;
        }
        false
    }
}

impl Beginning {
    /// The token that is written here, as far as it can be told.
    fn read(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut token = match self.writing {
            Writing::Base64 { offset } => base64(text, offset, self.length)?,
            Writing::Escaped { lead } => escaped(text, lead, self.length)?,
            Writing::Wide => text.iter().step_by(2).take(self.length).copied().collect(),
        };
        if token.len() < self.length {
            return None;
        }
        // Some bits of the first byte are in the character before this place.
        token[..self.prefix.len()].copy_from_slice(&self.prefix);
        Some(token)
    }

    /// How many bytes the whole token takes.
    fn room(&self) -> usize {
        match self.writing {
            Writing::Base64 { .. } => (self.length + 2).div_ceil(3) * 4,
            Writing::Escaped { lead } => self.length * (lead.len() + 2),
            Writing::Wide => self.length * 2,
        }
    }
}

fn writings(prefix: &[u8]) -> Vec<(Vec<u8>, Writing)> {
    let mut writings = Vec::new();
    for offset in 0..3 {
        for alphabet in [STANDARD, URL_SAFE] {
            writings.push((in_base64(prefix, offset, alphabet), Writing::Base64 { offset }));
        }
    }
    for lead in ESCAPES {
        let of = |byte: &u8| [[lead, &digits(*byte, b'a')].concat(), [lead, &digits(*byte, b'A')].concat()];
        for case in 0..2 {
            let all = prefix.iter().flat_map(|byte| of(byte)[case].clone()).collect();
            writings.push((all, Writing::Escaped { lead }));
            // Letters and digits are left alone by most.
            let some = prefix.iter().flat_map(|byte| match byte.is_ascii_alphanumeric() {
                true => vec![*byte],
                false => of(byte)[case].clone(),
            });
            writings.push((some.collect(), Writing::Escaped { lead }));
        }
    }
    writings.push((prefix.iter().flat_map(|byte| [*byte, 0]).collect(), Writing::Wide));
    writings.retain(|(written, _)| written != prefix);
    writings.sort_by(|one, other| one.0.cmp(&other.0));
    writings.dedup_by(|one, other| one.0 == other.0);
    writings
}

fn digits(byte: u8, ten: u8) -> [u8; 2] {
    [byte >> 4, byte & 15].map(|digit| if digit < 10 { b'0' + digit } else { ten + digit - 10 })
}

/// The characters that these bytes alone determine when they stand so far into a group of three.
fn in_base64(bytes: &[u8], offset: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let bit = |at: usize| {
        let at = at.checked_sub(offset * 8)?;
        bytes.get(at / 8).map(|byte| byte >> (7 - at % 8) & 1)
    };
    let sextet = |at: usize| (0..6).try_fold(0, |value, place| Some(value << 1 | bit(at * 6 + place)?));
    let characters = (bytes.len() + offset) * 8 / 6;
    (0..characters).filter_map(sextet).map(|value: u8| alphabet[usize::from(value)]).collect()
}

/// The bytes from the offset on; the text begins with the first character that they alone determine.
fn base64(text: &[u8], offset: usize, length: usize) -> Option<Vec<u8>> {
    let before = (offset * 8).div_ceil(6);
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    let characters = ((offset + length) * 8).div_ceil(6);
    let mut sextets = vec![0; before];
    sextets.extend(text.get(..characters - before)?.iter().map_while(|byte| value(*byte)));
    if sextets.len() < characters {
        return None;
    }
    let bit = |at: usize| sextets[at / 6] >> (5 - at % 6) & 1;
    let byte = |at: usize| (0..8).fold(0, |value, place| value << 1 | bit(at * 8 + place));
    Some((offset..offset + length).map(byte).collect())
}

/// Bytes that are written as digits after their lead, or, where there is one, as they are.
fn escaped(mut text: &[u8], lead: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        let digits = text.strip_prefix(lead).and_then(|rest| rest.get(..2));
        let byte = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        let taken = match byte {
            Some(byte) => {
                bytes.push(byte);
                lead.len() + 2
            }
            None if !lead.is_empty() => {
                bytes.push(*text.first()?);
                1
            }
            None => return None,
        };
        text = text.get(taken..)?;
    }
    Some(bytes)
}
