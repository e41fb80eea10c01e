//! Against an upstream that is written by hand, byte by byte: WebSocket, and connections that go away.

mod answers;
mod early;
mod http2;
mod leaving;
mod proxied;
mod sockets;
mod splits;
mod trailers;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

use cofferdam_testkit::upstream::{HttpVersion, Transport};
use proxied::{HOST, Proxied, SECRET, reason};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

/// Serves connections one after the other with what the test says, and hands back what the last one returned.
fn upstream<T: Send + 'static>(
    serve: impl FnOnce(&TcpListener) -> T + Send + 'static,
) -> (SocketAddr, JoinHandle<T>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    (address, std::thread::spawn(move || serve(&listener)))
}

fn head(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a whole head");
        bytes.push(byte[0]);
    }
    String::from_utf8(bytes).expect("text")
}

fn proxied(socket: SocketAddr) -> Proxied {
    let proxied = Proxied::beside(Transport::Tls(vec![HttpVersion::Http1]), "", Some(socket));
    // From here on the credential is known, and looked for.
    let header = format!("Authorization: Bearer {}", proxied.token(0).expose());
    proxied.curl(&["-f", "-H", &header, &proxied.url("/")]).run().expect_status(0);
    proxied
}

const ASK: &[u8] =
    b"GET /chat HTTP/1.1\r\nHost: socket.example.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n";
const SWITCH: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

#[test]
fn req_e26_a_websocket_is_spliced_and_what_comes_back_is_redacted() {
    let (address, upstream) = upstream(|listener| {
        let (mut stream, _) = listener.accept().expect("a connection");
        let head = head(&mut stream);
        stream.write_all(SWITCH).expect("a client");
        let mut frame = [0; 5];
        stream.read_exact(&mut frame).expect("a frame");
        let told = [&[0x81, SECRET.len() as u8], SECRET.as_bytes(), &[0x81, 2], b"ok"].concat();
        stream.write_all(&told).expect("a client");
        // The client says that it has no more; we have the last word.
        assert_eq!(stream.read(&mut [0; 1]).expect("an end"), 0);
        stream.write_all(&[0x88, 0]).expect("a client");
        (head, frame)
    });
    let proxied = proxied(address);
    let mut client = TcpStream::connect(proxied.address).expect("the proxy listens");
    client.write_all(ASK).expect("the proxy reads");
    let answer = head(&mut client);
    assert!(
        answer.starts_with("HTTP/1.1 101 ") && answer.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
        "{answer}"
    );
    // Not a request in any way.
    client.write_all(b"\x81\x03\0\r\n").expect("the proxy reads");
    let mut got = vec![0; 2 + SECRET.len() + 4];
    client.read_exact(&mut got).expect("both frames");
    let stars = "*".repeat(SECRET.len());
    assert_eq!(got, [&[0x81, SECRET.len() as u8], stars.as_bytes(), &[0x81, 2], b"ok"].concat());
    client.shutdown(std::net::Shutdown::Write).expect("half a connection");
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).expect("the end");
    assert_eq!(rest, [0x88, 0]);
    let (head, frame) = upstream.join().expect("the upstream");
    assert_eq!(&frame, b"\x81\x03\0\r\n");
    assert!(head.contains("Upgrade: websocket\r\n") && !head.contains("permessage-deflate"), "{head}");
}

#[test]
fn a_connection_that_went_away_unused_is_replaced_and_nothing_is_sent_twice() {
    let (address, upstream) = upstream(|listener| {
        let mut heads = Vec::new();
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().expect("a connection");
            heads.push(head(&mut stream));
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").expect("a client");
        }
        let (mut stream, _) = listener.accept().expect("a connection");
        heads.push(head(&mut stream));
        // Taken in, and never answered: this one must not come again.
        drop(stream);
        heads
    });
    let proxied = proxied(address);
    let ask = |path: &str| {
        proxied.raw(format!("POST {path} HTTP/1.1\r\nHost: socket.example.test\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx"))
    };
    assert!(ask("/one").ends_with("ok"));
    assert!(ask("/two").ends_with("ok"));
    let lost = ask("/three");
    assert_eq!(reason(&lost), Some("upstream-closed"), "{lost}");
    assert!(proxied.record().contains("\"failure\":\"upstream-closed\""));
    let heads = upstream.join().expect("the upstream");
    let lines: Vec<_> = heads.iter().filter_map(|head| head.lines().next()).collect();
    assert_eq!(lines, ["POST /one HTTP/1.1", "POST /two HTTP/1.1", "POST /three HTTP/1.1"]);
}

#[test]
fn req_e02_a_handshake_for_another_host_than_the_tunnels_is_refused() {
    let proxied = Proxied::tls(&[HttpVersion::Http1]);
    let handshake = |name: &str| {
        let mut stream = TcpStream::connect(proxied.address).expect("the proxy listens");
        stream.write_all(format!("CONNECT {HOST}:443 HTTP/1.1\r\n\r\n").as_bytes()).expect("the proxy reads");
        assert!(head(&mut stream).starts_with("HTTP/1.1 200 "));
        let mut roots = RootCertStore::empty();
        let ca = proxied.home.read("ca.pem");
        roots.add(CertificateDer::from_pem_slice(ca.as_bytes()).expect("PEM")).expect("a certificate");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(name.to_owned()).expect("a name");
        let mut client = ClientConnection::new(Arc::new(config), name).expect("a client");
        client.complete_io(&mut stream).map(|_| ())
    };
    assert!(handshake(HOST).is_ok());
    let refused = handshake("other.example.test").expect_err("another host, though an allowed one");
    assert!(refused.to_string().contains("AccessDenied"), "{refused}");
    assert!(proxied.upstream.connections().is_empty());
}
