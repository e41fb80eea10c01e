//! Answers in every framing, on connections that are used again and on some that cannot be.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use crate::proxied::{Proxied, SECRET};
use cofferdam_testkit::upstream::{HttpVersion, Transport};

const LENGTH: &str = "HTTP/1.1 200 Fine\r\nX-CaSe: 1\r\nContent-Length: 2\r\nx-case: 2\r\n\r\nok";

/// By path: what is answered, and whether the connection is closed after it.
const ANSWERS: [(&str, &str, bool); 9] = [
    ("/length", LENGTH, false),
    ("/nothing", "HTTP/1.1 200 OK\r\nX-CaSe: 1\r\nContent-Length: 0\r\n\r\n", false),
    (
        "/chunks",
        "HTTP/1.1 200 OK\r\nX-CaSe: 1\r\nTransfer-Encoding: chunked\r\n\r\n1 \r\no\r\n1;a=b\r\nk\r\n0\r\nX-End: 1\r\n\r\n",
        false,
    ),
    ("/empty", "HTTP/1.1 204 No Content\r\nX-CaSe: 1\r\n\r\n", false),
    (
        "/informed",
        "HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\nHTTP/1.1 200 OK\r\nX-CaSe: 1\r\nContent-Length: 2\r\n\r\nok",
        false,
    ),
    ("/ending", "HTTP/1.1 200 OK\r\nX-CaSe: 1\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", true),
    ("/closed", "HTTP/1.1 200 OK\r\nX-CaSe: 1\r\n\r\nok", true),
    ("/old", "HTTP/1.0 200 OK\r\nX-CaSe: 1\r\nContent-Length: 2\r\n\r\nok", true),
    ("/more", "HTTP/1.1 200 OK\r\nX-CaSe: 1\r\nContent-Length: 2\r\n\r\nok and more", false),
];

/// Who asked on which connection, as it was written.
pub type Asked = Receiver<(usize, String)>;

pub fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        bytes.push(byte[0]);
    }
    String::from_utf8(bytes).ok()
}

/// Serves every connection in a thread that can tell what was asked on it.
pub fn listen(each: impl Fn(&mut TcpStream, &dyn Fn(String)) + Send + Sync + 'static) -> (SocketAddr, Asked) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    let (asked, heads) = channel();
    let each = Arc::new(each);
    std::thread::spawn(move || {
        for (number, mut stream) in listener.incoming().flatten().enumerate() {
            let (asked, each) = (asked.clone(), each.clone());
            // Whether somebody still wants to know is the test's business.
            std::thread::spawn(move || each(&mut stream, &|head| drop(asked.send((number, head)))));
        }
    });
    (address, heads)
}

fn upstream(answers: &'static [(&str, &str, bool)]) -> (SocketAddr, Asked) {
    listen(move |stream, asked| {
        while let Some(head) = read_head(stream) {
            let mut body = vec![0; if head.starts_with("POST") { 4 } else { 0 }];
            stream.read_exact(&mut body).expect("a body");
            let path = head.split(' ').nth(1).expect("a target").to_owned();
            asked(head + &String::from_utf8(body).expect("text"));
            let known = answers.iter().find(|(known, ..)| *known == path);
            let (_, answer, last) = known.expect("a path that is known");
            stream.write_all(answer.as_bytes()).expect("a client");
            if *last {
                return;
            }
        }
    })
}

fn ask(stream: &mut TcpStream, path: &str, body: &str) {
    let (method, length) = match body {
        "" => ("GET", String::new()),
        body => ("POST", format!("Content-Length: {}\r\n", body.len())),
    };
    let ask =
        format!("{method} {path} HTTP/1.1\r\nHost: socket.example.test\r\nX-AsK: 1\r\n{length}\r\n{body}");
    stream.write_all(ask.as_bytes()).expect("the proxy reads");
}

