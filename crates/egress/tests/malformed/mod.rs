//! Requests that are none, as bytes: each has one outcome, and none of them is seen by an upstream as a whole request.

use crate::proxied::{Proxied, reason};
use cofferdam_testkit::upstream::Transport;

const CORPUS: &str = include_str!("../data/malformed.txt");

#[test]
fn req_e02_what_is_malformed_is_refused_with_its_reason_and_reaches_nobody() {
    let proxied = Proxied::new(Transport::Plain);
    let lines = CORPUS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let cases: Vec<_> = lines.map(|line| line.split_once(' ').expect("an outcome and bytes")).collect();
    assert!(cases.len() > 80, "{}", cases.len());
    for (outcome, text) in cases {
        let got = proxied.raw(bytes(text.trim_start()));
        let expected = Some(outcome).filter(|outcome| *outcome != "closed");
        let ended = reason(&got).or(got.contains("200 OK").then_some("answered"));
        // What broke off may still be told so.
        let same = ended == expected || (outcome == "closed" && !got.contains("200 OK"));
        assert!(same, "{text}: {ended:?} instead of {outcome}: {got}");
    }
    assert!(proxied.upstream.requests().iter().all(|request| request.body.is_empty()));
    let good = proxied.raw("GET /good HTTP/1.1\r\nHost: plain.example.test\r\nConnection: close\r\n\r\n");
    assert!(good.starts_with("HTTP/1.1 200 "), "the proxy is as it was: {good}");
    let seen: Vec<_> = proxied.upstream.requests().iter().map(|request| request.target.clone()).collect();
    assert_eq!(seen, ["/good"], "nothing of the corpus was seen as a whole request");
}

/// The bytes that a line of the corpus stands for.
fn bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("%H") {
            bytes.extend_from_slice(b"Host: plain.example.test\r\n");
            rest = after;
        } else if let Some((count, after)) = repeated(rest) {
            let (text, after) = after.split_once('}').expect("a closed brace");
            bytes.extend(self::bytes(text).repeat(count));
            rest = after;
        } else if let Some(after) = rest.strip_prefix('\\') {
            let (byte, length) = escaped(after);
            bytes.push(byte);
            rest = &after[length..];
        } else {
            bytes.extend_from_slice(first.to_string().as_bytes());
            rest = &rest[first.len_utf8()..];
        }
    }
    bytes
}

fn repeated(text: &str) -> Option<(usize, &str)> {
    let (count, after) = text.strip_prefix('{')?.split_once(':')?;
    Some((count.parse().ok()?, after))
}

fn escaped(text: &str) -> (u8, usize) {
    match text.as_bytes()[0] {
        b'r' => (b'\r', 1),
        b'n' => (b'\n', 1),
        b't' => (b'\t', 1),
        b'0' => (0, 1),
        b'x' => (u8::from_str_radix(&text[1..3], 16).expect("two digits"), 3),
        other => panic!("no escape {}", char::from(other)),
    }
}
