//! Clients of HTTP/2 that trust the proxy.

use std::sync::Arc;

use crate::proxied::Proxied;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// TLS as such a client speaks it.
pub fn trusting(proxied: &Proxied) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let ca = proxied.home.read("ca.pem");
    roots.add(CertificateDer::from_pem_slice(ca.as_bytes()).expect("PEM")).expect("a certificate");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config)
}

/// A connection to a host, through a tunnel.
pub async fn connect(proxied: &Proxied, host: &'static str) -> SendRequest<String> {
    let tls = tunnel(proxied, host).await;
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(tls)).await.expect("HTTP/2");
    tokio::spawn(connection);
    sender
}

/// The same below HTTP/2.
pub async fn tunnel(proxied: &Proxied, host: &'static str) -> TlsStream<TcpStream> {
    let mut tcp = TcpStream::connect(proxied.address).await.expect("the proxy listens");
    tcp.write_all(format!("CONNECT {host}:443 HTTP/1.1\r\n\r\n").as_bytes()).await.expect("the proxy reads");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(tcp.read_u8().await.expect("a whole head"));
    }
    let connector = tokio_rustls::TlsConnector::from(trusting(proxied));
    let name = ServerName::try_from(host).expect("a name");
    connector.connect(name, tcp).await.expect("a handshake")
}
