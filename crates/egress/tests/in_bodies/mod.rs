//! Providers whose credential stands in the body: it is swapped there, and what cannot be looked into goes nowhere.

use crate::proxied::{Proxied, SECRET, reason};
use cofferdam_egress::scheme::BODY_CAP;
use cofferdam_testkit::upstream::HttpVersion;

const JSON: &str = "https://json.example.test/login";
const FORM: &str = "https://form.example.test/api";
const BOTH: [(HttpVersion, &str); 2] = [(HttpVersion::Http1, "--http1.1"), (HttpVersion::Http2, "--http2")];

#[test]
fn req_e01_e07_a_token_in_a_body_is_swapped_and_the_length_fits() {
    for (version, flag) in BOTH {
        let proxied = Proxied::tls(&[version]);
        let [json, form] = [5, 6].map(|provider| proxied.token(provider));
        let document =
            |key: &str| format!("{{ \"n\": 1.0, \"auth\" : {{\"key\":\"{key}\"}},\"z\":\"\\u00e9\"}}\n");
        let fields = |token: &str| format!("a=%2f+&token={token}&b=");
        let chunked = "Transfer-Encoding: chunked";
        for (url, sent, expected) in
            [(JSON, document(json.expose()), document(SECRET)), (FORM, fields(form.expose()), fields(SECRET))]
        {
            for framing in ["X-Framing: length", chunked] {
                let args = [flag, "-i", "-H", framing, "--data-binary", &sent, url];
                let got = proxied.curl(&args).run().expect_status(0).stdout();
                let request = proxied.upstream.requests().pop().expect("a request");
                assert_eq!(String::from_utf8_lossy(&request.body), expected, "{flag} {framing}: {got}");
                assert_eq!(request.header("content-length"), Some(expected.len().to_string().as_bytes()));
                assert_eq!(request.header("transfer-encoding"), None);
                assert!(!String::from_utf8_lossy(&request.raw).contains(json.expose()));
                assert!(!got.contains(SECRET) && got.contains("HTTP/"), "{got}");
            }
        }
        let record = proxied.record();
        assert!(![SECRET, json.expose(), form.expose()].iter().any(|text| record.contains(text)), "{record}");
    }
}

#[test]
fn req_e01_a_body_that_cannot_be_looked_into_is_refused_and_the_upstream_not_contacted() {
    let proxied = Proxied::tls(&[HttpVersion::Http2, HttpVersion::Http1]);
    let [json, form, other] = [5, 6, 0].map(|provider| proxied.token(provider));
    let document = format!("{{\"auth\":{{\"key\":\"{}\"}}}}", json.expose());
    let with = |more: &str| document.replacen('{', &format!("{{{more},"), 1);
    let bearer = format!("Authorization: Bearer {}", form.expose());
    let field = format!("token={}", form.expose());
    let (copied, twice) = (format!("{field}&note={}", other.expose()), format!("{field}&{field}"));
    let note = with(&format!("\"note\":\"{}\"", other.expose()));
    let key_twice = with("\"auth\":{}");
    let foreign = "{\"auth\":{\"key\":\"sk-attacker-0123456789\"}}";
    let part = format!("other=1&elsewhere={}", form.expose());
    let header_copy = format!("X-Copy: {}", json.expose());
    for (headers, body, url, expected) in [
        (vec!["Content-Encoding: gzip"], document.as_str(), JSON, "body-encoded"),
        (vec!["Content-Encoding: gzip", &bearer], "a=1", FORM, "body-encoded"),
        (vec![], &document[..document.len() - 1], JSON, "body-malformed"),
        (vec![], "token=%zz", FORM, "body-malformed"),
        (vec![], &key_twice, JSON, "token-duplicate"),
        (vec![], &twice, FORM, "token-duplicate"),
        (vec![], &copied, FORM, "token-duplicate"),
        (vec![], &note, JSON, "token-duplicate"),
        (vec![&header_copy], &document, JSON, "token-duplicate"),
        (vec![&bearer], &field, FORM, "token-duplicate"),
        (vec![&bearer], &part, FORM, "token-duplicate"),
        (vec![], &part, FORM, "token-misplaced"),
        (vec![], foreign, JSON, "credential-foreign"),
        (vec![&bearer], "token=sk-attacker-0123456789", FORM, "credential-foreign"),
    ] {
        for (_, flag) in BOTH {
            let mut args = vec![flag, "-i", "--data-binary", body, url];
            headers.iter().for_each(|header| args.extend(["-H", header]));
            let got = proxied.curl(&args).run().expect_status(0).stdout();
            assert_eq!(reason(&got), Some(expected), "{args:?}: {got}");
        }
    }
    assert!(proxied.upstream.connections().is_empty());
    assert!(proxied.record().contains("\"reason\":\"body-encoded\""));
}

