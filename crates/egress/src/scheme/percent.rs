//! Percent-encoding, byte by byte.

use std::borrow::Cow;

/// What a plus sign means: in queries and forms a space, elsewhere itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Plus {
    Itself,
    Space,
}

/// The decoded bytes, or nothing if a percent sign is not followed by two hexadecimal digits.
pub(super) fn decode(text: &[u8], plus: Plus) -> Option<Cow<'_, [u8]>> {
    let special = |byte: &u8| *byte == b'%' || (*byte == b'+' && plus == Plus::Space);
    if !text.iter().any(special) {
        return Some(Cow::Borrowed(text));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'%' => {
                let (digits, after) = rest.split_at_checked(2)?;
                decoded.push(nibble(digits[0])? << 4 | nibble(digits[1])?);
                rest = after;
            }
            b'+' if plus == Plus::Space => decoded.push(b' '),
            other => decoded.push(other),
        }
    }
    Some(Cow::Owned(decoded))
}

/// Like [`decode`], with broken escapes kept as they are: for looking, not for deciding.
pub(super) fn decode_leniently(text: &[u8], plus: Plus) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let pair = text.get(at + 1..at + 3).and_then(|pair| Some(nibble(pair[0])? << 4 | nibble(pair[1])?));
        match (text[at], pair) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                at += 2;
            }
            (b'+', _) if plus == Plus::Space => decoded.push(b' '),
            (other, _) => decoded.push(other),
        }
        at += 1;
    }
    decoded
}

pub(super) fn encoded_length(bytes: &[u8], kept: fn(u8) -> bool) -> usize {
    bytes.iter().map(|byte| if kept(*byte) { 1 } else { 3 }).sum()
}

pub(super) fn encode(bytes: &[u8], kept: fn(u8) -> bool, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in bytes {
        if kept(byte) {
            out.push(byte);
        } else {
            out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
}

/// What RFC 3986 calls unreserved: safe in every part of a URI.
pub(super) fn unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// What may stand in a segment of a path: bot tokens hold a colon, which some servers do not decode.
pub(super) fn in_segment(byte: u8) -> bool {
    unreserved(byte) || b"!$&'()*+,;=:@".contains(&byte)
}

fn nibble(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}