/// A head, and the body behind it.
fn answer(stream: &mut TcpStream) -> (String, String) {
    let head = read_head(stream).expect("an answer");
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let length = length.map(|length| length.parse().expect("a number"));
    let mut body = Vec::new();
    match length {
        Some(length) => {
            body.resize(length, 0);
            stream.read_exact(&mut body).expect("the body");
        }
        None if head.starts_with("HTTP/1.1 204 ") => {}
        None => {
            let mut bytes = Vec::new();
            while !bytes.ends_with(b"0\r\n\r\n") && !bytes.ends_with(b"\r\n0\r\nx-end: 1\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).expect("more chunks");
                bytes.push(byte[0]);
            }
            let text = String::from_utf8(bytes).expect("text");
            let mut lines = text.split("\r\n");
            while let (Some(size), Some(piece)) = (lines.next().filter(|size| *size != "0"), lines.next()) {
                assert_eq!(usize::from_str_radix(size, 16), Ok(piece.len()), "{text}");
                body.extend_from_slice(piece.as_bytes());
            }
        }
    }
    (head, String::from_utf8(body).expect("text"))
}

pub fn proxied(socket: SocketAddr) -> Proxied {
    let proxied = Proxied::beside(Transport::Tls(vec![HttpVersion::Http1]), "", Some(socket));
    // From here on the credential is known, and looked for.
    let header = format!("Authorization: Bearer {}", proxied.token(0).expose());
    proxied.curl(&["-f", "-H", &header, &proxied.url("/")]).run().expect_status(0);
    proxied
}

#[test]
fn req_e26_answers_in_every_framing_come_as_they_were_written_and_connections_go_on() {
    let (address, asked) = upstream(&ANSWERS);
    let proxied = proxied(address);
    for (path, written, last) in ANSWERS {
        for body in ["", "text"] {
            let mut client = TcpStream::connect(proxied.address).expect("the proxy listens");
            ask(&mut client, path, body);
            if path == "/informed" {
                let early = read_head(&mut client).expect("a head before the answer");
                assert_eq!(early, "HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n");
            }
            let (head, got) = answer(&mut client);
            let expected = if written.contains("ok") || path == "/chunks" { "ok" } else { "" };
            assert_eq!(got, expected, "{path}: {head}");
            assert!(head.contains("\r\nX-CaSe: 1\r\n"), "{path}: {head}");
            assert!(!head.contains("X-End"), "{path}: {head}");
            let (first, request) = asked.recv().expect("a request");
            assert!(request.contains("\r\nX-AsK: 1\r\n") && request.ends_with(body), "{path}: {request}");
            // The same client goes on, and so does the connection behind it if it can.
            ask(&mut client, "/length", body);
            let (head, got) = answer(&mut client);
            assert!(head.starts_with("HTTP/1.1 200 Fine\r\n"), "after {path}: {head}");
            assert!(head.contains("\r\nX-CaSe: 1\r\nx-case: 2\r\n"), "after {path}: {head}");
            assert_eq!(got, "ok", "after {path}");
            let (second, request) = asked.recv().expect("a request");
            assert!(
                request.contains("\r\nX-AsK: 1\r\n") && request.ends_with(body),
                "after {path}: {request}"
            );
            let again = !last && path != "/more";
            assert_eq!(first == second, again, "after {path}");
        }
    }
}

#[test]
fn req_e26_requests_that_come_together_are_answered_in_turn() {
    let (address, _asked) = upstream(&ANSWERS);
    let proxied = proxied(address);
    let mut client = TcpStream::connect(proxied.address).expect("the proxy listens");
    for paths in [&["/length"][..], &["/chunks", "/length", "/nothing"], &["/length"]] {
        let one = |path: &&str| format!("GET {path} HTTP/1.1\r\nHost: socket.example.test\r\n\r\n");
        client.write_all(paths.iter().map(one).collect::<String>().as_bytes()).expect("the proxy reads");
        let answers: Vec<_> = paths.iter().map(|_| answer(&mut client).1).collect();
        let expected: Vec<_> = paths.iter().map(|path| if *path == "/nothing" { "" } else { "ok" }).collect();
        assert_eq!(answers, expected);
    }
    // In pieces, of which the first is no whole head.
    for piece in ["GET /length HT", "TP/1.1\r\nHost: socket.example", ".test\r\n\r\n"] {
        client.write_all(piece.as_bytes()).expect("the proxy reads");
    }
    assert_eq!(answer(&mut client).1, "ok");
}

