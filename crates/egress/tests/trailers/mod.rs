//! What comes behind a body, and secrets in the names of what comes before and behind it.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};

use http_body::Body;
use std::future::poll_fn;
use std::pin::pin;

use crate::answers::{listen, proxied, read_head};
use crate::http2::connect;
use crate::proxied::{HOST, Proxied, SECRET};
use cofferdam_testkit::upstream::{EchoPlace, HttpVersion, Reply};

/// Says this to everybody, in pieces of this many bytes, and goes on.
fn upstream(said: String, piece: usize) -> SocketAddr {
    let (address, _) = listen(move |stream, _| {
        stream.set_nodelay(true).expect("a socket");
        while read_head(stream).is_some() {
            for piece in said.as_bytes().chunks(piece) {
                stream.write_all(piece).expect("a client");
                std::thread::yield_now();
            }
        }
    });
    address
}

fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(end.as_bytes()) {
        let mut byte = [0];
        std::io::Read::read_exact(stream, &mut byte)
            .unwrap_or_else(|error| panic!("{error} after {}", String::from_utf8_lossy(&bytes)));
        bytes.push(byte[0]);
    }
    String::from_utf8(bytes).expect("text")
}

#[test]
fn req_e30_what_comes_behind_a_body_arrives_and_the_connection_goes_on() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n";
    let lines = "X-End: 1\r\nX-Twice: a\r\nX-Twice: b\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\nSet-Cookie: a=b\r\n";
    let told = format!("{head}2\r\nok\r\n0\r\n{lines}\r\n");
    for piece in [1, 7, told.len()] {
        let proxied = proxied(upstream(told.clone(), piece));
        let mut client = TcpStream::connect(proxied.address).expect("the proxy listens");
        for more in ["", "", "TE: trailers\r\n", "TE: trailers\r\nConnection: TE\r\n"] {
            let ask = format!("GET / HTTP/1.1\r\nHost: socket.example.test\r\n{more}\r\n");
            client.write_all(ask.as_bytes()).expect("the proxy reads");
            let got = read_until(&mut client, "x-twice: b\r\n\r\n");
            let expected = "\r\n0\r\nx-end: 1\r\nx-twice: a\r\nx-twice: b\r\n\r\n";
            assert!(
                got.starts_with("HTTP/1.1 200 OK\r\n") && got.ends_with(expected),
                "{piece} {more}: {got}"
            );
        }
    }
}

#[test]
fn req_e01_a_secret_in_what_comes_behind_a_body_is_taken_out_wherever_it_stands() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n";
    let told = format!(
        "{head}\r\n2\r\nok\r\n0\r\n{SECRET}: 1\r\nX-{}: 1\r\nX-End: a {SECRET} b\r\n\r\n",
        SECRET.to_uppercase()
    );
    for piece in [1, 5, told.len()] {
        let proxied = proxied(upstream(told.clone(), piece));
        let mut client = TcpStream::connect(proxied.address).expect("the proxy listens");
        client.write_all(b"GET / HTTP/1.1\r\nHost: socket.example.test\r\n\r\n").expect("the proxy reads");
        let got = read_until(&mut client, "b\r\n\r\n");
        assert!(got.ends_with("\r\n0\r\nx-end: a [redacted:api] b\r\n\r\n"), "{piece}: {got}");
        assert!(!got.to_lowercase().contains(SECRET), "{got}");
    }
}

#[test]
fn req_e01_a_header_with_a_secret_in_its_name_is_left_out() {
    // Read by hand, and by the library because it has no body or none of a length that is told.
    for (rest, end) in [("Content-Length: 2\r\n\r\nok", "ok"), ("X-Last: 1\r\n\r\n", "\r\n\r\n")] {
        let status = if rest.ends_with("ok") { "200 OK" } else { "204 No Content" };
        let told = format!(
            "HTTP/1.1 {status}\r\nX-{SECRET}: 1\r\nx-{}-y: 2\r\nX-Kept: 1\r\n{rest}",
            SECRET.to_uppercase()
        );
        let proxied = proxied(upstream(told, 1000));
        let mut client = TcpStream::connect(proxied.address).expect("the proxy listens");
        client.write_all(b"GET / HTTP/1.1\r\nHost: socket.example.test\r\n\r\n").expect("the proxy reads");
        let got = read_until(&mut client, end);
        assert!(got.contains("\r\nX-Kept: 1\r\n") && !got.to_lowercase().contains(SECRET), "{got}");
        client.shutdown(std::net::Shutdown::Write).expect("half a connection");
        while !proxied.record().contains("\"secret-redacted\"") {
            std::thread::yield_now();
        }
    }
}

#[test]
fn req_e01_trailers_and_names_are_cleaned_for_clients_of_http_2() {
    for version in [HttpVersion::Http1, HttpVersion::Http2] {
        let proxied = Proxied::tls(&[version]);
        proxied.upstream.route(
            "/end",
            Reply::Echo {
                place: EchoPlace::Trailer("x-end".into()),
                coding: cofferdam_testkit::upstream::Coding::Identity,
            },
        );
        let named = vec![(format!("x-{SECRET}"), "1".to_owned()), ("x-kept".to_owned(), "1".to_owned())];
        proxied.upstream.route("/name", Reply::Fixed { status: 200, headers: named, body: b"ok".to_vec() });
        let bearer = format!("Bearer {}", proxied.token(0).expose());
        proxied.runtime.block_on(async {
            let mut sender = connect(&proxied, HOST).await;
            for path in ["/end", "/name"] {
                let request =
                    http::Request::builder().uri(format!("https://{HOST}{path}")).header("te", "trailers");
                let request =
                    request.header("authorization", &bearer).body(String::new()).expect("a request");
                let answer = sender.send_request(request).await.expect("an answer");
                let mut told = format!("{:?}", answer.headers());
                let mut body = pin!(answer.into_body());
                while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
                    let frame = frame.expect("a frame");
                    told += &format!("{:?} {:?}", frame.data_ref(), frame.trailers_ref());
                }
                assert!(!told.contains(SECRET), "{told}");
                assert!(told.contains(if path == "/end" { "redacted" } else { "x-kept" }), "{told}");
            }
        });
    }
}
