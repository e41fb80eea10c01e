//! Requests that are signed: the sandbox signs with a stand-in, the upstream gets the real key's signature.

use cofferdam_egress::scheme::sigv4::{BodyDigest, ChunkResigner, Credentials, Payload, Presented};
use cofferdam_secrets::Secret;
use cofferdam_testkit::upstream::{HttpVersion, Recorded, Reply, Transport};
use http::Request;
use http::request::Parts;

use zeroize::Zeroizing;

use super::stand_in;
use crate::proxied::{More, Proxied, reason};

pub const ID: &str = "AKIAIOSFODNN7EXAMPLE";
pub const KEY: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
const SESSION: &str = "FwoGZXIvYXdzEXAMPLE//session+token==";
const PROVIDER: &str = r#"
[[provider]]
name = "aws"
hosts = ["aws.example.test", "bucket.s3.example.test"]
variables = ["KEY_ID", "KEY", "SESSION"]
scheme = { sigv4 = {} }
token = { prefix = "AKIA", length = 28, alphabet = "upper-alphanumeric" }
"#;

fn proxied(version: HttpVersion, session: bool) -> Proxied {
    let all = [("KEY_ID", ID), ("KEY", KEY), ("SESSION", SESSION)];
    let known = if session { &all[..] } else { &all[..2] };
    let more = More { config: PROVIDER, variables: known, ..More::default() };
    Proxied::and(Transport::Tls(vec![version]), &more)
}

/// `KEYID:SECRET` as curl takes it, and the two halves.
fn keys(proxied: &Proxied) -> (String, [String; 2]) {
    let pair = stand_in(proxied, "aws");
    let halves: Vec<_> = pair.variables.iter().map(|(_, token)| token.expose().to_owned()).collect();
    let halves: [String; 2] = halves.try_into().expect("an id and a secret, and no session");
    (halves.join(":"), halves)
}

fn head(recorded: &Recorded) -> Parts {
    let mut builder = Request::builder().method(recorded.method.as_str()).uri(&recorded.target);
    for (name, value) in &recorded.headers {
        builder = builder.header(name, value.as_slice());
    }
    builder.body(()).expect("a request").into_parts().0
}

/// What arrived was signed with the real key.
pub fn assert_signed(recorded: &Recorded) {
    let parts = head(recorded);
    let presented = Presented::read(&parts).expect("signed");
    assert_eq!(presented.key_id(), ID);
    let digest = (presented.payload() == Payload::Body).then(|| BodyDigest::of(&recorded.body));
    presented.verify(&parts, KEY.as_bytes(), digest).expect("the signature of the real key");
}

#[test]
fn req_e07_a_signed_request_arrives_signed_with_the_real_key() {
    for (version, flag) in [(HttpVersion::Http1, "--http1.1"), (HttpVersion::Http2, "--http2")] {
        for session in [false, true] {
            let proxied = proxied(version, session);
            let (user, [id, secret]) = keys(&proxied);
            let sign = |service: &str| format!("aws:amz:eu-west-1:{service}");
            let (bedrock, s3) = (sign("bedrock"), sign("s3"));
            let body = "{\"prompt\": \"hello\"}";
            let model = "https://aws.example.test/model/some.model/invoke";
            let object = "https://bucket.s3.example.test/a%20b/c.txt";
            let calls = [
                vec![flag, "-i", "-u", &user, "--aws-sigv4", &bedrock, "-d", body, model],
                vec![flag, "-i", "-u", &user, "--aws-sigv4", &s3, object],
            ];
            for call in calls {
                let got = proxied.curl(&call).run().expect_status(0).stdout();
                assert_eq!(reason(&got), None, "{got}");
                for hidden in [KEY, ID, SESSION, &secret, &id] {
                    assert!(!got.contains(hidden), "{hidden} in {got}");
                }
            }
            let requests = proxied.upstream.requests();
            assert_eq!(requests.len(), 2);
            requests.iter().for_each(assert_signed);
            assert_eq!(requests[0].body, body.as_bytes());
            assert!(requests[1].target.ends_with("/a%20b/c.txt"), "{}", requests[1].target);
            for request in &requests {
                let sent = request.header("x-amz-security-token");
                assert_eq!(sent, session.then_some(SESSION.as_bytes()));
            }
            let record = proxied.record();
            assert!(
                record.contains("\"kind\":\"credential-injected\"")
                    && record.contains("\"place\":\"signature\"")
            );
            assert!(record.contains("\"rule\":\"provider aws\""), "{record}");
            assert!(![KEY, SESSION, &secret, &id].iter().any(|hidden| record.contains(*hidden)));
        }
    }
}

