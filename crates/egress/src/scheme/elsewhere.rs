//! Whether one of our tokens stands anywhere but at its declared place.

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use cofferdam_policy::provider::{BasicPart, Scheme};
use http::HeaderName;
use http::request::Parts;

use super::header::after_word;
use super::percent::{self, Plus};
use super::{Holder, Located, basic, body, locate, target};

/// Whether `contains` finds a token in some reading of the head: as it is written, percent-decoded, and with
/// base64 decoded at every offset. The declared place itself is left out, so that a second token beside the
/// first is found. `contains` is [`TokenShapes::any`](super::TokenShapes::any) or a search of the caller's.
pub fn contains_token(
    parts: &Parts,
    declared: Option<&Scheme>,
    contains: &mut dyn FnMut(&[u8]) -> bool,
) -> bool {
    let spot = match declared.map(|scheme| (scheme, locate(parts, scheme))) {
        Some((_, Located::One(spot))) => Some(spot),
        _ => None,
    };
    let mut look = |holder: Option<(&HeaderName, usize)>, text: &[u8]| match &spot {
        Some(spot) if is_it(&spot.holder, holder) => {
            any_reading(&text[..spot.span.start], contains)
                || any_reading(&text[spot.span.end..], contains)
                || declared.is_some_and(|scheme| other_half(text, scheme, contains))
        }
        _ => any_reading(text, contains),
    };
    let written = target(parts).is_some_and(|target| look(None, target.as_bytes()));
    let (mut before, mut index) = (None, 0);
    let held = written
        || parts.headers.iter().any(|(name, value)| {
            // Values of one name come one after the other.
            index = if before.replace(name) == Some(name) { index + 1 } else { 0 };
            look(Some((name, index)), value.as_bytes())
        });
    // Names are in lower case by now, so that nothing encoded is left in them.
    held || parts.headers.keys().any(|name| contains(name.as_str().as_bytes()))
        || parts.uri.authority().is_some_and(|authority| any_reading(authority.as_str().as_bytes(), contains))
}

/// Whether what is looked at, a header or else the target, is where a token was found.
fn is_it(holder: &Holder, looked_at: Option<(&HeaderName, usize)>) -> bool {
    match (holder, looked_at) {
        (Holder::Header(name, index), Some(looked_at)) => (name, *index) == looked_at,
        (Holder::Target, None) => true,
        _ => false,
    }
}

/// The same for a body, or a part of one; of a body with a declared place give all.
pub fn body_contains_token(
    parts: &Parts,
    bytes: &[u8],
    declared: Option<&Scheme>,
    contains: &mut dyn FnMut(&[u8]) -> bool,
) -> bool {
    match declared.map(|scheme| body::locate(parts, bytes, scheme)) {
        Some(body::Slot::One(span, _)) => {
            any_reading(&bytes[..span.start], contains) || any_reading(&bytes[span.end..], contains)
        }
        _ => any_reading(bytes, contains),
    }
}

/// In a Basic header the span is both halves: the other one is elsewhere.
fn other_half(text: &[u8], scheme: &Scheme, contains: &mut dyn FnMut(&[u8]) -> bool) -> bool {
    let Scheme::Basic { part } = scheme else { return false };
    let Some((user, password)) = after_word(text, "Basic").and_then(|at| basic::halves(&text[at..])) else {
        return false;
    };
    let other = match part {
        BasicPart::User => password,
        BasicPart::Password => user,
    };
    any_reading(&other, contains)
}

fn any_reading(text: &[u8], contains: &mut dyn FnMut(&[u8]) -> bool) -> bool {
    if plain_or_base64(text, contains) {
        return true;
    }
    if text.contains(&b'%') && plain_or_base64(&percent::decode_leniently(text, Plus::Itself), contains) {
        return true;
    }
    memchr::memchr(b'\\', text).is_some() && plain_or_base64(&unescaped(text), contains)
}

fn plain_or_base64(text: &[u8], contains: &mut dyn FnMut(&[u8]) -> bool) -> bool {
    contains(text) || any_base64(text, contains)
}

/// Shorter runs cannot hold a token of 128 bits.
const SHORTEST_RUN: usize = 22;

/// Both alphabets at once, and whatever is in the bits after the last byte.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

fn any_base64(text: &[u8], contains: &mut dyn FnMut(&[u8]) -> bool) -> bool {
    let of_alphabet = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    let mut decoded = Vec::new();
    for run in text.split(|byte| !of_alphabet(byte)).filter(|run| run.len() >= SHORTEST_RUN) {
        let standard = in_standard_alphabet(run);
        // Where the encoded text begins in the run is not known.
        for start in 0..4 {
            let shifted = &standard[start..];
            let whole = shifted.len() - usize::from(shifted.len() % 4 == 1);
            decoded.clear();
            if LENIENT.decode_vec(&shifted[..whole], &mut decoded).is_ok() && contains(&decoded) {
                return true;
            }
        }
    }
    false
}

fn in_standard_alphabet(run: &[u8]) -> Cow<'_, [u8]> {
    if !run.iter().any(|byte| matches!(byte, b'-' | b'_')) {
        return Cow::Borrowed(run);
    }
    let standard = run.iter().map(|byte| match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => *other,
    });
    Cow::Owned(standard.collect())
}

/// Escapes of JSON that can hide a plain character: `\u0041` and `\/`.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let escape = (text[at] == b'\\').then(|| text.get(at + 1)).flatten();
        let (byte, length) = match escape {
            Some(b'u') => match text.get(at + 2..at + 6).and_then(code) {
                Some(byte) => (byte, 6),
                None => (b'\\', 1),
            },
            Some(other) => (*other, 2),
            None => (text[at], 1),
        };
        plain.push(byte);
        at += length;
    }
    plain
}

fn code(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits).ok()?;
    u32::from_str_radix(digits, 16).ok().and_then(|code| u8::try_from(code).ok())
}
