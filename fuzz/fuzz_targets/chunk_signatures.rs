//! Any body where signed chunks are announced, cut anywhere: the same outcome as in one piece, and nothing
//! passes that the stand-in did not sign.

#![no_main]

use cofferdam_egress::scheme::sigv4::{ChunkError, ChunkResigner, Credentials, Presented};
use cofferdam_secrets::Secret;
use http::Request;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static KEY_ID: LazyLock<Secret> =
    LazyLock::new(|| Secret::take(b"AKIAIOSFODNN7EXAMPLE".to_vec().into()).expect("a fine secret"));
static SECRET_KEY: LazyLock<Secret> =
    LazyLock::new(|| Secret::take(b"the-real-secret-half".to_vec().into()).expect("a fine secret"));

fuzz_target!(|input: (Vec<u8>, Vec<u8>, bool)| {
    let (body, cuts, trailer) = input;
    let whole = run(resigner(trailer), &body, &[]);
    let pieces = run(resigner(trailer), &body, &cuts);
    assert_eq!(whole.0.is_ok(), pieces.0.is_ok());
    assert_eq!(whole.1, pieces.1);
    assert!(whole.0.is_err() && whole.1.is_empty(), "a signature came out of nothing");
});

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

fn resigner(trailer: bool) -> ChunkResigner {
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
    verified.resign(&mut parts, &real).expect("signed again").expect("chunks to sign")
}
