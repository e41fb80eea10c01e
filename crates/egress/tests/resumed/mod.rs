//! Clients that come again: a handshake that was done once is not done again.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use cofferdam_testkit::upstream::HttpVersion;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned};
use rustls::{SupportedProtocolVersion, version};

use crate::proxied::Proxied;

const HOST: &str = "plain.example.test";

type Secure = StreamOwned<ClientConnection, TcpStream>;

fn speaking(proxied: &Proxied, version: &'static SupportedProtocolVersion) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let ca = proxied.home.read("ca.pem");
    roots.add(CertificateDer::from_pem_slice(ca.as_bytes()).expect("PEM")).expect("a certificate");
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[version])
        .expect("a version")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

fn connect(proxied: &Proxied, config: &Arc<ClientConfig>) -> Secure {
    let mut stream = TcpStream::connect(proxied.address).expect("the proxy listens");
    stream.write_all(format!("CONNECT {HOST}:443 HTTP/1.1\r\n\r\n").as_bytes()).expect("the proxy reads");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a whole head");
        answer.push(byte[0]);
    }
    let name = ServerName::try_from(HOST).expect("a name");
    StreamOwned::new(ClientConnection::new(config.clone(), name).expect("a client"), stream)
}

/// One request to its end.
fn ask(client: &mut Secure) {
    write!(client, "GET / HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n").expect("the proxy reads");
    let mut answer = String::new();
    client.read_to_string(&mut answer).expect("an answer to its end");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn req_e26_a_client_that_comes_again_resumes_its_handshake() {
    for version in [&version::TLS13, &version::TLS12] {
        let proxied = Proxied::tls(&[HttpVersion::Http1]);
        let config = speaking(&proxied, version);
        for expected in [HandshakeKind::Full, HandshakeKind::Resumed, HandshakeKind::Resumed] {
            let mut client = connect(&proxied, &config);
            ask(&mut client);
            assert_eq!(client.conn.handshake_kind(), Some(expected), "{version:?}");
        }
    }
}

/// The ticket has to go out in front of the farewell, which is all that is said here.
#[test]
fn req_e26_a_client_that_asks_nothing_hears_a_farewell_in_order() {
    let proxied = Proxied::tls(&[HttpVersion::Http1]);
    let config = speaking(&proxied, &version::TLS13);
    let mut client = connect(&proxied, &config);
    while client.conn.is_handshaking() {
        client.conn.complete_io(&mut client.sock).expect("a handshake");
    }
    client.conn.send_close_notify();
    let mut nothing = Vec::new();
    client.read_to_end(&mut nothing).expect("an end in due form");
    assert_eq!(nothing, b"");
}