#[test]
fn req_e30_answers_of_every_length_arrive_whole_and_connections_go_on() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    let text = |length: usize| "0123456789abcde\n".repeat(length / 16);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            while let Some(head) = read_head(&mut stream) {
                let path = head.split(' ').nth(1).expect("a target").to_owned();
                let (framing, length) = path[1..].split_once('/').expect("two parts");
                let body = text(length.parse().expect("a number"));
                let answer = match framing {
                    "length" => format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}"),
                    _ => {
                        let chunks = body.as_bytes().chunks(1000).map(|chunk| {
                            let text = std::str::from_utf8(chunk).expect("text");
                            format!("{:x}\r\n{text}\r\n", chunk.len())
                        });
                        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
                        format!("{head}{}0\r\n\r\n", chunks.collect::<String>())
                    }
                };
                stream.write_all(answer.as_bytes()).expect("a client");
            }
        }
    });
    let proxied = proxied(address);
    let mut client = TcpStream::connect(proxied.address).expect("the proxy listens");
    for length in [16, 16_000, 16_384, 65_536, 65_552, 1_600_000, 16] {
        for framing in ["chunks", "length"] {
            ask(&mut client, &format!("/{framing}/{length}"), "");
            assert!(answer_body(&mut client) == text(length), "{framing} {length}");
        }
    }
}

/// A body by its length or in chunks that are read one by one.
fn answer_body(stream: &mut TcpStream) -> String {
    let head = read_head(stream).expect("an answer");
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = Vec::new();
    let mut left = length.map(|length| length.parse().expect("a number"));
    loop {
        let size = left.take().unwrap_or_else(|| {
            let mut line = String::new();
            while !line.ends_with('\n') {
                let mut byte = [0];
                stream.read_exact(&mut byte).expect("a line");
                line.push(char::from(byte[0]));
            }
            usize::from_str_radix(line.trim(), 16).expect("a size")
        });
        let start = body.len();
        body.resize(start + size, 0);
        stream.read_exact(&mut body[start..]).expect("the body");
        if length.is_none() {
            stream.read_exact(&mut [0; 2]).expect("the end of a chunk");
        }
        if length.is_some() || size == 0 {
            return String::from_utf8(body).expect("text");
        }
    }
}

