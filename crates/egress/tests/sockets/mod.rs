//! WebSocket beyond its handshake: what is in the messages, and how it is asked for in HTTP/2.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;

use crate::proxied::{HOST, Proxied, SECRET};
use crate::{head, http2, proxied};
use cofferdam_testkit::processes::wait_until;
use cofferdam_testkit::upstream::{HttpVersion, Reply};
use http::{Method, Request};
use hyper::ext::Protocol;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// An upstream that agrees to a WebSocket and then does what the test says.
fn upstream<T: Send + 'static>(
    serve: impl FnOnce(TcpStream, String) -> T + Send + 'static,
) -> (SocketAddr, JoinHandle<T>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    let serving = move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let head = head(&mut stream);
        let key = head.lines().find_map(|line| line.strip_prefix("sec-websocket-key: "));
        let key = key.or_else(|| head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")));
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Accept: {}\r\n\r\n",
            accept(key.expect("a key"))
        );
        stream.write_all(answer.as_bytes()).expect("a client");
        serve(stream, head)
    };
    (address, std::thread::spawn(serving))
}

fn accept(key: &str) -> String {
    use base64::Engine;
    let text = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes());
    base64::engine::general_purpose::STANDARD.encode(hash)
}

fn opened(proxied: &Proxied) -> TcpStream {
    let mut client = TcpStream::connect(proxied.address).expect("the proxy listens");
    client
        .write_all(
            b"GET /chat HTTP/1.1\r\nHost: socket.example.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
              Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        )
        .expect("the proxy reads");
    assert!(head(&mut client).starts_with("HTTP/1.1 101 "));
    client
}

/// A client's frame, masked as it must be.
fn masked(first: u8, text: &[u8]) -> Vec<u8> {
    let mask = [3, 141, 59, 26];
    let text = text.iter().zip(mask.iter().cycle()).map(|(byte, key)| byte ^ key);
    let text: Vec<u8> = text.collect();
    [&[first, 0x80 | text.len() as u8][..], &mask, &text].concat()
}

#[test]
fn req_e29_a_token_in_a_message_ends_the_socket_though_frames_divide_it() {
    let (address, upstream) = upstream(|mut stream, _| {
        let mut got = Vec::new();
        let _ = stream.read_to_end(&mut got);
        got
    });
    let proxied = proxied(address);
    let token = proxied.token(0);
    let (one, two) = token.expose().as_bytes().split_at(11);
    let mut client = opened(&proxied);
    let harmless = masked(0x81, b"{\"op\": 1}");
    client.write_all(&harmless).expect("the proxy reads");
    client.write_all(&masked(1, one)).expect("the proxy reads");
    client.write_all(&masked(0x80, two)).expect("the proxy reads");
    let mut told = Vec::new();
    let _ = client.read_to_end(&mut told);
    assert_eq!(told, [0x88, 2, 0x03, 0xf0], "closed because of what is allowed");
    let got = upstream.join().expect("the upstream");
    // What came together with the rest of the token went nowhere together with it.
    assert!(got.is_empty() || got.starts_with(&harmless), "{got:?}");
    assert!(got.len() < harmless.len() + masked(1, one).len() + masked(0x80, two).len(), "{got:?}");
    wait_until("it is on record", || proxied.record().contains("\"failure\":\"token-wrong-host\""));
}

#[test]
fn req_e01_a_secret_in_a_message_is_covered_though_frames_divide_it() {
    let (address, upstream) = upstream(|mut stream, _| {
        for cut in 0..=SECRET.len() {
            let (one, two) = SECRET.as_bytes().split_at(cut);
            let frames = [&[1, one.len() as u8][..], one, &[0x89, 0, 0x80, two.len() as u8], two].concat();
            stream.write_all(&frames).expect("a client");
        }
    });
    let proxied = proxied(address);
    let mut client = opened(&proxied);
    let mut got = Vec::new();
    client.read_to_end(&mut got).expect("all frames");
    upstream.join().expect("the upstream");
    let mut expected = Vec::new();
    for cut in 0..=SECRET.len() {
        expected.extend([1, cut as u8]);
        expected.extend(vec![b'*'; cut]);
        expected.extend([0x89, 0, 0x80, (SECRET.len() - cut) as u8]);
        expected.extend(vec![b'*'; SECRET.len() - cut]);
    }
    assert_eq!(got, expected);
}

