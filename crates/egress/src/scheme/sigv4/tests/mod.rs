//! Against botocore as client, the official signer, and the examples of Amazon's documentation.

mod against_aws_sigv4;
mod against_botocore;
mod streaming;

use http::Request;
use http::request::Parts;
use zeroize::Zeroizing;

use super::*;

pub(super) const STAND_IN: (&str, &str) =
    ("AKIACOFFERDAMSTANDIN00000001", "stand-in-secret-half-0123456789abcdefghij");
pub(super) const REAL: (&str, &str) = ("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");

pub(super) fn secret(text: &str) -> Secret {
    Secret::take(Zeroizing::new(text.as_bytes().to_vec())).expect("a fine secret")
}

pub(super) fn request(method: &str, url: &str, headers: &[(String, String)]) -> Parts {
    let mut builder = Request::builder().method(method).uri(url);
    for (name, value) in headers {
        builder = builder.header(name, value);
    }
    builder.body(()).expect("a fine request").into_parts().0
}

/// As egress does it: read, verify, sign again.
pub(super) fn resigned(
    parts: &mut Parts,
    body: &[u8],
    session: Option<&str>,
) -> Result<Option<ChunkResigner>, SignatureError> {
    let presented = Presented::read(parts)?;
    let digest = (presented.payload() == Payload::Body).then(|| BodyDigest::of(body));
    let verified = presented.verify(parts, STAND_IN.1.as_bytes(), digest)?;
    let (key_id, secret_key, session) = (secret(REAL.0), secret(REAL.1), session.map(secret));
    let real = Credentials { key_id: &key_id, secret_key: &secret_key, session_token: session.as_ref() };
    verified.resign(parts, &real)
}

