//! Heads that come before an answer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::answers::{listen, proxied, read_head};
use crate::proxied::{SECRET, reason};

const FINAL: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// One that is read by hand, and ones that the library reads.
const ASKED: [&str; 3] = [
    "GET / HTTP/1.1\r\nHost: socket.example.test\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: socket.example.test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "HEAD / HTTP/1.1\r\nHost: socket.example.test\r\n\r\n",
];

/// An upstream that answers each request with these, one at a time: what comes next is said when the client has seen
/// what came before.
fn upstream(said: Vec<String>) -> (SocketAddr, std::sync::mpsc::SyncSender<()>) {
    let (go_on, gone_on) = std::sync::mpsc::sync_channel(0);
    let gone_on = std::sync::Mutex::new(gone_on);
    let (address, _) = listen(move |stream, _| {
        while let Some(head) = read_head(stream) {
            if head.contains("chunked") {
                assert_eq!(read_head(stream).as_deref(), Some("2\r\nok\r\n0\r\n\r\n"), "the body");
            }
            for said in &said {
                let _ = gone_on.lock().expect("one at a time").recv();
                stream.write_all(said.as_bytes()).expect("a client");
            }
        }
    });
    (address, go_on)
}

#[test]
fn req_e26_what_comes_before_an_answer_is_passed_on_as_it_comes() {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nConnection: X-Hop\r\nX-Hop: 1\r\nAlt-Svc: h3\r\nContent-Length: 9\r\n\r\n";
    let said = ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 102 Processing\r\n\r\n", hints, FINAL];
    for asked in ASKED {
        let (address, go_on) = upstream(said.map(str::to_owned).to_vec());
        let proxied = proxied(address);
        let mut client = TcpStream::connect(proxied.address).expect("the proxy listens");
        for _ in 0..2 {
            client.write_all(asked.as_bytes()).expect("the proxy reads");
            for expected in
                ["100 Continue\r\n", "102 Processing\r\n", "103 Early Hints\r\nlink: </a>; rel=preload\r\n"]
            {
                go_on.send(()).expect("the upstream");
                let head = read_head(&mut client).expect("a head").replace("Link:", "link:");
                assert_eq!(head, format!("HTTP/1.1 {expected}\r\n"), "{asked}");
            }
            go_on.send(()).expect("the upstream");
            let head = read_head(&mut client).expect("the answer");
            assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
            if !asked.starts_with("HEAD") {
                let mut body = [0; 2];
                client.read_exact(&mut body).expect("the body");
                assert_eq!(&body, b"ok");
            }
        }
    }
}

#[test]
fn req_e01_heads_before_an_answer_are_cleaned_whoever_reads_them() {
    let hint = format!("HTTP/1.1 103 {SECRET}\r\nLink: </{SECRET}>\r\n{SECRET}: x\r\n\r\n");
    for asked in ASKED {
        // Once by themselves and once together with the answer.
        let (address, go_on) = upstream(vec![hint.clone(), format!("{hint}{FINAL}")]);
        let proxied = proxied(address);
        let mut client = TcpStream::connect(proxied.address).expect("the proxy listens");
        client.write_all(asked.as_bytes()).expect("the proxy reads");
        for _ in 0..2 {
            go_on.send(()).expect("the upstream");
            let head = read_head(&mut client).expect("a head").replace("Link:", "link:");
            assert_eq!(head, "HTTP/1.1 103 Early Hints\r\nlink: </[redacted:api]>\r\n\r\n", "{asked}");
        }
        assert!(read_head(&mut client).expect("the answer").starts_with("HTTP/1.1 200 OK\r\n"));
        drop(client);
        while !proxied.record().contains("\"egress-response\"") {
            std::thread::yield_now();
        }
    }
}

#[test]
fn req_e22_no_more_of_them_than_anybody_needs() {
    let many = "HTTP/1.1 103 Early Hints\r\nX: 1\r\n\r\n".repeat(40);
    let large = format!("HTTP/1.1 103 Early Hints\r\nX: {}\r\n\r\n", "x".repeat(30_000)).repeat(3);
    for flood in [many, large] {
        for asked in &ASKED[..2] {
            let (address, go_on) = upstream(vec![flood.clone() + FINAL]);
            let proxied = proxied(address);
            let mut client = TcpStream::connect(proxied.address).expect("the proxy listens");
            client.write_all(asked.as_bytes()).expect("the proxy reads");
            go_on.send(()).expect("the upstream");
            client.shutdown(std::net::Shutdown::Write).expect("half a connection");
            let mut got = String::new();
            client.read_to_string(&mut got).expect("text");
            let passed = got.matches("HTTP/1.1 103 ").count();
            assert!((1..=32).contains(&passed) && got.len() < 70_000, "{passed} heads, {} bytes", got.len());
            assert!(got.ends_with("\r\n\r\nok") || reason(&got) == Some("upstream-malformed"), "{asked}");
        }
    }
}

#[test]
fn req_e26_a_client_of_http_1_0_gets_the_answer_alone() {
    let (address, go_on) = upstream(vec![format!("HTTP/1.1 103 Early Hints\r\n\r\n{FINAL}")]);
    let proxied = proxied(address);
    let mut client = TcpStream::connect(proxied.address).expect("the proxy listens");
    client.write_all(b"GET / HTTP/1.0\r\nHost: socket.example.test\r\n\r\n").expect("the proxy reads");
    go_on.send(()).expect("the upstream");
    let mut got = String::new();
    client.read_to_string(&mut got).expect("text");
    assert!(got.starts_with("HTTP/1.0 200 OK\r\n") && got.ends_with("ok"), "{got}");
}

#[test]
fn req_e26_who_asks_whether_to_go_on_is_told_once_or_more_and_the_body_arrives() {
    // The upstream has its own mind about it, and we have ours.
    let (address, asked) = listen(|stream, asked| {
        while let Some(head) = read_head(stream) {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").expect("a client");
            let mut body = [0; 4];
            stream.read_exact(&mut body).expect("the body");
            asked(head + &String::from_utf8_lossy(&body));
            stream.write_all(FINAL.as_bytes()).expect("a client");
        }
    });
    let proxied = proxied(address);
    let mut client = TcpStream::connect(proxied.address).expect("the proxy listens");
    for _ in 0..2 {
        let ask = "POST / HTTP/1.1\r\nHost: socket.example.test\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";
        client.write_all(ask.as_bytes()).expect("the proxy reads");
        assert_eq!(read_head(&mut client).expect("a head"), "HTTP/1.1 100 Continue\r\n\r\n");
        client.write_all(b"text").expect("the proxy reads");
        let last =
            std::iter::from_fn(|| read_head(&mut client)).find(|head| !head.starts_with("HTTP/1.1 100 "));
        assert!(last.expect("an answer").starts_with("HTTP/1.1 200 OK\r\n"));
        client.read_exact(&mut [0; 2]).expect("the body");
        let (_, request) = asked.recv().expect("a request");
        assert!(request.ends_with("\r\n\r\ntext") && !request.contains("Expect"), "{request}");
    }
    // Who is refused is not asked for the body.
    let refused = proxied.raw("POST / HTTP/1.1\r\nHost: nobody.example.test\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 4\r\n\r\n");
    assert_eq!(reason(&refused), Some("host-not-allowed"), "{refused}");
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
}
