//! The search by anchors finds what a slow one finds, which tries every writing at every place and decodes bit by bit.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::scheme::TokenShapes;

/// As short as a prefix may be and shorter, with characters that encoders escape, and one that begins like another.
fn forms() -> [TokenForm; 5] {
    let form = |prefix: &'static str, length, alphabet| TokenForm { prefix: prefix.into(), length, alphabet };
    [
        TokenForm::STANDARD,
        form("sk-", 24, Alphabet::Alphanumeric),
        form("sk-ant-", 26, Alphabet::Base64Url),
        form("AIza", 25, Alphabet::Base64Url),
        form("r8", 32, Alphabet::Hex),
    ]
}

/// One of each form.
fn tokens() -> Vec<Vec<u8>> {
    let token = |form: &TokenForm| {
        let characters = form.alphabet.characters().bytes().rev().cycle().step_by(5);
        form.prefix.bytes().chain(characters.take(form.length.into())).collect()
    };
    forms().iter().map(token).collect()
}

fn slowly(text: &[u8], tokens: &[Vec<u8>]) -> bool {
    tokens.iter().zip(forms()).any(|(token, form)| {
        let mut writings = writings(form.prefix.as_bytes());
        writings.retain(|(written, writing)| written.len() >= SHORTEST || matches!(writing, Writing::Plain));
        (0..text.len()).any(|at| {
            let here = &text[at..];
            let mut alike = writings.iter().filter(|(written, _)| here.starts_with(written));
            alike.any(|(_, writing)| {
                let read = read_slowly(here, *writing, token.len());
                let rest = form.prefix.len()..;
                read.is_some_and(|read| read.get(rest.clone()) == token.get(rest))
            })
        })
    })
}

fn read_slowly(text: &[u8], writing: Writing, length: usize) -> Option<Vec<u8>> {
    match writing {
        Writing::Plain => text.get(..length).map(<[u8]>::to_vec),
        Writing::Base64 { offset } => base64_slowly(text, offset, length),
        Writing::Escaped { lead } => escaped_slowly(text, lead, length),
        Writing::Wide => Some(text.iter().step_by(2).take(length).copied().collect()),
    }
}

fn base64_slowly(text: &[u8], offset: usize, length: usize) -> Option<Vec<u8>> {
    let before = (offset * 8).div_ceil(6);
    let value = |byte: u8| match byte {
        b'-' => Some(62),
        b'_' => Some(63),
        _ => super::STANDARD.iter().position(|known| *known == byte),
    };
    let characters = ((offset + length) * 8).div_ceil(6);
    let mut sextets = vec![0; before];
    for byte in text.get(..characters - before)? {
        sextets.push(value(*byte)?);
    }
    let bit = |at: usize| sextets[at / 6] >> (5 - at % 6) & 1;
    let byte = |at: usize| (0..8).fold(0, |value, place| value << 1 | bit(at * 8 + place) as u8);
    Some((offset..offset + length).map(byte).collect())
}

fn escaped_slowly(mut text: &[u8], lead: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while bytes.len() < length {
        let digits = text.strip_prefix(lead).and_then(|rest| rest.get(..2));
        let byte = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        let (byte, taken) = match byte {
            Some(byte) => (byte, lead.len() + 2),
            None if lead.is_empty() => return None,
            None => (*text.first()?, 1),
        };
        bytes.push(byte);
        text = &text[taken..];
    }
    Some(bytes)
}

type Encoder = fn(&[u8]) -> Vec<u8>;

const ENCODERS: [Encoder; 9] = [
    <[u8]>::to_vec,
    |text| each(text, |byte| format!("%{byte:02x}")),
    |text| {
        each(text, |byte| {
            if byte.is_ascii_alphanumeric() { char::from(byte).into() } else { format!("%{byte:02X}") }
        })
    },
    |text| each(text, |byte| format!("\\u{byte:04X}")),
    |text| each(text, |byte| format!("\\x{byte:02x}")),
    |text| each(text, |byte| format!("{byte:02X}")),
    |text| each(text, |byte| format!("{}\0", char::from(byte))),
    |text| STANDARD.encode(text).into(),
    |text| URL_SAFE_NO_PAD.encode(text).into(),
];

fn each(text: &[u8], of: impl Fn(u8) -> String) -> Vec<u8> {
    text.iter().map(|byte| of(*byte)).collect::<String>().into_bytes()
}

/// A token in some writing, and what was before it in the same.
fn written() -> impl Strategy<Value = Vec<u8>> {
    let choice = (0..tokens().len(), 0..ENCODERS.len(), "[a-z]{0,3}");
    choice.prop_map(|(token, encoder, before)| {
        ENCODERS[encoder](&[before.as_bytes(), &tokens()[token]].concat())
    })
}

/// What is like tokens, or is one.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let cut = (written(), any::<Index>()).prop_map(|(text, at)| text[..at.index(text.len())].to_vec());
    let changed = (written(), any::<Index>(), any::<u8>()).prop_map(|(mut text, at, byte)| {
        let at = at.index(text.len());
        text[at] = byte;
        text
    });
    let prefixes = (0..tokens().len(), 1..9_usize, 0..ENCODERS.len())
        .prop_map(|(form, times, encoder)| ENCODERS[encoder](forms()[form].prefix.repeat(times).as_bytes()));
    prop_oneof![
        1 => written(),
        4 => cut,
        4 => changed,
        4 => prefixes,
        2 => prop::collection::vec(any::<u8>(), 0..40),
        2 => "[A-Za-z0-9+/_-]{0,40}".prop_map(String::into_bytes),
        2 => "[0-9a-f%\\\\ux]{0,40}".prop_map(String::into_bytes),
    ]
}

fn found(text: &[u8], tokens: &[Vec<u8>]) -> bool {
    let forms = forms();
    TokenShapes::new(&forms).any_writing(text, |part| tokens.iter().any(|token| token == part))
}

proptest! {
    #[test]
    fn req_e29_a_text_is_searched_as_if_every_writing_were_tried_at_every_place(
        pieces in prop::collection::vec(piece(), 0..6),
    ) {
        let (text, tokens) = (pieces.concat(), tokens());
        prop_assert_eq!(found(&text, &tokens), slowly(&text, &tokens), "{}", String::from_utf8_lossy(&text));
    }

    #[test]
    fn req_e29_a_token_is_found_at_every_place_of_a_text(written in written(), before in 0..70_usize, after in 0..40_usize) {
        let text = [vec![b' '; before], written, vec![b'='; after]].concat();
        let tokens = tokens();
        prop_assert_eq!(found(&text, &tokens), slowly(&text, &tokens));
    }
}

#[test]
fn req_e29_a_text_that_is_made_to_be_slow_is_asked_about_no_more_often_than_it_is_long() {
    let forms = forms();
    let shapes = TokenShapes::new(&forms);
    for (form, encoder) in forms.iter().flat_map(|form| ENCODERS.map(|encoder| (form, encoder))) {
        let text = encoder(form.prefix.repeat(2000).as_bytes());
        let mut asked = 0;
        let found = shapes.any_writing(&text, |_| {
            asked += 1;
            false
        });
        assert!(!found && asked <= text.len(), "{asked} questions for {} bytes", text.len());
    }
}
