//! Each form as a real encoder wrote it. The encoded values come from the programs named, not from our encoders.

use super::{contains, marked, patterns, run};
use crate::redaction::{Passed, Patterns, Redactor, Refusal, Refused, Replacement};
use std::sync::Arc;

const KEY: &[u8] = b"sk-test_Zq8/v+K2 \"x\\y\"<&'>";
const LONG: &[u8] = b"kR7vQ2mX9sLw4Tz1Bn6Hc3Jf8Gd5Ye0Pa-uO_iKrMxNqVtCbSjDhFgWlEzAy2p4q6w8e0r1t3y5u7i9o";

fn is_removed(text: &str) {
    let out = marked(&patterns(&[("demo", KEY)]), text.as_bytes());
    assert!(out.contains("[redacted:demo]"), "{text} came out as {out}");
}

#[test]
fn req_i08_raw_json_and_markup() {
    is_removed("sk-test_Zq8/v+K2 \"x\\y\"<&'>");
    is_removed(r#"{"k":"sk-test_Zq8/v+K2 \"x\\y\"<&'>"}"#); // JSON.stringify
    is_removed(r#""sk-test_Zq8\/v+K2 \"x\\y\"<&'>""#); // PHP json_encode
    is_removed(r#""sk-test_Zq8/v+K2 \"x\\y\"\u003c\u0026'\u003e""#); // Go encoding/json
    is_removed(r#""sk-test_Zq8/v\u002BK2 \u0022x\\y\u0022\u003C\u0026\u0027\u003E""#); // System.Text.Json
    is_removed("sk-test_Zq8/v+K2 &quot;x\\y&quot;&lt;&amp;&#x27;&gt;"); // Python html.escape
    is_removed("sk-test_Zq8/v+K2 &#34;x\\y&#34;&lt;&amp;&#39;&gt;"); // Go html.EscapeString
}

#[test]
fn req_i08_percent_encodings() {
    is_removed("sk-test_Zq8%2Fv%2BK2%20%22x%5Cy%22%3C%26'%3E"); // encodeURIComponent
    is_removed("sk-test_Zq8/v+K2%20%22x%5Cy%22%3C&'%3E"); // encodeURI
    is_removed("sk-test_Zq8%2Fv%2BK2+%22x%5Cy%22%3C%26%27%3E"); // URLSearchParams
    is_removed("sk-test_Zq8/v%2BK2%20%22x%5Cy%22%3C%26%27%3E"); // urllib.parse.quote
    is_removed("sk-test_zzz sk-test_Zq8%2fv%2bK2%20%22x%5cy%22%3c%26%27%3e"); // .NET HttpUtility, lower case
    let every: String = KEY.iter().map(|byte| format!("%{byte:02x}")).collect();
    is_removed(&every);
    is_removed(&every.to_uppercase());
}

#[test]
fn req_i08_what_shells_and_python_print() {
    is_removed(r#"+ K='sk-test_Zq8/v+K2 "x\y"<&'\''>'"#); // set -x
    is_removed(r#"declare -x K="sk-test_Zq8/v+K2 \"x\\y\"<&'>""#); // export -p
    is_removed(r#"sk-test_Zq8/v+K2\ \"x\\y\"\<\&\'\>"#); // printf %q
    is_removed(r#"{'K': 'sk-test_Zq8/v+K2 "x\\y"<&\'>'}"#); // print(os.environ)
}

#[test]
fn req_i08_hex_and_base64_in_all_alignments() {
    is_removed("736b2d746573745f5a71382f762b4b322022785c79223c26273e"); // xxd -p
    is_removed("736B2D746573745F5A71382F762B4B322022785C79223C26273E");
    is_removed("c2stdGVzdF9acTgvditLMiAieFx5IjwmJz4="); // the key
    is_removed("OnNrLXRlc3RfWnE4L3YrSzIgInhceSI8Jic+"); // ":" and the key
    is_removed("dTpzay10ZXN0X1pxOC92K0syICJ4XHkiPCYnPg=="); // "u:" and the key, as in Basic
    is_removed("dTpzay10ZXN0X1pxOC92K0syICJ4XHkiPCYnPg"); // without padding
    is_removed("OnNrLXRlc3RfWnE4L3YrSzIgInhceSI8Jic-IQ"); // URL-safe, more behind it
}

#[test]
fn req_i08_utf16_in_both_byte_orders() {
    let text = std::str::from_utf8(KEY).unwrap();
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for encoded in [little, big] {
        assert!(marked(&patterns(&[("demo", KEY)]), &encoded).contains("[redacted:demo]"));
    }
}

#[test]
fn req_i08_text_outside_ascii_in_json() {
    let patterns = patterns(&[("demo", "pässwörd-😀-lang".as_bytes())]);
    assert_eq!(marked(&patterns, "\"pässwörd-😀-lang\"".as_bytes()), "\"[redacted:demo]\"");
    assert_eq!(marked(&patterns, br#""p\u00e4ssw\u00f6rd-\ud83d\ude00-lang""#), "\"[redacted:demo]\"");
    assert_eq!(marked(&patterns, br#""p\u00E4ssw\u00F6rd-\uD83D\uDE00-lang""#), "\"[redacted:demo]\"");
    assert_eq!(marked(&patterns, b"p%C3%A4ssw%C3%B6rd-%F0%9F%98%80-lang"), "[redacted:demo]");
}

/// `base64` breaks lines at 76 characters; the key starts anywhere on a line. A few characters may stay before a
/// break that comes at once, never a run from which the key could be had.
#[test]
fn req_i08_base64_and_hex_broken_over_lines() {
    let patterns = patterns(&[("demo", LONG)]);
    for line_end in ["\n", "\r\n", "\\n"] {
        for before in 0..60 {
            let mut whole = vec![b'.'; before];
            whole.extend_from_slice(LONG);
            whole.extend_from_slice(b"......");
            let base64 = wrap(&standard_base64(&whole), 76, line_end);
            let out = marked(&patterns, base64.as_bytes());
            assert!(out.contains("[redacted:demo]"), "{before}: {out}");
            assert!(out.len() < base64.len() - LONG.len(), "{before}: {out}");
            let hex: String = whole.iter().map(|byte| format!("{byte:02x}")).collect();
            let hex = wrap(&hex, 60, line_end);
            let out = marked(&patterns, hex.as_bytes());
            assert!(out.contains("[redacted:demo]"), "{before}: {out}");
            assert!(out.len() < hex.len() - LONG.len(), "{before}: {out}");
        }
    }
}

/// What looks like an escaped line break after the start of one secret may be the start of another.
#[test]
fn req_e01_a_line_break_that_is_none_hides_nothing() {
    let patterns = patterns(&[("one", b"sk-ant-api03-QmX9sLw4Tz1B"), ("two", b"npm_6Hc3Jf8Gd5Ye0Pa")]);
    assert_eq!(marked(&patterns, b"sk-ant-api03-\\npm_6Hc3Jf8Gd5Ye0Pa."), "sk-ant-api03-\\[redacted:two].");
}

#[test]
fn overlapping_matches_are_removed_as_one() {
    let patterns = patterns(&[("one", b"aaaabbbbcccc"), ("two", b"bbbbccccdddd"), ("three", b"bbbbcccc")]);
    assert_eq!(marked(&patterns, b"<aaaabbbbccccdddd>"), "<[redacted:one]>");
    assert_eq!(marked(&patterns, b"<bbbbccccdddd>"), "<[redacted:two]>");
    assert_eq!(marked(&patterns, b"<bbbbccccaaaa>"), "<[redacted:three]aaaa>");
}

#[test]
fn same_length_keeps_the_length() {
    let redactor = Redactor::new(patterns(&[("demo", KEY)]), Replacement::SameLength(b'*'));
    let text = [b"a ", KEY, b" b"].concat();
    assert_eq!(run(redactor, text.chunks(5)), [&b"a "[..], &vec![b'*'; KEY.len()], b" b"].concat());
}

#[test]
fn a_secret_that_is_cut_off_by_the_end_is_removed() {
    let patterns = patterns(&[("demo", LONG)]);
    assert_eq!(marked(&patterns, &LONG[..LONG.len() - 1]), "[redacted:demo]");
    assert_eq!(marked(&patterns, &LONG[..10]), "kR7vQ2mX9s");
}

#[test]
fn clean_chunks_are_not_copied() {
    let mut redactor =
        Redactor::new(patterns(&[("demo", KEY)]), Replacement::Marker).with_shapes(Arc::default());
    let mut out = Vec::new();
    assert_eq!(redactor.push(b"data: hello\n\n", &mut out), Passed::Prefix(13));
    assert_eq!(redactor.push(b"data: sk-te", &mut out), Passed::Prefix(6));
    assert_eq!(out, b"");
    assert_eq!(redactor.push(b"a\n", &mut out), Passed::Written);
    assert_eq!(out, b"sk-tea\n");
    assert_eq!((redactor.held(), redactor.matches()), (0, 0));
}

#[test]
fn values_of_fewer_than_eight_bytes_are_refused_by_name() {
    let (patterns, refused) =
        Patterns::new([("short", &b"1234567"[..]), ("fits", b"12345678"), ("none", b"")]);
    let why = Refusal::TooShort { shortest: 8 };
    assert_eq!(refused, ["short", "none"].map(|label| Refused { label: label.to_owned(), why }));
    assert_eq!(marked(&Arc::new(patterns), b"1234567 12345678"), "1234567 [redacted:fits]");
}

#[test]
fn without_secrets_everything_passes() {
    let patterns = patterns(&[]);
    assert_eq!(marked(&patterns, b"nothing to hide"), "nothing to hide");
}

/// Input made of near matches: every form but its last byte, and secrets that overlap themselves.
#[test]
fn near_matches_leave_nothing_behind() {
    let patterns = patterns(&[("a", &[b'a'; 40]), ("b", LONG)]);
    let near: Vec<u8> = LONG[..LONG.len() - 1].iter().copied().cycle().take(5000).chain(*b" ").collect();
    assert_eq!(marked(&patterns, &near), String::from_utf8(near.clone()).unwrap());
    let many = [&[b'a'; 5000][..], b" ", &[b'a'; 39], b" "].concat();
    let out = marked(&patterns, &many);
    assert_eq!(out, format!("[redacted:a] {} ", "a".repeat(39)));
    assert!(!contains(out.as_bytes(), &[b'a'; 40]));
}

fn wrap(text: &str, width: usize, line_end: &str) -> String {
    let lines: Vec<&str> =
        text.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
    lines.join(line_end)
}

fn standard_base64(bytes: &[u8]) -> String {
    let alphabet: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let value = (0..3).fold(0, |value, at| value << 8 | usize::from(*group.get(at).unwrap_or(&0)));
        let characters = (0..4).map(|at| alphabet[value >> (18 - 6 * at) & 63]);
        out.extend(characters.take(group.len() + 1));
        out.push_str(&"=".repeat(3 - group.len()));
    }
    out
}
