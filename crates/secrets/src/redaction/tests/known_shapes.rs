use super::{patterns, run};
use crate::redaction::by_shape::shapes;
use crate::redaction::{Redactor, Replacement};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The same whatever the cut, or the difference is shown.
fn shown(text: &str, except: &[&str]) -> String {
    let except: BTreeSet<Vec<u8>> = except.iter().map(|value| value.as_bytes().to_vec()).collect();
    let except = Arc::new(except);
    let redactor = || Redactor::new(patterns(&[]), Replacement::Marker).with_shapes(Arc::clone(&except));
    let whole = run(redactor(), [text.as_bytes()]);
    assert_eq!(run(redactor(), text.as_bytes().chunks(1)), whole, "byte by byte");
    assert_eq!(run(redactor().for_a_line(), [text.as_bytes()]), whole, "looked for in turn");
    for at in 0..text.len() {
        let chunks = [&text.as_bytes()[..at], &text.as_bytes()[at..]];
        assert_eq!(run(redactor(), chunks), whole, "cut at {at}");
        assert_eq!(run(redactor().for_a_line(), chunks), whole, "looked for in turn, cut at {at}");
    }
    String::from_utf8(whole).unwrap()
}

#[test]
fn req_i08_keys_are_known_by_their_shape() {
    let hex = "0123456789abcdef0123456789abcdef01234567";
    for (beginning, label) in [
        ("sk-ant-api03-", "anthropic-key"),
        ("sk-proj-", "openai-key"),
        ("sk-", "secret-key"),
        ("ghp_", "github-token"),
        ("github_pat_", "github-token"),
        ("glpat-", "gitlab-token"),
        ("xoxb-", "slack-token"),
        ("AIza", "google-key"),
        ("ya29.", "google-token"),
        ("hf_", "huggingface-token"),
        ("npm_", "npm-token"),
        ("sk_live_", "stripe-key"),
    ] {
        for (before, after) in [("", ""), ("key=", "&x"), ("\"", "\""), ("\\n", "\\n"), ("a%3D", " ")] {
            let text = format!("{before}{beginning}{hex}{after}");
            assert_eq!(shown(&text, &[]), format!("{before}[redacted:{label}]{after}"), "{text}");
        }
    }
    assert_eq!(shown("AKIAIOSFODNN7EXAMPLE,", &[]), "[redacted:aws-access-key],");
}

#[test]
fn words_that_begin_alike_stay() {
    for text in [
        "task-0123456789abcdef0123456789abcdef01234567",
        "sk-learn and sk-ant- and ghp_short",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "eyJhbGciOiJIUzI1NiJ9 is a header",
        "eyJhbGciOiJIUzI1NiJ9.notAnotherPart",
        "git github_ npm_install pypi-server AKIA ends with -----BEGIN RSA",
    ] {
        assert_eq!(shown(text, &[]), text);
    }
}

#[test]
fn web_tokens_are_swallowed_to_their_end() {
    let text =
        "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P; next";
    assert_eq!(shown(text, &[]), "Bearer [redacted:web-token]; next");
}

#[test]
fn private_keys_are_swallowed_to_their_closing_line() {
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQ+/=\n".repeat(3);
    for kind in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "] {
        let key = format!("-----BEGIN {kind}PRIVATE KEY-----\n{body}-----END {kind}PRIVATE KEY-----");
        assert_eq!(shown(&format!("a {key} words after"), &[]), "a [redacted:private-key] words after");
        let json = format!("{{\"k\":\"{}\\n\",\"n\":1}}", key.replace('\n', "\\n"));
        assert_eq!(shown(&json, &[]), "{\"k\":\"[redacted:private-key]\\n\",\"n\":1}");
    }
}

/// A stand-in is made to look like a key; the very value is left alone, a longer or shorter one is not.
#[test]
fn exactly_the_excepted_values_stay() {
    let stand_in = "sk-ant-api03-StandInStandInStandIn";
    assert_eq!(shown(&format!("k={stand_in} "), &[stand_in]), format!("k={stand_in} "));
    assert_eq!(shown(stand_in, &[stand_in]), stand_in);
    assert_eq!(shown(&format!("{stand_in}x "), &[stand_in]), "[redacted:anthropic-key] ");
    assert_eq!(shown(&format!("{} ", &stand_in[..30]), &[stand_in]), "[redacted:anthropic-key] ");
}

#[test]
fn a_key_of_any_length_keeps_little_back_and_its_length_if_asked() {
    let mut redactor =
        Redactor::new(patterns(&[]), Replacement::SameLength(b'*')).with_shapes(Arc::default());
    let mut out = Vec::new();
    redactor.push_all(b"sk-ant-", &mut out);
    for _ in 0..1000 {
        redactor.push_all(b"0123456789abcdef", &mut out);
        assert!(redactor.held() < 32);
    }
    redactor.push_all(b" end", &mut out);
    redactor.finish(&mut out);
    assert_eq!(out, [&vec![b'*'; 7 + 16_000][..], b" end"].concat());
    assert_eq!(redactor.matches(), 1);
}

/// A known value is removed by the first net before the second sees it, and is named as what it is.
#[test]
fn a_known_value_keeps_its_own_label() {
    let patterns = patterns(&[("anthropic", b"sk-ant-api03-0123456789abcdef0123")]);
    let redactor = Redactor::new(patterns, Replacement::Marker).with_shapes(Arc::default());
    assert_eq!(run(redactor, [&b"k: sk-ant-api03-0123456789abcdef0123;"[..]]), b"k: [redacted:anthropic];");
}

/// Every shape with a key of its least length, at even and odd places and at the very end.
#[test]
fn every_shape_is_found_wherever_it_stands() {
    for shape in shapes().filter(|shape| shape.parts.len() == 1) {
        let part = &shape.parts[0];
        let mut key = part.literal.to_vec();
        key.resize(key.len() + part.least, b'1');
        for before in 0..40 {
            let text = [&vec![b' '; before][..], &key].concat();
            let redactor = Redactor::new(patterns(&[]), Replacement::Marker).with_shapes(Arc::default());
            let out = String::from_utf8(run(redactor, [&text[..]])).unwrap();
            assert_eq!(out.trim_start(), format!("[redacted:{}]", shape.label()));
        }
    }
}
