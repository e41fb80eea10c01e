//! The bare library that others build such proxies on: it intercepts and passes on, and decides nothing.

use std::path::Path;

use hudsucker::certificate_authority::RcgenAuthority;
use hudsucker::rcgen::{Issuer, KeyPair};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::connect::HttpConnector;
use tokio::net::TcpListener;

use super::certificates;
use super::role::Wire;

/// `wire` is what it speaks with the upstream: the version of the client, as ours does. Left to itself it takes HTTP/2,
/// and one connection for all clients would be measured against one for each.
pub async fn serve(listener: TcpListener, directory: &Path, wire: Wire) {
    let read = |name: &str| std::fs::read_to_string(directory.join(name)).expect("a file of ours");
    let key = KeyPair::from_pem(&read("ca.key")).expect("a key");
    let issuer = Issuer::from_ca_cert_pem(&read("ca.pem"), key).expect("an authority");
    let provider = (*certificates::one_cipher()).clone();
    let authority = RcgenAuthority::new(issuer, 1000, provider);
    let mut config = (*certificates::client(&[certificates::authority(directory)], b"")).clone();
    config.alpn_protocols.clear();
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let connector = HttpsConnectorBuilder::new().with_tls_config(config).https_or_http().enable_http1();
    let connector = match wire {
        Wire::Http1 => connector.wrap_connector(tcp),
        Wire::Http2 => connector.enable_http2().wrap_connector(tcp),
    };
    let proxy = hudsucker::Proxy::builder()
        .with_listener(listener)
        .with_ca(authority)
        .with_http_connector(connector)
        .build()
        .expect("a proxy");
    let _ = proxy.start().await;
}