const BROKEN: [(&str, &str, bool); 3] = [
    ("/short", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart", true),
    ("/cut", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n", true),
    ("/garbled", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npartxx5\r\n", false),
];

#[test]
fn req_e26_an_answer_that_breaks_off_does_so_for_the_client_and_on_record() {
    let (address, _asked) = upstream(&BROKEN);
    for (path, ..) in BROKEN {
        let proxied = proxied(address);
        let mut client = TcpStream::connect(proxied.address).expect("the proxy listens");
        ask(&mut client, path, "");
        let mut got = Vec::new();
        let _ = client.read_to_end(&mut got);
        let got = String::from_utf8(got).expect("text");
        assert!(!got.ends_with("0\r\n\r\n"), "{path}: {got}");
        assert!(got.contains("part") || got.contains("upstream-malformed"), "{path}: {got}");
        let record = proxied.record();
        assert!(record.contains("\"failure\":\"upstream-"), "{path}: {record}");
        assert!(!record.contains(SECRET));
    }
}

/// Answers one request on each connection, and goes away when it has heard another.
fn forgetful() -> (SocketAddr, Asked) {
    listen(|stream, asked| {
        for turn in 0..2 {
            let Some(head) = read_head(stream) else { return };
            asked(head);
            if turn == 0 {
                stream.write_all(LENGTH.as_bytes()).expect("a client");
            }
        }
    })
}

#[test]
fn req_e26_what_changes_nothing_is_asked_again_when_a_host_closes_an_idle_connection_just_then() {
    // The last is read and sent by the library.
    for (method, more, again) in
        [("GET", "", true), ("OPTIONS", "", true), ("DELETE", "", false), ("GET", "Trailer: X\r\n", true)]
    {
        let (address, asked) = forgetful();
        let proxied = proxied(address);
        let mut client = TcpStream::connect(proxied.address).expect("the proxy listens");
        let ask = format!("{method} /length HTTP/1.1\r\nHost: socket.example.test\r\n{more}\r\n");
        client.write_all(ask.as_bytes()).expect("the proxy reads");
        assert_eq!(answer(&mut client).1, "ok");
        client.write_all(ask.as_bytes()).expect("the proxy reads");
        let head = read_head(&mut client).expect("an answer");
        let status = if again { "HTTP/1.1 200 " } else { "HTTP/1.1 502 " };
        assert!(head.starts_with(status), "{method} {more}: {head}");
        let heard: Vec<usize> = asked.try_iter().map(|(connection, _)| connection).collect();
        assert_eq!(heard, if again { vec![0, 0, 1] } else { vec![0, 0] }, "{method} {more}");
    }
}

#[test]
fn req_e30_a_target_without_a_path_goes_out_with_one() {
    let (address, asked) = upstream(&[("/?q=1", LENGTH, false), ("/", LENGTH, false)]);
    let proxied = proxied(address);
    for (target, line) in [("?q=1", "GET /?q=1 HTTP/1.1\r\n"), ("", "GET / HTTP/1.1\r\n")] {
        let mut client = TcpStream::connect(proxied.address).expect("the proxy listens");
        let ask = format!(
            "GET http://socket.example.test{target} HTTP/1.1\r\nHost: socket.example.test\r\nX-AsK: 1\r\n\r\n"
        );
        client.write_all(ask.as_bytes()).expect("the proxy reads");
        assert_eq!(answer(&mut client).1, "ok");
        let (_, request) = asked.recv().expect("a request");
        assert!(request.starts_with(line) && request.contains("\r\nX-AsK: 1\r\n"), "{request}");
    }
}

#[test]
fn req_e01_a_secret_in_the_first_line_of_an_answer_does_not_reach_the_client() {
    // The second is read by the library.
    for more in ["", "Connection: close\r\n"] {
        let told = format!("HTTP/1.1 403 No {SECRET} here\r\n{more}Content-Length: 2\r\n\r\nok");
        let (address, _asked) = upstream(Box::leak(Box::new([("/", &*told.leak(), !more.is_empty())])));
        let proxied = proxied(address);
        let mut client = TcpStream::connect(proxied.address).expect("the proxy listens");
        ask(&mut client, "/", "");
        let (head, body) = answer(&mut client);
        assert!(head.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{head}");
        assert_eq!(body, "ok");
        // The end of the connection comes after that of the request on it.
        client.shutdown(std::net::Shutdown::Write).expect("half a connection");
        client.read_to_end(&mut Vec::new()).expect("the end");
        assert!(proxied.record().contains("\"secret-redacted\""), "{}", proxied.record());
    }
}

#[test]
fn req_e30_a_length_beside_chunks_cuts_nothing_off() {
    let told = "HTTP/1.1 200 OK\r\nX-CaSe: 1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n0\r\n\r\n";
    let (address, _asked) = upstream(Box::leak(Box::new([("/", told, false)])));
    let proxied = proxied(address);
    let mut client = TcpStream::connect(proxied.address).expect("the proxy listens");
    for _ in 0..2 {
        ask(&mut client, "/", "");
        let (head, body) = answer(&mut client);
        assert_eq!(body, "whole", "{head}");
        assert!(!head.to_lowercase().contains("content-length"), "{head}");
    }
}

#[test]
fn req_e01_an_answer_in_a_coding_that_cannot_be_looked_into_is_not_passed_on() {
    for coding in ["gzip, chunked", "gzip\r\nTransfer-Encoding: chunked", "gzip"] {
        let told = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {coding}\r\n\r\n5\r\nwhole\r\n0\r\n\r\n");
        let (address, _asked) = upstream(Box::leak(Box::new([("/", &*told.leak(), true)])));
        let proxied = proxied(address);
        let got = proxied.raw("GET / HTTP/1.1\r\nHost: socket.example.test\r\nConnection: close\r\n\r\n");
        assert_eq!(crate::proxied::reason(&got), Some("upstream-malformed"), "{coding}: {got}");
        assert!(!got.contains("whole"), "{coding}: {got}");
    }
}
