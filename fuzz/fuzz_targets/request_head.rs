//! Whatever a connection sends, and wherever it is cut: the strict reader lets the same bytes through, and every head
//! that it lets through is the same one to the HTTP library behind it.

#![no_main]

use cofferdam_egress::head::{self, Framing, Scanner, Violation};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (bytes, cuts) = input;
    let whole = followed(&bytes, &[]);
    let pieces = followed(&bytes, &cuts);
    assert_eq!(whole, pieces, "what passes depends on how it is cut");

    let Ok(Some(end)) = head::head_end(&bytes) else { return };
    let Ok(framing) = head::check(&bytes[..end]) else { return };
    let mut headers = [httparse::EMPTY_HEADER; head::MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let parsed = request.parse(&bytes[..end]).expect("a head that was let through");
    assert_eq!(parsed, httparse::Status::Complete(end));
    let values = |name: &str| {
        let same = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
        same.map(|header| header.value.trim_ascii()).collect::<Vec<_>>()
    };
    match (framing, &values("content-length")[..], &values("transfer-encoding")[..]) {
        (Framing::Length(0), [], []) => {}
        (Framing::Length(length), [text], []) => {
            let text = std::str::from_utf8(text).expect("digits");
            assert_eq!(text.parse(), Ok(length));
        }
        (Framing::Chunked, [], [coding]) => assert!(coding.eq_ignore_ascii_case(b"chunked")),
        other => panic!("{other:?}"),
    }
});

/// How many bytes pass, and why the next ones do not.
fn followed(bytes: &[u8], cuts: &[u8]) -> (usize, Option<Violation>) {
    let (mut scanner, mut passed, mut known) = (Scanner::START, 0, 0);
    let mut cuts = cuts.iter().map(|cut| usize::from(*cut) + 1);
    while known < bytes.len() {
        known = cuts.next().map_or(bytes.len(), |cut| bytes.len().min(known + cut));
        loop {
            match scanner.scan(&bytes[passed..known]) {
                Ok(0) => break,
                Ok(count) => passed += count,
                Err(violation) => return (passed, Some(violation)),
            }
        }
    }
    (passed, None)
}
