//! Any signed head: reading it never fails in another way than by saying so, nothing is believed that was not
//! signed, and what is signed again is verified with the key that signed it.

#![no_main]

use cofferdam_egress::scheme::sigv4::{BodyDigest, Credentials, Presented};
use cofferdam_secrets::Secret;
use http::Request;
use http::request::Parts;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

fn secret(text: &str) -> Secret {
    Secret::take(text.as_bytes().to_vec().into()).expect("a fine secret")
}

static KEY_ID: LazyLock<Secret> = LazyLock::new(|| secret("AKIAIOSFODNN7EXAMPLE"));
static SECRET_KEY: LazyLock<Secret> = LazyLock::new(|| secret("the-real-secret-half"));
static SESSION: LazyLock<Secret> = LazyLock::new(|| secret("the-real-session-token//=="));

fuzz_target!(|input: (String, Vec<(String, String)>, String, bool)| {
    let (target, headers, body, presigned) = input;
    let mut builder = Request::builder().method("PUT").uri(target);
    for (name, value) in headers.iter().take(16) {
        builder = builder.header(name, value);
    }
    let Ok(request) = builder.body(()) else { return };
    let (mut parts, ()) = request.into_parts();
    if Presented::read(&parts).is_ok_and(|read| verifies(read, &parts, &body, b"what the fuzzer cannot know"))
    {
        panic!("a signature came out of nothing");
    }

    // The same head, signed with the key that is known: first found out by signing, then verified.
    let names = "host;x-amz-date";
    let scope = "AKIASTANDIN/20261115/us-east-1/execute-api/aws4_request";
    parts.headers.insert("x-amz-date", "20261115T235000Z".parse().expect("a date"));
    parts.headers.insert("host", "example.com".parse().expect("a host"));
    parts.headers.remove("x-amz-content-sha256");
    if presigned {
        parts.headers.remove("authorization");
        let path = parts.uri.path().to_owned();
        let query = format!(
            "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={scope}&X-Amz-Date=20261115T235000Z\
             &X-Amz-SignedHeaders={names}&X-Amz-Signature={}",
            "0".repeat(64)
        );
        let Ok(uri) = format!("{path}?{query}").parse() else { return };
        parts.uri = uri;
    } else {
        let zero = "0".repeat(64);
        let value = format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders={names}, Signature={zero}");
        parts.headers.insert("authorization", value.parse().expect("a header"));
    }
    let Ok(presented) = Presented::read(&parts) else { return };
    let digest = BodyDigest::of(body.as_bytes());
    assert!(presented.clone().verify(&parts, b"stand-in", Some(digest)).is_err());
    let Ok(signature) = presented.signature_with(&parts, b"stand-in", Some(digest)) else { return };
    put(&mut parts, &signature);
    let presented = Presented::read(&parts).expect("only the signature is another");
    let verified = presented.verify(&parts, b"stand-in", Some(digest)).expect("its own signature");
    let session_token = body.is_empty().then_some(&*SESSION);
    let real = Credentials { key_id: &KEY_ID, secret_key: &SECRET_KEY, session_token };
    if verified.resign(&mut parts, &real).is_ok() {
        let again = Presented::read(&parts).expect("signed again");
        assert_eq!(again.key_id(), "AKIAIOSFODNN7EXAMPLE");
        assert!(verifies(again, &parts, &body, SECRET_KEY.expose()));
    }
});

fn verifies(read: Presented, parts: &Parts, body: &str, key: &[u8]) -> bool {
    read.verify(parts, key, Some(BodyDigest::of(body.as_bytes()))).is_ok()
}

/// In place of the 64 zeros.
fn put(parts: &mut Parts, signature: &str) {
    let zero = "0".repeat(64);
    if let Some(value) = parts.headers.get("authorization") {
        let value = value.to_str().expect("text").replace(&zero, signature);
        parts.headers.insert("authorization", value.parse().expect("a header"));
    } else {
        parts.uri = parts.uri.to_string().replace(&zero, signature).parse().expect("a target");
    }
}