#[test]
fn req_e01_a_body_over_the_cap_is_refused_whether_its_length_is_told_or_not() {
    let proxied = Proxied::tls(&[HttpVersion::Http2, HttpVersion::Http1]);
    let token = proxied.token(6);
    let filler = "x".repeat(BODY_CAP);
    proxied.home.write("large", format!("token={}&a={filler}", token.expose()));
    for (_, flag) in BOTH {
        for framing in ["X-Framing: length", "Transfer-Encoding: chunked"] {
            let args = [flag, "-i", "-H", framing, "--data-binary", "@large", FORM];
            let got = proxied.curl(&args).run();
            // A client that is still sending may see the connection end before it reads the answer.
            let refused = reason(&got.stdout()) == Some("body-too-large");
            assert!(refused || got.status() != 0, "{}", got.stdout());
        }
    }
    assert!(proxied.upstream.connections().is_empty());
    assert_eq!(proxied.record().matches("\"reason\":\"body-too-large\"").count(), 4);
}

#[test]
fn req_e07_requests_without_a_token_in_the_body_go_on_as_they_are() {
    let proxied = Proxied::tls(&[HttpVersion::Http1]);
    let bearer = format!("Authorization: Bearer {}", proxied.token(6).expose());
    proxied.curl(&["-f", JSON]).run().expect_status(0);
    proxied.curl(&["-f", "--data-binary", "{\"auth\":null}", JSON]).run().expect_status(0);
    proxied.curl(&["-f", "-H", &bearer, "--data-binary", "\u{1}%zz{", FORM]).run().expect_status(0);
    let requests = proxied.upstream.requests();
    let bodies: Vec<_> = requests.iter().map(|request| request.body.as_slice()).collect();
    assert_eq!(bodies, [&b""[..], b"{\"auth\":null}", b"\x01%zz{"]);
    assert_eq!(requests[0].header("content-length"), None);
    assert_eq!(requests[2].header("authorization"), Some(format!("Bearer {SECRET}").as_bytes()));
}

#[test]
fn req_e29_a_token_in_a_body_that_is_passed_on_as_it_comes_breaks_it_off() {
    let proxied = Proxied::tls(&[HttpVersion::Http2, HttpVersion::Http1]);
    let token = proxied.token(0);
    let filler = "x".repeat(100_000);
    proxied.home.write("harmless", format!("{filler} {} {filler}", &token.expose()[..20]));
    proxied.home.write("body", format!("{filler} {} {filler}", token.expose()));
    let send = |file: &str, flag: &str, host: &str| {
        let url = format!("https://{host}.example.test/up");
        let chunked = "Transfer-Encoding: chunked";
        proxied.curl(&[flag, "-i", "-H", chunked, "--data-binary", file, &url]).run().stdout()
    };
    for flag in ["--http1.1", "--http2"] {
        for (host, expected) in [("plain", "token-wrong-host"), ("api", "token-misplaced")] {
            let before = proxied.upstream.requests().len();
            let got = send("@body", flag, host);
            assert!(reason(&got).is_none_or(|reason| reason == expected), "{flag}: {got}");
            assert_eq!(proxied.upstream.requests().len(), before, "{flag}: no whole request arrived");
            assert!(proxied.record().contains(&format!("\"failure\":\"{expected}\"")), "{flag}");
            assert_eq!(reason(&send("@harmless", flag, host)), None);
            assert_eq!(proxied.upstream.requests().len(), before + 1);
        }
    }
}
