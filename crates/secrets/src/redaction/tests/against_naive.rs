//! The real thing against the obvious one, over texts that are made of pieces of secrets, cut anywhere.

use super::naive;
use super::run;
use crate::redaction::forms::{self, Form};
use crate::redaction::{Patterns, Redactor, Replacement};
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;

/// Two letters, so that secrets overlap themselves and each other.
fn secrets() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let letters = prop_oneof![Just(b"ab".to_vec()), Just(b"a-".to_vec()), Just(b"aB0%+/&".to_vec())];
    letters.prop_flat_map(|letters| vec(vec(prop::sample::select(letters), 8..14), 1..4))
}

/// How to make a text: a part of some form, or filler.
#[derive(Debug, Clone)]
enum Piece {
    PartOfForm { form: usize, from: usize, to: usize, broken_at: Option<usize> },
    Filler(Vec<u8>),
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        4 => (any::<usize>(), 0..3_usize, any::<usize>(), prop::option::of(6..20_usize))
            .prop_map(|(form, from, to, broken_at)| Piece::PartOfForm { form, from, to, broken_at }),
        2 => (any::<usize>(), prop::option::of(6..20_usize))
            .prop_map(|(form, broken_at)| Piece::PartOfForm { form, from: 0, to: usize::MAX, broken_at }),
        2 => vec(prop::sample::select(b"ab-6n\n\r\\ %".to_vec()), 0..12).prop_map(Piece::Filler),
        1 => vec(any::<u8>(), 0..40).prop_map(Piece::Filler),
    ]
}

fn text_of(pieces: &[Piece], forms: &[Form]) -> Vec<u8> {
    let mut text = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Filler(bytes) => text.extend_from_slice(bytes),
            Piece::PartOfForm { form, from, to, broken_at } => {
                let form = &forms[form % forms.len()].bytes;
                let to = if *to == usize::MAX { form.len() } else { from + to % (form.len() - from) };
                let breaks = [&b"\n"[..], b"\r\n", b"\\n", b"\\r\\n", b"\r"];
                for (at, byte) in form[*from..to].iter().enumerate() {
                    if Some(at) == *broken_at {
                        text.extend_from_slice(breaks[(at + to) % breaks.len()]);
                    }
                    text.push(*byte);
                }
            }
        }
    }
    text
}

/// Labels are indices, as in the naive version.
fn compile(secrets: &[Vec<u8>]) -> (Arc<Patterns>, Vec<Form>) {
    let labels: Vec<String> = (0..secrets.len()).map(|label| label.to_string()).collect();
    let pairs = labels.iter().map(String::as_str).zip(secrets.iter().map(Vec::as_slice));
    let (patterns, refused) = Patterns::new(pairs);
    assert_eq!(refused, []);
    (Arc::new(patterns), forms::all((0..).zip(secrets.iter().map(Vec::as_slice))))
}

fn cut<'a>(text: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
    places.extend([0, text.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn req_i08_any_cut_gives_what_the_naive_version_gives(
        secrets in secrets(),
        pieces in vec(piece(), 0..7),
        cuts in vec(any::<usize>(), 0..8),
        same_length in any::<bool>(),
    ) {
        let (patterns, forms) = compile(&secrets);
        let text = text_of(&pieces, &forms);
        let replacement = if same_length { Replacement::SameLength(b'*') } else { Replacement::Marker };
        let out = run(Redactor::new(patterns, replacement), cut(&text, &cuts));
        let expected = naive::redact(&forms, &text, same_length);
        prop_assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&expected));
    }

    #[test]
    fn only_the_start_of_a_form_is_kept_back(secrets in secrets(), pieces in vec(piece(), 0..5), cuts in vec(any::<usize>(), 0..6)) {
        let (patterns, forms) = compile(&secrets);
        let text = text_of(&pieces, &forms);
        let mut redactor = Redactor::new(patterns, Replacement::Marker);
        let mut seen = 0;
        for chunk in cut(&text, &cuts) {
            redactor.push_all(chunk, &mut Vec::new());
            seen += chunk.len();
            let (live, _, _) = naive::live(&forms, &text[..seen]);
            prop_assert_eq!(redactor.held(), seen - live);
        }
    }

    /// Secrets with line breaks and backslashes, where breaks are ambiguous: whatever else is removed, no form stays.
    #[test]
    fn req_e01_no_form_is_left_standing(
        secrets in vec(vec(prop::sample::select(b"ab\\n\n\r\"".to_vec()), 8..14), 1..3),
        pieces in vec(piece(), 0..7),
        cuts in vec(any::<usize>(), 0..8),
    ) {
        let (patterns, forms) = compile(&secrets);
        let text = text_of(&pieces, &forms);
        let out = run(Redactor::new(patterns, Replacement::SameLength(0xff)), cut(&text, &cuts));
        for form in &forms {
            prop_assert!(!super::contains(&out, &form.bytes), "{:?} left in {:?}", form.bytes.escape_ascii().to_string(), out.escape_ascii().to_string());
        }
        prop_assert_eq!(out.len(), text.len());
        prop_assert!(out.iter().zip(&text).all(|(shown, given)| shown == given || *shown == 0xff));
    }

    #[test]
    fn text_without_secrets_passes_byte_for_byte(
        text in vec(any::<u8>(), 0..600),
        cuts in vec(any::<usize>(), 0..8),
    ) {
        let secrets = [b"kR7vQ2mX9sLw4Tz1".to_vec(), b"hunter2-hunter2-hunter2".to_vec()];
        let (patterns, _) = compile(&secrets);
        let shapes = Redactor::new(Arc::clone(&patterns), Replacement::Marker).with_shapes(Arc::default());
        prop_assert_eq!(&run(Redactor::new(patterns, Replacement::Marker), cut(&text, &cuts)), &text);
        prop_assert_eq!(&run(shapes, cut(&text, &cuts)), &text);
    }
}

#[test]
fn req_e01_split_at_every_byte_and_at_every_pair_of_bytes() {
    let (patterns, forms) = compile(&[b"abababab-abab".to_vec(), b"babababa".to_vec()]);
    let text = b"x ababababab-abab abababab-aba\nb YWJhYmFiYWItYWJhYg== 616261626162 6261626162616261 \\n ab";
    let expected = naive::redact(&forms, text, false);
    for first in 0..=text.len() {
        for second in first..=text.len() {
            let chunks = [&text[..first], &text[first..second], &text[second..]];
            let out = run(Redactor::new(Arc::clone(&patterns), Replacement::Marker), chunks);
            assert_eq!(out, expected, "cut at {first} and {second}");
        }
    }
    let single = run(Redactor::new(patterns, Replacement::Marker), text.chunks(1));
    assert_eq!(single, expected);
}
