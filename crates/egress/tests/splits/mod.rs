//! An answer with a secret in it, in every coding, divided at every byte.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

use crate::proxied::{Proxied, SECRET};
use cofferdam_testkit::upstream::{HttpVersion, Transport};

fn encoded(coding: &str, text: &[u8]) -> Vec<u8> {
    match coding {
        "gzip" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(text).expect("memory");
            encoder.finish().expect("memory")
        }
        "deflate" => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(text).expect("memory");
            encoder.finish().expect("memory")
        }
        "br" => {
            let mut out = Vec::new();
            let params = brotli::enc::BrotliEncoderParams { quality: 1, ..Default::default() };
            brotli::BrotliCompress(&mut &text[..], &mut out, &params).expect("memory");
            out
        }
        "zstd" => zstd::encode_all(text, 0).expect("memory"),
        _ => text.to_vec(),
    }
}

fn text() -> String {
    format!("{{\"key\": \"{SECRET}\"}}\n")
}

fn head(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        bytes.push(byte[0]);
    }
    String::from_utf8(bytes).ok()
}

/// Answers `/CODING/PLACE` with the text in that coding, in two pieces with that border.
fn upstream() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            stream.set_nodelay(true).expect("a socket");
            while let Some(head) = head(&mut stream) {
                let path = head.split(' ').nth(1).expect("a target");
                let mut parts = path.split('/').skip(1);
                let coding = parts.next().expect("a coding");
                let body = encoded(coding, text().as_bytes());
                let at = parts.next().and_then(|at| at.parse().ok()).unwrap_or(0).min(body.len());
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nTransfer-Encoding: chunked\r\n\r\n"
                );
                stream.write_all(head.as_bytes()).expect("a client");
                for piece in [&body[..at], &body[at..]].into_iter().filter(|piece| !piece.is_empty()) {
                    let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
                    stream.write_all(&chunk).expect("a client");
                }
                stream.write_all(b"0\r\n\r\n").expect("a client");
            }
        }
    });
    address
}

/// The body of an answer in chunks.
fn body(stream: &mut TcpStream) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a line");
            line.push(byte[0]);
        }
        let size = std::str::from_utf8(&line).expect("digits").trim();
        let mut piece = vec![0; usize::from_str_radix(size, 16).expect("a size") + 2];
        stream.read_exact(&mut piece).expect("a chunk");
        if piece.len() == 2 {
            return whole;
        }
        whole.extend_from_slice(&piece[..piece.len() - 2]);
    }
}

#[test]
fn req_e01_a_secret_is_redacted_in_every_coding_wherever_the_answer_is_divided() {
    let transport = Transport::Tls(vec![HttpVersion::Http1]);
    let limits = "[egress.limits]\nrequests_per_minute = 100000\n";
    let proxied = Proxied::beside(transport, limits, Some(upstream()));
    // From here on the credential is known, and looked for.
    let header = format!("Authorization: Bearer {}", proxied.token(0).expose());
    proxied.curl(&["-f", "-H", &header, &proxied.url("/")]).run().expect_status(0);
    let mut client = TcpStream::connect(proxied.address).expect("the proxy listens");
    let expected = text().replace(SECRET, "[redacted:api]");
    for coding in ["identity", "gzip", "deflate", "br", "zstd"] {
        for at in 0..encoded(coding, text().as_bytes()).len() {
            let ask = format!("GET /{coding}/{at} HTTP/1.1\r\nHost: socket.example.test\r\n\r\n");
            client.write_all(ask.as_bytes()).expect("the proxy reads");
            let answer = head(&mut client).expect("an answer");
            assert!(answer.starts_with("HTTP/1.1 200 "), "{coding} {at}: {answer}");
            assert_eq!(String::from_utf8_lossy(&body(&mut client)), expected, "{coding} {at}");
        }
    }
}