fn signed_get() -> Parts {
    let headers = [
        ("host", "sts.amazonaws.com"),
        ("x-amz-date", "20261115T235000Z"),
        (
            "authorization",
            "AWS4-HMAC-SHA256 Credential=AKIACOFFERDAMSTANDIN00000001/20261115/us-east-1/sts/aws4_request, \
             SignedHeaders=host;x-amz-date, \
             Signature=c19bdc37e888e38f16dced24b726032aa963572f86bd234c3494f364c8fef6c3",
        ),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    request("GET", "/?Action=GetCallerIdentity&Version=2011-06-15", &headers)
}

#[test]
fn req_e07_a_stand_in_signature_is_exchanged_and_marked_sensitive() {
    let mut parts = signed_get();
    assert!(resigned(&mut parts, b"", Some("the-real-session-token")).expect("signed").is_none());
    assert!(parts.headers["authorization"].is_sensitive());
    assert!(parts.headers["x-amz-security-token"].is_sensitive());
}

#[test]
fn req_e29_what_was_changed_after_signing_is_refused() {
    let invalid = |change: fn(&mut Parts)| {
        let mut parts = signed_get();
        change(&mut parts);
        assert_eq!(resigned(&mut parts, b"", None).err(), Some(SignatureError::Invalid));
    };
    invalid(|parts| parts.method = http::Method::POST);
    invalid(|parts| parts.uri = "/?Action=AssumeRole&Version=2011-06-15".parse().unwrap());
    invalid(|parts| parts.uri = "/x?Action=GetCallerIdentity&Version=2011-06-15".parse().unwrap());
    invalid(|parts| drop(parts.headers.insert("host", "iam.amazonaws.com".parse().unwrap())));
    invalid(|parts| drop(parts.headers.insert("x-amz-date", "20261115T235001Z".parse().unwrap())));
    invalid(|parts| assert!(parts.headers.append("host", "sts.amazonaws.com".parse().unwrap())));
    let mut parts = signed_get();
    assert_eq!(resigned(&mut parts, b"a body", None).err(), Some(SignatureError::Invalid));
}

#[test]
fn what_cannot_be_signed_again_is_refused_with_its_own_reason() {
    let authorization = signed_get().headers["authorization"].to_str().unwrap().to_owned();
    let reason = |authorization: &str| {
        let mut parts = signed_get();
        parts.headers.insert("authorization", authorization.parse().unwrap());
        resigned(&mut parts, b"", None).err().expect("refused")
    };
    let changed = |from: &str, to: &str| reason(&authorization.replace(from, to));
    assert_eq!(reason("Bearer x"), SignatureError::Absent);
    assert_eq!(changed("HMAC-SHA256", "ECDSA-P256-SHA256"), SignatureError::OtherAlgorithm);
    assert_eq!(changed("SignedHeaders=host;", "SignedHeaders="), SignatureError::Malformed);
    assert_eq!(changed("host;x-amz-date", "x-amz-date;host"), SignatureError::Malformed);
    assert_eq!(changed("host;x-amz-date", "host;host;x-amz-date"), SignatureError::Malformed);
    assert_eq!(changed("20261115/", "20261114/"), SignatureError::Malformed);
    assert_eq!(changed("aws4_request", "aws4_other"), SignatureError::Malformed);
    assert_eq!(changed("Signature=c1", "Signature=C1"), SignatureError::Malformed);
    assert_eq!(changed("Signature=c1", "Signature=c2"), SignatureError::Invalid);
    assert_eq!(changed(", Signature", ", Extra=1, Signature"), SignatureError::Malformed);
    let twice = format!("{authorization}, Signature=c1");
    assert_eq!(reason(&twice), SignatureError::Several);

    let mut parts = signed_get();
    parts.headers.append("authorization", authorization.parse().unwrap());
    assert_eq!(resigned(&mut parts, b"", None).err(), Some(SignatureError::Several));
    for also in ["X-Amz-Algorithm=AWS4-HMAC-SHA256", "X-Amz-Signature=0", "X-Amz-Security%2DToken=theirs"] {
        let mut parts = signed_get();
        parts.uri = format!("/?{also}").parse().unwrap();
        assert_eq!(resigned(&mut parts, b"", None).err(), Some(SignatureError::Several));
    }
    let mut parts = signed_get();
    parts.headers.insert("x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-EVENTS".parse().unwrap());
    assert_eq!(resigned(&mut parts, b"", None).err(), Some(SignatureError::OtherPayload));
}

#[test]
fn a_signature_over_an_unread_body_is_not_believed() {
    let parts = signed_get();
    let presented = Presented::read(&parts).expect("signed");
    assert_eq!(
        (presented.payload(), presented.region(), presented.service()),
        (Payload::Body, "us-east-1", "sts")
    );
    let refused = presented.verify(&parts, STAND_IN.1.as_bytes(), None).err();
    assert_eq!(refused, Some(SignatureError::BodyNeeded));
}

#[test]
fn the_authority_stands_for_a_missing_host() {
    let mut parts = signed_get();
    parts.headers.remove("host");
    parts.uri = "https://sts.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15".parse().unwrap();
    let verified = Presented::read(&parts)
        .and_then(|presented| presented.verify(&parts, STAND_IN.1.as_bytes(), Some(BodyDigest::of(b""))))
        .expect("the stand-in's signature");
    let (key_id, secret_key) = (secret(REAL.0), secret(REAL.1));
    let real = Credentials { key_id: &key_id, secret_key: &secret_key, session_token: None };
    verified.resign(&mut parts, &real).expect("signed");
    let wanted = "ef134752e0edead9ea74f29d2a096c13b9d983e714fcc688521b5bf0f82d4bf9";
    assert!(parts.headers["authorization"].to_str().unwrap().ends_with(wanted));
}

#[test]
fn a_header_that_the_proxy_took_out_is_left_out_of_the_new_signature() {
    let line = include_str!("../../../../tests/data/sigv4_botocore.jsonl").lines().nth(4).expect("a line");
    let line: serde_json::Value = serde_json::from_str(line).expect("a line of the table");
    let sent: Vec<(String, String)> =
        serde_json::from_value(line["stand_in"]["headers"].clone()).expect("headers");
    let mut parts = request("POST", line["stand_in"]["url"].as_str().expect("a url"), &sent);
    let digest = Some(BodyDigest::of(line["body"].as_str().expect("a body").as_bytes()));
    let verified = Presented::read(&parts)
        .and_then(|presented| presented.verify(&parts, STAND_IN.1.as_bytes(), digest))
        .expect("the stand-in's signature");
    parts.headers.remove("content-type");
    let (key_id, secret_key) = (secret(REAL.0), secret(REAL.1));
    let real = Credentials { key_id: &key_id, secret_key: &secret_key, session_token: None };
    verified.resign(&mut parts, &real).expect("signed");
    assert!(parts.headers["authorization"].to_str().unwrap().contains("SignedHeaders=host;x-amz-date,"));
    let again = Presented::read(&parts).and_then(|read| read.verify(&parts, REAL.1.as_bytes(), digest));
    assert!(again.is_ok());
}
