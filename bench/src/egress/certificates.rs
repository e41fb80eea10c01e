//! One authority for all that is measured, one cipher, and no resumption: every handshake costs the same.

use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{self, cipher_suite};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// The name of the upstream; every program on the machine knows where it is.
pub const HOST: &str = "localhost";
/// Names below this one mean nothing to anybody.
pub const COLD: &str = "cold.test";
/// Another one, for sandboxes, whose `localhost` is their own.
pub const SEALED: &str = "api.bench.test";

/// Writes the authority and the upstream's certificate: `ca.pem`, `ca.key`, `upstream.pem`, `upstream.key`.
pub fn create(directory: &Path) {
    let key = KeyPair::generate().expect("a key");
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    authority.distinguished_name.push(DnType::CommonName, "bench");
    let certificate = authority.self_signed(&key).expect("a certificate");
    let issuer = Issuer::from_params(&authority, &key);
    let leaf_key = KeyPair::generate().expect("a key");
    let leaf = CertificateParams::new([HOST, SEALED].map(str::to_owned)).expect("a name");
    let leaf = leaf.signed_by(&leaf_key, &issuer).expect("a certificate");
    for (name, text) in [
        ("ca.pem", certificate.pem()),
        ("ca.key", key.serialize_pem()),
        ("upstream.pem", leaf.pem()),
        ("upstream.key", leaf_key.serialize_pem()),
    ] {
        std::fs::write(directory.join(name), text).expect("a directory of our own");
    }
}

pub fn authority(directory: &Path) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(directory.join("ca.pem")).expect("PEM")
}

pub fn one_cipher() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        cipher_suites: vec![
            cipher_suite::TLS13_AES_128_GCM_SHA256,
            cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        ],
        kx_groups: vec![aws_lc_rs::kx_group::X25519],
        ..aws_lc_rs::default_provider()
    })
}

pub fn server(directory: &Path) -> Arc<ServerConfig> {
    let chain = vec![CertificateDer::from_pem_file(directory.join("upstream.pem")).expect("PEM")];
    let key = PrivateKeyDer::from_pem_file(directory.join("upstream.key")).expect("PEM");
    let mut config = ServerConfig::builder_with_provider(one_cipher())
        .with_safe_default_protocol_versions()
        .expect("the versions of the provider")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("a certificate and its key");
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.send_tls13_tickets = 0;
    Arc::new(config)
}

pub fn client(trusted: &[CertificateDer<'static>], protocol: &[u8]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for authority in trusted {
        roots.add(authority.clone()).expect("an authority");
    }
    let mut config = ClientConfig::builder_with_provider(one_cipher())
        .with_safe_default_protocol_versions()
        .expect("the versions of the provider")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    config.resumption = Resumption::disabled();
    Arc::new(config)
}