#[test]
fn req_e07_e29_a_signature_by_anybody_else_contacts_nobody() {
    let proxied = proxied(HttpVersion::Http1, false);
    let (_, [id, secret]) = keys(&proxied);
    let other = stand_in(&proxied, "aws");
    let url = "https://aws.example.test/";
    for (user, expected) in [
        (format!("{id}:{}", other.variables[1].1.expose()), "signature-invalid"),
        (format!("{id}:{secret}x"), "signature-invalid"),
        ("AKIAATTACKERSOWNKEY1:0123456789".to_owned(), "credential-foreign"),
        (format!("{ID}:{KEY}"), "credential-foreign"),
    ] {
        let args = ["-i", "-u", &user, "--aws-sigv4", "aws:amz:eu-west-1:sts", url];
        let got = proxied.curl(&args).run().expect_status(0).stdout();
        assert_eq!(reason(&got), Some(expected), "{got}");
    }
    // The token alone, without a signature, is in the wrong place.
    let header = format!("Authorization: Bearer {id}");
    let got = proxied.curl(&["-i", "-H", &header, url]).run().expect_status(0).stdout();
    assert_eq!(reason(&got), Some("token-misplaced"), "{got}");
    assert!(proxied.upstream.connections().is_empty());
}

#[test]
fn req_e07_a_presigned_address_is_signed_again_and_keeps_its_other_parameters() {
    for session in [false, true] {
        let proxied = proxied(HttpVersion::Http1, session);
        let (_, [id, secret]) = keys(&proxied);
        let unsigned = format!(
            "https://bucket.s3.example.test/o?X-Amz-Algorithm=AWS4-HMAC-SHA256&\
             X-Amz-Credential={id}%2F20261116%2Feu-west-1%2Fs3%2Faws4_request&X-Amz-Date=20261116T010000Z&\
             X-Amz-Expires=60&X-Amz-SignedHeaders=host&response-content-type=a%2Fb&X-Amz-Signature="
        );
        let parts = |url: &str| {
            let request = Request::builder().uri(url).header("host", "bucket.s3.example.test");
            request.body(()).expect("a request").into_parts().0
        };
        let first = parts(&format!("{unsigned}{}", "0".repeat(64)));
        let presented = Presented::read(&first).expect("signed");
        let signature = presented.signature_with(&first, secret.as_bytes(), None).expect("a signature");
        let url = format!("{unsigned}{signature}");
        proxied.curl(&["-f", &url]).run().expect_status(0);
        let [recorded] = &proxied.upstream.requests()[..] else { panic!("one request") };
        assert_signed(recorded);
        assert!(recorded.target.contains("&response-content-type=a%2Fb&"), "{}", recorded.target);
        assert_eq!(recorded.target.contains("X-Amz-Security-Token="), session);
        let got = proxied.curl(&["-i", &url.replace("a%2Fb", "a%2Fc")]).run().expect_status(0).stdout();
        assert_eq!(reason(&got), Some("signature-invalid"), "{got}");
        assert_eq!(proxied.upstream.requests().len(), 1);
    }
}

/// The headers and the body of an upload in signed chunks.
fn chunked([id, secret]: &[String; 2], data: &[u8]) -> (Vec<String>, Vec<u8>) {
    let (date, scope) = ("20261116T010000Z", "20261116/eu-west-1/s3/aws4_request");
    let names = "content-encoding;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length";
    let authorization = |signature: &str| {
        format!("AWS4-HMAC-SHA256 Credential={id}/{scope}, SignedHeaders={names}, Signature={signature}")
    };
    let length = data.len().to_string();
    let headers = [
        ("x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"),
        ("x-amz-date", date),
        ("x-amz-decoded-content-length", &length),
        ("content-encoding", "aws-chunked"),
    ];
    let mut builder =
        Request::builder().method("PUT").uri("/object").header("host", "bucket.s3.example.test");
    for (name, value) in headers {
        builder = builder.header(name, value);
    }
    let unsigned = builder.header("authorization", authorization(&"0".repeat(64))).body(());
    let parts = unsigned.expect("a request").into_parts().0;
    let presented = Presented::read(&parts).expect("read");
    let seed = presented.signature_with(&parts, secret.as_bytes(), None).expect("a signature");
    let mut lines: Vec<_> = headers.map(|(name, value)| format!("{name}: {value}")).into();
    lines.push(format!("authorization: {}", authorization(&seed)));
    (lines, signed_chunks(secret, (date, scope), &seed, data))
}

fn signed_chunks(secret: &str, (date, scope): (&str, &str), seed: &str, data: &[u8]) -> Vec<u8> {
    use aws_lc_rs::{digest, hmac};
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let sha = |bytes: &[u8]| hex(digest::digest(&digest::SHA256, bytes).as_ref());
    let sign = |key: &[u8], text: &[u8]| hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text);
    let mut key = format!("AWS4{secret}").into_bytes();
    for field in scope.split('/') {
        key = sign(&key, field.as_bytes()).as_ref().to_vec();
    }
    let (mut before, mut body) = (seed.to_owned(), Vec::new());
    for chunk in data.chunks(64 * 1024).chain([&b""[..]]) {
        let text =
            format!("AWS4-HMAC-SHA256-PAYLOAD\n{date}\n{scope}\n{before}\n{}\n{}", sha(b""), sha(chunk));
        before = hex(sign(&key, text.as_bytes()).as_ref());
        body.extend(format!("{:x};chunk-signature={before}\r\n", chunk.len()).bytes());
        body.extend_from_slice(chunk);
        body.extend_from_slice(b"\r\n");
    }
    body
}

