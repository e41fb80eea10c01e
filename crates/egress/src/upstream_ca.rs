//! Authorities that upstreams may have besides the system's.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

pub type UpstreamAuthority = CertificateDer<'static>;

/// The certificates of a file of `upstream_ca_files`; nothing if it holds none, or something that is broken.
pub fn certificates(pem: &[u8]) -> Option<Vec<UpstreamAuthority>> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().ok()?;
    (!certificates.is_empty()).then_some(certificates)
}
