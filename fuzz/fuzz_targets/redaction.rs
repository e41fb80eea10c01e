//! Secrets and a text from the fuzzer, cut where the fuzzer says: the same answer as in one piece, no form that
//! is easily written down left, and the announced length kept.

#![no_main]

use cofferdam_secrets::redaction::{Patterns, Redactor, Replacement};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|input: (Vec<Vec<u8>>, Vec<u8>, Vec<u8>)| {
    let (mut secrets, text, cuts) = input;
    secrets.truncate(8);
    secrets.retain(|secret| secret.len() <= 256 && !secret.contains(&b'*'));
    let (patterns, _) = Patterns::new(secrets.iter().map(|secret| ("fuzz", secret.as_slice())));
    let patterns = Arc::new(patterns);
    let stream = |replacement| Redactor::new(Arc::clone(&patterns), replacement);

    for replacement in [Replacement::Marker, Replacement::SameLength(b'*')] {
        let whole = run(stream(replacement), &text, &[]);
        assert_eq!(run(stream(replacement), &text, &cuts), whole);
        let shaped = |cuts: &[u8]| run(stream(replacement).with_shapes(Arc::default()), &text, cuts);
        assert_eq!(shaped(&cuts), shaped(&[]));
    }

    let shown = run(stream(Replacement::SameLength(b'*')), &text, &cuts);
    assert_eq!(shown.len(), text.len());
    for secret in secrets.iter().filter(|secret| secret.len() >= 8) {
        let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(!shown.windows(secret.len()).any(|window| window == secret.as_slice()));
        assert!(!shown.windows(hex.len()).any(|window| window == hex.as_bytes()));
    }
});

/// Each byte of `cuts` is the length of a chunk; what is left after them comes in one piece.
fn run(mut redactor: Redactor, mut text: &[u8], cuts: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for length in cuts {
        let (chunk, rest) = text.split_at(text.len().min(usize::from(*length)));
        redactor.push_all(chunk, &mut out);
        text = rest;
    }
    redactor.push_all(text, &mut out);
    redactor.finish(&mut out);
    out
}
