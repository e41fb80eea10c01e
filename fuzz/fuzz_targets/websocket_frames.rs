//! Frames of a WebSocket, cut anywhere: nothing is lost or moved, however they are divided, and a secret in a message
//! never comes out.

#![no_main]

use std::sync::{Arc, LazyLock};

use cofferdam_egress::frames::{Covered, Malformed, Unmasked};
use cofferdam_secrets::redaction::Patterns;
use libfuzzer_sys::fuzz_target;

const SECRET: &[u8] = b"sk-canary-7f3a9b2c";
static PATTERNS: LazyLock<Arc<Patterns>> = LazyLock::new(|| Arc::new(Patterns::new([("api", SECRET)]).0));

fuzz_target!(|input: (Vec<u8>, Vec<u8>, Vec<u8>)| {
    let (wild, parts, cuts) = input;
    let (_, outcome) = pushed(&wild, &cuts);
    assert_eq!(outcome, pushed(&wild, &[]).1, "an end depends on how it is cut");
    let _ = Unmasked::default().push(&wild, |_| {});

    let framed = framed(&parts);
    let (out, outcome) = pushed(&framed, &cuts);
    assert_eq!((outcome, out.len()), (Ok(()), framed.len()));
    let mut text = Vec::new();
    Unmasked::default().push(&out, |part| text.extend_from_slice(part)).expect("frames again");
    assert!(!text.windows(SECRET.len()).any(|window| window == SECRET));
});

/// A message with the secret in it, divided as `parts` say.
fn framed(parts: &[u8]) -> Vec<u8> {
    let message = [b"{\"key\": \"", SECRET, b"\"}"].concat();
    let (mut rest, mut bytes) = (&message[..], Vec::new());
    let mut code = 1;
    for part in parts {
        let (now, later) = rest.split_at(rest.len().min(usize::from(*part % 16)));
        bytes.extend([code, now.len() as u8]);
        bytes.extend(now);
        if part & 0x80 != 0 {
            bytes.extend([0x89, 1, *part]);
        }
        (rest, code) = (later, 0);
    }
    bytes.extend([0x80 | code, rest.len() as u8]);
    bytes.extend(rest);
    bytes
}

fn pushed(mut bytes: &[u8], cuts: &[u8]) -> (Vec<u8>, Result<(), Malformed>) {
    let (mut covered, mut out) = (Covered::new(PATTERNS.clone()), Vec::new());
    for cut in cuts {
        let (piece, rest) = bytes.split_at(bytes.len().min(usize::from(*cut)));
        if covered.push(piece, &mut out).is_err() {
            return (out, Err(Malformed));
        }
        bytes = rest;
    }
    let outcome = covered.push(bytes, &mut out);
    (out, outcome)
}