#[test]
fn req_e26_a_websocket_over_http2_is_one_over_http1_to_the_upstream() {
    let proxied = Proxied::tls(&[HttpVersion::Http2, HttpVersion::Http1]);
    proxied.upstream.route("/chat", Reply::Socket);
    let told = "*".repeat("Bearer ".len() + SECRET.len());
    let expected = [&[0x81, told.len() as u8], told.as_bytes(), &[0x81, 2], b"hi"].concat();
    let mut got = vec![0; expected.len()];
    let token = proxied.token(0);
    proxied.runtime.block_on(async {
        let mut socket = over_http2(&proxied, token.expose()).await;
        socket.write_all(&masked(0x81, b"hi")).await.expect("the proxy reads");
        socket.read_exact(&mut got).await.expect("both messages");
    });
    assert_eq!(&got[..2], &expected[..2]);
    let shown = String::from_utf8_lossy(&got[2..2 + told.len()]).into_owned();
    assert_eq!(shown, format!("Bearer {}", "*".repeat(SECRET.len())));
    assert_eq!(&got[2 + told.len()..], &expected[2 + told.len()..]);
    let [request] = &proxied.upstream.requests()[..] else { panic!("one request") };
    assert_eq!((request.version, request.target.as_str()), (HttpVersion::Http1, "/chat?room=1"));
    assert_eq!(request.header("authorization"), Some(format!("Bearer {SECRET}").as_bytes()));
    assert_eq!(request.header("sec-websocket-protocol"), Some(&b"chat"[..]));
}

#[test]
fn req_e29_a_socket_ends_with_the_next_message_when_what_allowed_it_is_taken_back() {
    let proxied = Proxied::tls(&[HttpVersion::Http2, HttpVersion::Http1]);
    proxied.upstream.route("/chat", Reply::Socket);
    let token = proxied.token(0);
    let message = masked(0x81, b"hi");
    let echoed = |text: &[u8]| text.ends_with(&[0x81, 2, b'h', b'i']);
    let mut before = vec![0; 2 + "Bearer ".len() + SECRET.len() + 4];
    let mut after = Vec::new();
    proxied.runtime.block_on(async {
        let mut socket = over_http2(&proxied, token.expose()).await;
        socket.write_all(&message).await.expect("the proxy reads");
        socket.read_exact(&mut before).await.expect("its answer");
        proxied.proxy.tokens().revoke(token.expose());
        socket.write_all(&message).await.expect("the proxy reads");
        socket.read_to_end(&mut after).await.expect("its end");
    });
    assert!(echoed(&before), "{before:?}");
    assert_eq!(after, [0x88, 2, 0x03, 0xf0], "closed because of what is allowed");
    wait_until("it is on record", || proxied.record().contains("\"failure\":\"token-revoked\""));
}

/// Asks for a WebSocket as RFC 8441 has it.
async fn over_http2(proxied: &Proxied, token: &str) -> TokioIo<hyper::upgrade::Upgraded> {
    let mut sender = http2::connect(proxied, HOST).await;
    let request = Request::builder()
        .method(Method::CONNECT)
        .uri(format!("https://{HOST}/chat?room=1"))
        .extension(Protocol::from_static("websocket"))
        .header("authorization", format!("Bearer {token}"))
        .header("sec-websocket-version", "13")
        .header("sec-websocket-protocol", "chat")
        .header("sec-websocket-extensions", "permessage-deflate")
        .body(String::new())
        .expect("a request");
    let mut response = sender.send_request(request).await.expect("an answer");
    assert_eq!(response.status(), 200, "{:?}", response.headers());
    assert!(!response.headers().contains_key("upgrade"));
    TokioIo::new(hyper::upgrade::on(&mut response).await.expect("a socket"))
}
