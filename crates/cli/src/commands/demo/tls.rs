//! TLS for both sides of the demo, without an async runtime: one connection is one thread, or the only one.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// A server that speaks for one name, and the authority to trust, in PEM.
pub fn server(name: &str) -> io::Result<(Arc<ServerConfig>, String)> {
    let failed = |error: rcgen::Error| io::Error::other(error);
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let authority_key = KeyPair::generate().map_err(failed)?;
    let trusted = authority.self_signed(&authority_key).map_err(failed)?.pem();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().map_err(failed)?;
    let mut params = CertificateParams::new(vec![name.to_owned()]).map_err(failed)?;
    params.use_authority_key_identifier_extension = true;
    let certificate = params.signed_by(&key, &issuer).map_err(failed)?;
    let config = ServerConfig::builder_with_provider(default_provider().into())
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )
        .map_err(io::Error::other)?;
    Ok((Arc::new(config), trusted))
}

/// A client that trusts what a file holds, as every program in the sandbox does.
pub fn client(bundle: &Path) -> io::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    let pem = std::fs::read(bundle)?;
    for certificate in cofferdam_egress::upstream_ca::certificates(&pem).unwrap_or_default() {
        roots.add(certificate).map_err(io::Error::other)?;
    }
    let config = ClientConfig::builder_with_provider(default_provider().into())
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