fn upload(proxied: &Proxied, headers: &[String], body: &[u8]) -> String {
    proxied.home.write("body", body);
    let mut args = vec!["-i", "-X", "PUT", "--data-binary", "@body", "-H", "content-type:"];
    for header in headers {
        args.extend(["-H", header]);
    }
    args.push("https://bucket.s3.example.test/object");
    proxied.curl(&args).run().expect_status(0).stdout()
}

#[test]
fn req_e07_e30_a_body_in_signed_chunks_is_signed_again_chunk_by_chunk_and_is_otherwise_the_same() {
    let data: Vec<u8> = (0..300_000u32).map(|at| u8::try_from(at % 251).expect("small")).collect();
    for version in [HttpVersion::Http1, HttpVersion::Http2] {
        let proxied = proxied(version, false);
        let (_, halves) = keys(&proxied);
        let (headers, body) = chunked(&halves, &data);
        proxied
            .upstream
            .route("/object", Reply::Fixed { status: 200, headers: Vec::new(), body: Vec::new() });
        let got = upload(&proxied, &headers, &body);
        assert_eq!(reason(&got), None, "{got}");
        let [recorded] = &proxied.upstream.requests()[..] else { panic!("one request") };
        assert_signed(recorded);
        assert_eq!(recorded.body.len(), body.len());
        assert_eq!(verified_chunks(recorded), data);
    }
}

/// The data of a body whose chunks were signed with the real key.
fn verified_chunks(recorded: &Recorded) -> Vec<u8> {
    let mut parts = head(recorded);
    let secret = |text: &str| Secret::take(Zeroizing::new(text.as_bytes().to_vec())).expect("a secret");
    let (id, key) = (secret(ID), secret("another-key-altogether"));
    let verified = Presented::read(&parts).expect("signed").verify(&parts, KEY.as_bytes(), None);
    let again = Credentials { key_id: &id, secret_key: &key, session_token: None };
    let chunks = verified.expect("the real key's").resign(&mut parts, &again).expect("signed again");
    let mut chunks: ChunkResigner = chunks.expect("a body in chunks");
    let mut signed = Vec::new();
    chunks.push(&recorded.body, &mut signed).expect("chunks of the real key");
    chunks.finish().expect("all of them");
    let (mut data, mut rest) = (Vec::new(), &recorded.body[..]);
    while !rest.is_empty() {
        let line = rest.iter().position(|byte| *byte == b'\n').expect("a line");
        let size = rest[..line].split(|byte| *byte == b';').next().expect("a size");
        let size = usize::from_str_radix(std::str::from_utf8(size).expect("text"), 16).expect("a number");
        data.extend_from_slice(&rest[line + 1..line + 1 + size]);
        rest = &rest[line + 1 + size + 2..];
    }
    data
}

#[test]
fn req_e07_a_chunk_that_was_changed_never_completes_a_request() {
    let proxied = proxied(HttpVersion::Http1, false);
    let (_, halves) = keys(&proxied);
    let (headers, mut body) = chunked(&halves, &[b'a'; 200_000]);
    let at = body.len() - 1000;
    body[at] = b'b';
    let got = upload(&proxied, &headers, &body);
    assert_eq!(reason(&got), Some("signature-invalid"), "{got}");
    assert!(proxied.upstream.requests().is_empty());
}

#[test]
fn req_e10_a_key_that_is_rotated_in_its_file_signs_the_requests_after_that() {
    let provider = format!("{PROVIDER}secret = {{ file = \"keys.json\" }}\n");
    let proxied = Proxied::beside(Transport::Tls(vec![HttpVersion::Http1]), &provider, None);
    let write = |id: &str, key: &str| {
        let document = format!("{{\"AccessKeyId\": \"{id}\", \"SecretAccessKey\": \"{key}\"}}");
        proxied.home.write("keys.json", &document);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(proxied.home.path().join("keys.json"), mode).expect("mode");
    };
    write("AKIAOLDKEY0000000001", "old-secret-0123456789");
    let (user, _) = keys(&proxied);
    let call = || {
        let args = ["-f", "-u", &user, "--aws-sigv4", "aws:amz:eu-west-1:sts", "https://aws.example.test/"];
        proxied.curl(&args).run().expect_status(0);
        let last = proxied.upstream.requests().pop().expect("a request");
        Presented::read(&head(&last)).expect("signed").key_id().to_owned()
    };
    assert_eq!(call(), "AKIAOLDKEY0000000001");
    write(ID, KEY);
    assert_eq!(call(), ID);
    assert_signed(&proxied.upstream.requests().pop().expect("a request"));
}
