//! Tokens in whatever writing, in a text that goes by.
//!
//! A text is not decoded to find them: that would cost several passes over every upload. What a token begins with is
//! looked for instead, in all the ways in which encoders write it, in one pass; only what follows such a place is read.
//! A token that begins with nothing of its own has no such place, so it is found in its plain form alone, by others.

use cofferdam_policy::provider::{Alphabet, TokenForm};

use super::anchors::{Anchors, SHORTEST};

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// What stands before the two hexadecimal digits of a byte: in a URL, in JSON, in C and in a dump.
const ESCAPES: [&[u8]; 4] = [b"%", b"\\u00", b"\\x", b""];

pub(super) struct Encoded {
    anchors: Anchors,
    /// Sorted by what is written.
    beginnings: Vec<Beginning>,
    longest: usize,
}

/// One writing of what a token begins with.
struct Beginning {
    written: Vec<u8>,
    prefix: Box<[u8]>,
    /// What follows the prefix: how many, and of which characters.
    length: usize,
    alphabet: Alphabet,
    writing: Writing,
}

#[derive(Clone, Copy)]
enum Writing {
    Plain,
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
        let mut beginnings: Vec<_> = forms.into_iter().flat_map(Beginning::all_of).collect();
        beginnings.sort_by(|one, other| one.written.cmp(&other.written));
        let anchors = Anchors::of(beginnings.iter().map(|beginning| beginning.written.as_slice()));
        let longest = beginnings.iter().map(Beginning::room).max().unwrap_or(0);
        Self { anchors, beginnings, longest }
    }

    /// Whether all writings of a token of this form are looked for, the plain one included.
    pub fn covers(prefix_length: usize) -> bool {
        prefix_length >= SHORTEST
    }

    /// The length of the longest writing of a token.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Whether `is_ours` says yes to something that stands in the text in some writing.
    pub fn any(&self, text: &[u8], mut is_ours: impl FnMut(&[u8]) -> bool) -> bool {
        let mut from = 0;
        while let Some(at) = self.anchors.find(text, from) {
            let here = &text[at..];
            // Several may begin alike.
            if self.beginning(here).any(|beginning| beginning.read(here).is_some_and(|token| is_ours(&token)))
            {
                return true;
            }
            from = at + 1;
        }
        false
    }

    /// Everything that a text begins with.
    fn beginning<'e>(&'e self, text: &'e [u8]) -> impl Iterator<Item = &'e Beginning> {
        let start = &text[..SHORTEST];
        let first = self.beginnings.partition_point(|beginning| beginning.written.as_slice() < start);
        let alike =
            self.beginnings[first..].iter().take_while(move |beginning| beginning.written.starts_with(start));
        alike.filter(move |beginning| text.starts_with(&beginning.written))
    }
}

impl Beginning {
    fn all_of(form: &TokenForm) -> impl Iterator<Item = Self> {
        let prefix = form.prefix.as_bytes();
        let long_enough = writings(prefix).into_iter().filter(|(written, _)| written.len() >= SHORTEST);
        long_enough.map(move |(written, writing)| Self {
            written,
            prefix: prefix.into(),
            length: form.length.into(),
            alphabet: form.alphabet,
            writing,
        })
    }

    /// The token that is written here, if there is one.
    fn read(&self, text: &[u8]) -> Option<Vec<u8>> {
        match self.writing {
            Writing::Plain => self.token(text.iter().copied()),
            Writing::Base64 { offset } => self.token(base64(text, offset)),
            Writing::Escaped { lead } => self.token(escaped(text, lead)),
            Writing::Wide => self.token(text.iter().step_by(2).copied()),
        }
    }

    /// The prefix itself is known: some bits of its first byte may be in the character before this place.
    fn token(&self, bytes: impl Iterator<Item = u8>) -> Option<Vec<u8>> {
        let characters = self.alphabet.characters().as_bytes();
        let mut token = Vec::with_capacity(self.whole());
        token.extend_from_slice(&self.prefix);
        let rest = bytes.skip(self.prefix.len()).take(self.length);
        token.extend(rest.take_while(|byte| characters.contains(byte)));
        (token.len() == self.whole()).then_some(token)
    }

    fn whole(&self) -> usize {
        self.prefix.len() + self.length
    }

    /// How many bytes the whole token takes.
    fn room(&self) -> usize {
        match self.writing {
            Writing::Plain => self.whole(),
            Writing::Base64 { .. } => (self.whole() + 2).div_ceil(3) * 4,
            Writing::Escaped { lead } => self.whole() * (lead.len() + 2),
            Writing::Wide => self.whole() * 2,
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
    // A letter or a digit that is left alone says nothing about how the rest is written.
    writings.retain(|(written, _)| written != prefix);
    writings.push((prefix.to_vec(), Writing::Plain));
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
fn base64(text: &[u8], offset: usize) -> impl Iterator<Item = u8> {
    let value = |byte: &u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    let mut sextets = text.iter().map_while(value);
    // Those bits of the first byte that are in the character before are not known.
    let (mut kept, mut bits) = (0_u16, (offset * 8).div_ceil(6) * 6 - offset * 8);
    std::iter::from_fn(move || {
        while bits < 8 {
            kept = kept << 6 | u16::from(sextets.next()?);
            bits += 6;
        }
        bits -= 8;
        Some((kept >> bits).to_le_bytes()[0])
    })
}

/// Bytes that are written as digits after their lead, or, where there is one, as they are.
fn escaped<'t>(mut text: &'t [u8], lead: &'static [u8]) -> impl Iterator<Item = u8> + 't {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    std::iter::from_fn(move || {
        let digits = text.strip_prefix(lead).and_then(|rest| rest.first_chunk::<2>());
        let byte = digits.and_then(|[high, low]| u8::try_from(digit(*high)? << 4 | digit(*low)?).ok());
        let (byte, taken) = match byte {
            Some(byte) => (byte, lead.len() + 2),
            None if !lead.is_empty() => (*text.first()?, 1),
            None => return None,
        };
        text = &text[taken..];
        Some(byte)
    })
}

#[cfg(test)]
mod tests;
