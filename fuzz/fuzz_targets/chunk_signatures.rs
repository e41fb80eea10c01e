//! Bodies in signed chunks, cut anywhere. What the stand-in signed passes with its data unchanged; with one byte
//! changed, or out of nothing, no chunk passes that it did not sign.

#![no_main]

use aws_lc_rs::{digest, hmac};
use cofferdam_egress::scheme::sigv4::{ChunkError, ChunkResigner, Credentials, Presented};
use cofferdam_secrets::Secret;
use http::Request;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static KEY_ID: LazyLock<Secret> =
    LazyLock::new(|| Secret::take(b"AKIAIOSFODNN7EXAMPLE".to_vec().into()).expect("a fine secret"));
static SECRET_KEY: LazyLock<Secret> =
    LazyLock::new(|| Secret::take(b"the-real-secret-half".to_vec().into()).expect("a fine secret"));

fuzz_target!(|input: (Vec<Vec<u8>>, Vec<u8>, (u16, u8), Vec<u8>, bool)| {
    let (mut chunks, cuts, (at, flip), wild, trailer) = input;
    let (outcome, out) = run(resigner(trailer).0, &wild, &cuts);
    assert!(outcome.is_err() && out.is_empty(), "a signature came out of nothing");

    chunks.retain(|chunk| !chunk.is_empty());
    let (resigner, seed) = resigner(false);
    let mut body = signed(&chunks, seed);
    let at = usize::from(at) % body.len();
    body[at] ^= flip;
    let (outcome, out) = run(resigner, &body, &cuts);
    // A size may be written in either case; nothing else can change.
    let digits = body[at..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let in_size = body[at + digits..].starts_with(b";chunk-signature=") && flip == 0x20;
    match outcome {
        Ok(()) => assert!(flip == 0 || in_size),
        Err(_) => assert_ne!(flip, 0),
    }
    if flip == 0 {
        assert_eq!(without_signatures(&out), without_signatures(&body));
        assert_ne!(out, body);
    }
});

/// The body that a client with the stand-in's secret sends.
fn signed(chunks: &[Vec<u8>], mut before: String) -> Vec<u8> {
    let sign = |key: &[u8], text: &str| {
        hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
    };
    let key = ["20261115", "us-east-1", "s3", "aws4_request"]
        .iter()
        .fold(b"AWS4stand-in".to_vec(), |key, field| sign(&key, field));
    let sha = |data: &[u8]| hex(digest::digest(&digest::SHA256, data).as_ref());
    let mut body = Vec::new();
    for data in chunks.iter().map(Vec::as_slice).chain([&b""[..]]) {
        let text = format!(
            "AWS4-HMAC-SHA256-PAYLOAD\n20261115T235000Z\n20261115/us-east-1/s3/aws4_request\n{before}\n{}\n{}",
            sha(b""),
            sha(data)
        );
        before = hex(&sign(&key, &text));
        body.extend(format!("{:x};chunk-signature={before}\r\n", data.len()).bytes());
        body.extend(data);
        body.extend(b"\r\n");
    }
    body
}

/// Sizes and data. Only for bodies that are well formed.
fn without_signatures(mut body: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    while let Some(end) = body.iter().position(|byte| *byte == b';') {
        let size = std::str::from_utf8(&body[..end]).expect("digits");
        let size = usize::from_str_radix(size, 16).expect("digits");
        let start = end + ";chunk-signature=".len() + 64;
        let whole = start + 2 + size + 2;
        kept.extend(&body[..end]);
        kept.extend(&body[start..whole]);
        body = &body[whole..];
    }
    assert!(body.is_empty());
    kept
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What comes out, and how it ends.
fn run(mut resigner: ChunkResigner, mut body: &[u8], cuts: &[u8]) -> (Result<(), ChunkError>, Vec<u8>) {
    let mut out = Vec::new();
    for cut in cuts {
        let (piece, rest) = body.split_at(body.len().min(usize::from(*cut)));
        if let Err(error) = resigner.push(piece, &mut out) {
            return (Err(error), out);
        }
        body = rest;
    }
    let pushed = resigner.push(body, &mut out).and_then(|()| resigner.finish());
    (pushed, out)
}

/// What a body goes through, and the signature of its head, with which the chain begins.
fn resigner(trailer: bool) -> (ChunkResigner, String) {
    let kind = if trailer { "-TRAILER" } else { "" };
    let unsigned = "AWS4-HMAC-SHA256 Credential=AKIASTANDIN/20261115/us-east-1/s3/aws4_request, \
                    SignedHeaders=host;x-amz-date, Signature=";
    let (mut parts, ()) = Request::builder()
        .uri("/bucket/key")
        .header("host", "s3.amazonaws.com")
        .header("x-amz-date", "20261115T235000Z")
        .header("x-amz-content-sha256", format!("STREAMING-AWS4-HMAC-SHA256-PAYLOAD{kind}"))
        .header("authorization", format!("{unsigned}{}", "0".repeat(64)))
        .body(())
        .expect("a fine request")
        .into_parts();
    let presented = Presented::read(&parts).expect("signed");
    let signature = presented.signature_with(&parts, b"stand-in", None).expect("a signature");
    parts.headers.insert("authorization", format!("{unsigned}{signature}").parse().expect("a header"));
    let presented = Presented::read(&parts).expect("signed");
    let verified = presented.verify(&parts, b"stand-in", None).expect("its own signature");
    let real = Credentials { key_id: &KEY_ID, secret_key: &SECRET_KEY, session_token: None };
    let resigner = verified.resign(&mut parts, &real).expect("signed again").expect("chunks to sign");
    (resigner, signature)
}
