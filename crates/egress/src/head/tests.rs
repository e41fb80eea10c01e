use proptest::prelude::*;

use super::*;

fn head(text: &str) -> Result<Framing, Violation> {
    check(text.as_bytes())
}

#[test]
fn ordinary_heads_pass_with_the_framing_they_declare() {
    assert_eq!(head("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), Ok(Framing::Length(0)));
    assert_eq!(head("POST /x?y=%20 HTTP/1.0\r\nContent-Length:  12 \r\n\r\n"), Ok(Framing::Length(12)));
    assert_eq!(head("PUT http://a/ HTTP/1.1\r\ntransfer-encoding: Chunked\r\n\r\n"), Ok(Framing::Chunked));
    assert_eq!(head("GET / HTTP/1.1\r\nX: \u{e9}\t\r\nY:\r\n\r\n"), Ok(Framing::Length(0)));
    assert_eq!(head("CONNECT a.example:443 HTTP/1.1\r\n\r\n"), Ok(Framing::Length(0)));
}

#[test]
fn what_two_readers_read_differently_is_refused() {
    use Violation::*;
    for (text, violation) in [
        ("GET / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", Framing),
        ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", Framing),
        ("GET / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", Framing),
        ("GET / HTTP/1.1\r\nContent-Length: 5\r\ncontent-length: 6\r\n\r\n", Framing),
        ("GET / HTTP/1.1\r\nContent-Length: 5, 5\r\n\r\n", Framing),
        ("GET / HTTP/1.1\r\nContent-Length: +5\r\n\r\n", Framing),
        ("GET / HTTP/1.1\r\nContent-Length: 0x5\r\n\r\n", Framing),
        ("GET / HTTP/1.1\r\nContent-Length:\r\n\r\n", Framing),
        ("GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", Framing),
        ("GET / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", Framing),
        ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", Framing),
        ("GET / HTTP/1.1\r\nTransfer-Encoding: identity\r\n\r\n", Framing),
        ("GET / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n", Framing),
        ("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", Framing),
        ("GET / HTTP/1.1\r\nTransfer-Encoding : chunked\r\n\r\n", Malformed),
        ("GET / HTTP/1.1\r\nTransfer-Encoding\r\n\r\n", Malformed),
        ("GET / HTTP/1.1\r\nX: a\r\n b\r\n\r\n", Malformed),
        ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", Malformed),
        ("GET / HTTP/1.1\nHost: a\r\n\r\n", Malformed),
        ("GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", Malformed),
        ("GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", Malformed),
        ("GET / HTTP/1.1\r\nHost: a\0\r\n\r\n", Malformed),
        ("GET / HTTP/1.1\r\nH\u{e9}: a\r\n\r\n", Malformed),
        ("GET / HTTP/1.1\r\n: a\r\n\r\n", Malformed),
        ("GET  / HTTP/1.1\r\n\r\n", Malformed),
        ("GET / HTTP/1.1 \r\n\r\n", Malformed),
        ("GET /\t HTTP/1.1\r\n\r\n", Malformed),
        ("GET /a b HTTP/1.1\r\n\r\n", Malformed),
        ("GET /a#b HTTP/1.1\r\n\r\n", Malformed),
        ("GET /\u{e9} HTTP/1.1\r\n\r\n", Malformed),
        ("GET /\r\n\r\n", Malformed),
        ("GET / HTTP/2.0\r\n\r\n", Malformed),
        ("G(T / HTTP/1.1\r\n\r\n", Malformed),
        ("\r\n\r\n", Malformed),
    ] {
        assert_eq!(head(text), Err(violation), "{text:?}");
    }
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(101));
    assert_eq!(head(&many), Err(TooMany));
}

#[test]
fn a_connection_is_followed_across_bodies_of_every_kind() {
    let requests = [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nGET ",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\n\r\n\r\n\0\r\n0\r\nX: y\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "GET /last HTTP/1.1\r\n\r\n",
    ]
    .concat();
    let mut scanner = Scanner::START;
    assert_eq!(scanner.scan(requests.as_bytes()), Ok(requests.len()));
    assert!(scanner.between_requests());
}

#[test]
fn bodies_that_are_framed_wrongly_are_refused() {
    for (body, violation) in [
        ("5\nhello", Violation::Framing),
        ("\r\n", Violation::Framing),
        ("-1\r\n", Violation::Framing),
        ("5 \r\nhello", Violation::Framing),
        ("5\r\nhelloX", Violation::Framing),
        ("5\r\nhello\n", Violation::Framing),
        ("ffffffffffffffff\r\n", Violation::Framing),
        ("5;x\0\r\n", Violation::Framing),
        ("0\r\nX: a\n\r\n", Violation::Malformed),
        ("0\r\n x: a\r\n\r\n", Violation::Malformed),
    ] {
        let text = format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        assert_eq!(Scanner::START.scan_all(text.as_bytes()), Err(violation), "{body:?}");
    }
    let start = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let long = format!("{start}0\r\n{}", "x: y\r\n".repeat(LONGEST_TRAILER / 6 + 1));
    assert_eq!(Scanner::START.scan_all(long.as_bytes()), Err(Violation::TrailerTooLarge));
    let long = format!("{start}1;{}", "x".repeat(LONGEST_CHUNK_LINE));
    assert_eq!(Scanner::START.scan_all(long.as_bytes()), Err(Violation::Framing));
}

#[test]
fn an_endless_head_and_garbage_end_early() {
    let endless = format!("GET / HTTP/1.1\r\n{}", "x: y\r\n".repeat(LONGEST_HEAD / 6 + 1));
    assert_eq!(Scanner::START.scan_all(endless.as_bytes()), Err(Violation::TooLarge));
    assert_eq!(Scanner::START.scan_all(b"\0"), Err(Violation::Malformed));
    assert_eq!(Scanner::START.scan_all(b"\r\nGET / HTTP/1.1\r\n\r\n"), Err(Violation::Malformed));
    assert_eq!(Scanner::START.scan_all(b"GET / HTTP/1.1\r\nHost"), Ok(0));
}

impl Scanner {
    fn scan_all(mut self, bytes: &[u8]) -> Result<usize, Violation> {
        let mut done = 0;
        loop {
            match self.scan(&bytes[done..])? {
                0 => return Ok(done),
                count => done += count,
            }
        }
    }
}

proptest! {
    /// Wherever the network cuts, the same bytes are let through and the same connections refused.
    #[test]
    fn cuts_change_nothing(
        pieces in proptest::collection::vec(prop_oneof![
            Just("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
            Just("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"),
            Just("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
            Just("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab\r\n0\r\n\r\n"),
            Just("GET / HTTP/1.1\r\nX: \nY\r\n\r\n"),
        ], 1..5),
        cuts in proptest::collection::vec(1..9_usize, 1..200),
    ) {
        let whole = pieces.concat().into_bytes();
        let expected = Scanner::START.scan_all(&whole);
        let mut scanner = Scanner::START;
        let (mut held, mut passed, mut refused) = (Vec::new(), 0, None);
        let mut rest = &whole[..];
        for cut in cuts.iter().cycle() {
            if rest.is_empty() || refused.is_some() {
                break;
            }
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            rest = after;
            held.extend_from_slice(piece);
            loop {
                match scanner.scan(&held) {
                    Ok(0) => break,
                    Ok(count) => { passed += count; held.drain(..count); }
                    Err(violation) => { refused = Some(violation); break }
                }
            }
        }
        match expected {
            Ok(count) => prop_assert_eq!((passed, refused), (count, None)),
            Err(violation) => prop_assert_eq!(refused, Some(violation)),
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), body in "[0-9a-fA-F;\r\n ]{0,60}") {
        let _ = Scanner::START.scan_all(&bytes);
        let _ = Scanner::START.scan_all(format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{body}").as_bytes());
    }
}
