//! Clients that mean harm, or do it: each is stopped, and the others do not notice.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use crate::http2::trusting;
use crate::proxied::{HOST, Proxied, reason};
use cofferdam_testkit::upstream::{HttpVersion, Transport};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

type Tls = StreamOwned<ClientConnection, TcpStream>;

fn limited(limits: &str) -> Proxied {
    Proxied::with(Transport::Tls(vec![HttpVersion::Http1]), &format!("[egress.limits]\n{limits}\n"))
}

#[test]
fn req_e22_a_client_that_does_not_come_to_the_point_is_told_so_and_left() {
    let proxied = limited("head_timeout = \"1s\"");
    let told = proxied.raw(b"GET / HTTP/1.1\r\nHost: plain.exam");
    assert!(told.starts_with("HTTP/1.1 408") && reason(&told) == Some("client-timeout"), "{told}");
    // Those who have not said how they want to be spoken to are left without a word.
    for start in
        [&b""[..], b"CONN", b"CONNECT plain.example.test:443 HTTP/1.1\r\n", b"\x16\x03\x01\x00\xf0\x01"]
    {
        assert_eq!(proxied.raw(start), "", "{start:?}");
    }
    let mut tunnel = TcpStream::connect(proxied.address).expect("the proxy listens");
    tunnel.write_all(b"CONNECT plain.example.test:443 HTTP/1.1\r\n\r\n").expect("the proxy reads");
    let mut answer = String::new();
    tunnel.read_to_string(&mut answer).expect("the proxy closes");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(proxied.upstream.connections().is_empty());
}

#[test]
fn req_e22_a_head_that_comes_byte_by_byte_in_time_is_served() {
    let proxied = Proxied::new(Transport::Plain);
    let mut stream = TcpStream::connect(proxied.address).expect("the proxy listens");
    stream.set_nodelay(true).expect("a socket");
    for byte in b"GET / HTTP/1.1\r\nHost: plain.example.test\r\nConnection: close\r\n\r\n" {
        stream.write_all(&[*byte]).expect("the proxy reads");
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn req_e22_a_client_has_so_many_connections_and_no_more() {
    let proxied = limited("connections = 4");
    let open = || TcpStream::connect(proxied.address).expect("the proxy listens");
    let ask = b"GET / HTTP/1.1\r\nHost: plain.example.test\r\n\r\n";
    let mut kept: Vec<_> = (0..4).map(|_| open()).collect();
    for stream in &mut kept {
        stream.write_all(ask).expect("the proxy reads");
        stream.read_exact(&mut [0; 9]).expect("an answer");
    }
    let refused = proxied.raw(ask);
    assert!(
        refused.starts_with("HTTP/1.1 429") && reason(&refused) == Some("concurrency-limited"),
        "{refused}"
    );
    assert!(proxied.record().contains("\"reason\":\"concurrency-limited\""));
    drop(kept);
    // Until it is noticed that they have gone.
    while reason(&proxied.curl(&["-i", "https://plain.example.test/"]).run().stdout()).is_some() {
        std::thread::yield_now();
    }
}

/// A connection of HTTP/2, by hand.
fn http2(proxied: &Proxied) -> Tls {
    let mut stream = TcpStream::connect(proxied.address).expect("the proxy listens");
    stream.write_all(format!("CONNECT {HOST}:443 HTTP/1.1\r\n\r\n").as_bytes()).expect("the proxy reads");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a whole head");
        head.push(byte[0]);
    }
    let name = ServerName::try_from(HOST).expect("a name");
    let mut tls = StreamOwned::new(ClientConnection::new(trusting(proxied), name).expect("a client"), stream);
    tls.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").expect("the proxy reads");
    tls.write_all(&frame(4, 0, 0, &[])).expect("the proxy reads");
    tls
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// `GET https://api.example.test/`, as HPACK writes it without a table.
fn headers() -> Vec<u8> {
    [&[0x82, 0x87, 0x84, 0x01, HOST.len() as u8][..], HOST.as_bytes()].concat()
}

/// Sends this over and over until the other side has had enough; what it said last, and how often it was sent.
fn until_it_ends(mut tls: Tls, mut next: impl FnMut(u32) -> Vec<u8>) -> (Vec<u8>, u32) {
    let mut count = 0;
    while count < 200_000 && tls.write_all(&next(count)).is_ok() {
        count += 1;
    }
    let mut said = Vec::new();
    let _ = tls.sock.shutdown(Shutdown::Write);
    let _ = tls.read_to_end(&mut said);
    (said, count)
}

#[test]
fn req_e22_floods_of_http2_are_ended_and_others_go_on() {
    let proxied = Proxied::tls(&[HttpVersion::Http2]);
    // Streams that are opened and taken back at once.
    let (_, count) = until_it_ends(http2(&proxied), |n| {
        let stream = 2 * n + 1;
        [frame(1, 5, stream, &headers()), frame(3, 0, stream, &[0, 0, 0, 8])].concat()
    });
    assert!(count < 200_000, "rapid reset: {count}");
    // A head that goes on and on.
    let mut first = true;
    let (_, count) = until_it_ends(http2(&proxied), |_| match std::mem::take(&mut first) {
        true => frame(1, 1, 1, &headers()),
        false => frame(9, 0, 1, &[&[0, 1, b'x', 127, 0x81, 0x07][..], &[b'y'; 256]].concat()),
    });
    assert!(count < 20_000, "continuation: {count}");
    let asked = proxied.curl(&["--http2", "-f", "https://plain.example.test/"]).run();
    asked.expect_status(0);
}

#[test]
fn req_e22_whoever_does_not_read_is_not_written_to_without_bound() {
    let proxied = Proxied::tls(&[HttpVersion::Http2]);
    for kind in [4, 6] {
        let mut tls = http2(&proxied);
        tls.sock.set_nonblocking(true).expect("a socket");
        let payload: &[u8] = if kind == 4 { &[] } else { &[7; 8] };
        let many = frame(kind, 0, 0, payload).repeat(2000);
        let mut sent = 0_usize;
        // Each wants an answer, and nobody takes the answers: at some point no more is read here, or it is over.
        let mut idle = 0;
        while idle < 25 && sent < 256 << 20 {
            let wrote = tls.write(&many);
            let _ = tls.flush();
            match wrote {
                Ok(count @ 1..) if !tls.conn.wants_write() => (sent, idle) = (sent + count, 0),
                Ok(_) => {
                    idle += 1;
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    idle += 1;
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                Err(_) => break,
            }
        }
        assert!(sent < 256 << 20, "{kind}: {sent}");
    }
    proxied.curl(&["--http2", "-f", "https://plain.example.test/"]).run().expect_status(0);
}
