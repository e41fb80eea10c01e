//! A request to a host of each provider, through the running proxy: the whole way, without a credential.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use cofferdam_egress::Authority;
use cofferdam_policy::provider::Provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// A host may be far away, and the proxy tries more than one of its addresses.
const PATIENCE: Duration = Duration::from_secs(20);
const LONGEST_HEAD: u64 = 64 << 10;

/// The host of a provider that can be asked for by its name.
pub fn host_of(provider: &Provider) -> Option<(&str, u16)> {
    let host = provider.hosts.iter().find(|host| !host.contains('*'))?;
    Some((host, provider.ports.first().copied().unwrap_or(443)))
}

/// Why a host was not reached: the proxy's own reason, or what became of the connection to the proxy.
pub fn reach(
    listen: SocketAddr,
    authority: &Authority,
    (host, port): (&str, u16),
) -> Result<(), (String, String)> {
    let failed = |error: io::Error| (error.to_string(), "cofferdam egress restart".to_owned());
    let mut stream = TcpStream::connect_timeout(&listen, PATIENCE).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    write!(stream, "CONNECT {host}:{port} HTTP/1.1\r\nhost: {host}:{port}\r\n\r\n").map_err(failed)?;
    refusal(&head(&mut stream).map_err(failed)?)?;
    let tls = client(authority, host).map_err(|error| failed(io::Error::other(error)))?;
    let mut stream = StreamOwned::new(tls, stream);
    write!(stream, "HEAD / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").map_err(failed)?;
    refusal(&head(&mut stream).map_err(failed)?)
}

fn client(
    authority: &Authority,
    host: &str,
) -> Result<ClientConnection, Box<dyn std::error::Error + Send + Sync>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority.certificate_pem().as_bytes()) {
        roots.add(certificate?)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(ClientConnection::new(Arc::new(config), ServerName::try_from(host.to_owned())?)?)
}

/// Up to the empty line.
fn head(stream: &mut impl Read) -> io::Result<String> {
    let (mut bytes, mut byte) = (Vec::new(), [0]);
    while !bytes.ends_with(b"\r\n\r\n") && (bytes.len() as u64) < LONGEST_HEAD {
        if stream.read(&mut byte)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn refusal(head: &str) -> Result<(), (String, String)> {
    let Some(reason) = head.lines().find_map(|line| line.strip_prefix("cofferdam-reason: ")) else {
        return Ok(());
    };
    let reason = reason.trim_end();
    let hint = match reason {
        "upstream-untrusted" => {
            "add the authority of the host to `upstream_ca_files` in the section [egress]"
        }
        "address-denied" => "the host has a private address; if that is meant, write it in [egress.resolve]",
        "name-not-found" | "resolver-failed" => "check the name server, or set `upstream_proxy`",
        "record-unavailable" => "cofferdam egress doctor --check record",
        _ => "check the network, or set `upstream_proxy`",
    };
    Err((reason.to_owned(), hint.to_owned()))
}
