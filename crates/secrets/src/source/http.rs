//! A request to a store: one connection, one answer, a deadline and a cap for both.
//!
//! Stores are asked seldom and answer in a few hundred bytes, on a thread that may wait; an HTTP library with a runtime
//! of its own would be more than the rest of this crate.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use zeroize::Zeroizing;

const TIMEOUT: Duration = Duration::from_secs(15);
const ANSWER_CAP: usize = 1024 * 1024;

/// What went wrong between us and a store. Nothing that it said.
#[derive(Debug)]
pub enum HttpMistake {
    Address,
    NotFound(io::Error),
    NotReached(io::Error),
    Untrusted,
    /// An authority that was given cannot be read.
    Authority,
    BrokeOff(io::Error),
    TimedOut,
    Malformed,
    TooLong,
}

impl fmt::Display for HttpMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address => f.write_str("its address cannot be used"),
            Self::NotFound(cause) => write!(f, "its name cannot be looked up: {cause}"),
            Self::NotReached(cause) => write!(f, "it cannot be reached: {cause}"),
            Self::Untrusted => f.write_str("its certificate is not trusted"),
            Self::Authority => f.write_str("the file of its authority holds no certificate"),
            Self::BrokeOff(cause) => write!(f, "the connection broke off: {cause}"),
            Self::TimedOut => write!(f, "it did not answer in {} s", TIMEOUT.as_secs()),
            Self::Malformed => f.write_str("its answer cannot be read"),
            Self::TooLong => write!(f, "its answer is longer than {} KiB", ANSWER_CAP / 1024),
        }
    }
}

/// What is asked. Headers may hold credentials, and are wiped.
pub(super) struct Question<'a> {
    pub method: &'a str,
    /// `https://host:port/path`, or `http://` on this machine: the configuration sees to that.
    pub url: &'a str,
    pub headers: &'a [(&'a str, &'a [u8])],
    pub body: &'a [u8],
    /// PEM, besides the system's authorities.
    pub authorities: Option<&'a [u8]>,
}

pub(super) struct Reply {
    pub status: u16,
    pub body: Zeroizing<Vec<u8>>,
}

pub(super) fn ask(question: &Question<'_>) -> Result<Reply, HttpMistake> {
    let deadline = Instant::now() + TIMEOUT;
    let (secure, rest) = match question.url.split_once("://") {
        Some(("https", rest)) => (true, rest),
        Some(("http", rest)) => (false, rest),
        _ => return Err(HttpMistake::Address),
    };
    let slash = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(slash);
    let (host, port) = host_and_port(authority, secure)?;
    let stream = Timed { stream: connect(&host, port, deadline)?, deadline };
    let request = written(question, authority, path);
    match secure {
        false => exchange(stream, &request),
        true => {
            let name = ServerName::try_from(host).map_err(|_| HttpMistake::Address)?;
            let config = tls(question.authorities)?;
            let session = ClientConnection::new(config, name).map_err(|_| HttpMistake::Address)?;
            exchange(StreamOwned::new(session, stream), &request)
        }
    }
}

fn host_and_port(authority: &str, secure: bool) -> Result<(String, u16), HttpMistake> {
    let usual = if secure { 443 } else { 80 };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().map_err(|_| HttpMistake::Address)?),
        _ => (authority, usual),
    };
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    Ok((bare.to_owned(), port))
}

fn connect(host: &str, port: u16, deadline: Instant) -> Result<TcpStream, HttpMistake> {
    let mut failure = io::Error::from(io::ErrorKind::NotFound);
    for address in (host, port).to_socket_addrs().map_err(HttpMistake::NotFound)? {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(HttpMistake::TimedOut);
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(HttpMistake::NotReached(failure))
}

fn tls(authorities: Option<&[u8]>) -> Result<Arc<ClientConfig>, HttpMistake> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(pem) = authorities {
        let before = roots.len();
        roots.add_parsable_certificates(CertificateDer::pem_slice_iter(pem).filter_map(Result::ok));
        if roots.len() == before {
            return Err(HttpMistake::Authority);
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| HttpMistake::Authority)?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

fn written(question: &Question<'_>, authority: &str, path: &str) -> Zeroizing<Vec<u8>> {
    let path = if path.is_empty() { "/" } else { path };
    let first = format!(
        "{} {path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\naccept: application/json\r\n\
         user-agent: cofferdam\r\ncontent-length: {}\r\n",
        question.method,
        question.body.len()
    );
    let headers = question.headers.iter().map(|(name, value)| name.len() + value.len() + 4).sum::<usize>();
    let mut text = Zeroizing::new(Vec::with_capacity(first.len() + headers + question.body.len() + 2));
    text.extend_from_slice(first.as_bytes());
    for (name, value) in question.headers {
        for part in [name.as_bytes(), b": ", value, b"\r\n"] {
            text.extend_from_slice(part);
        }
    }
    text.extend_from_slice(b"\r\n");
    text.extend_from_slice(question.body);
    text
}

fn exchange(mut stream: impl Read + Write, request: &[u8]) -> Result<Reply, HttpMistake> {
    stream.write_all(request).and_then(|()| stream.flush()).map_err(broke_off)?;
    // Room for all there may be, at once: a buffer that grows leaves copies behind.
    let mut answer = Zeroizing::new(vec![0; ANSWER_CAP + 1]);
    let mut length = 0;
    loop {
        match stream.read(&mut answer[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Many servers close without the last word of TLS; whether all is there shows in the length.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(broke_off(error)),
        }
        if length > ANSWER_CAP {
            return Err(HttpMistake::TooLong);
        }
    }
    read_reply(&answer[..length])
}

fn broke_off(error: io::Error) -> HttpMistake {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match (tls, error.kind()) {
        (Some(rustls::Error::InvalidCertificate(_)), _) => HttpMistake::Untrusted,
        (None, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => HttpMistake::TimedOut,
        _ => HttpMistake::BrokeOff(error),
    }
}

/// A whole answer, up to where the connection was closed.
fn read_reply(bytes: &[u8]) -> Result<Reply, HttpMistake> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Response::new(&mut headers);
    let Ok(httparse::Status::Complete(start)) = head.parse(bytes) else { return Err(HttpMistake::Malformed) };
    let status = head.code.ok_or(HttpMistake::Malformed)?;
    if (100..200).contains(&status) {
        return read_reply(&bytes[start..]);
    }
    let header = |name: &str| head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
    let rest = &bytes[start..];
    let body = if header("transfer-encoding").is_some() {
        unchunked(rest).ok_or(HttpMistake::Malformed)?
    } else if let Some(length) = header("content-length") {
        let length =
            std::str::from_utf8(length.value).ok().and_then(|text| text.trim().parse::<usize>().ok());
        let whole = length.and_then(|length| rest.get(..length)).ok_or(HttpMistake::Malformed)?;
        Zeroizing::new(whole.to_vec())
    } else {
        Zeroizing::new(rest.to_vec())
    };
    Ok(Reply { status, body })
}

fn unchunked(mut bytes: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let mut body = Zeroizing::new(Vec::with_capacity(bytes.len()));
    loop {
        let Ok(httparse::Status::Complete((start, size))) = httparse::parse_chunk_size(bytes) else {
            return None;
        };
        let size = usize::try_from(size).ok()?;
        if size == 0 {
            return Some(body);
        }
        let end = start.checked_add(size)?;
        body.extend_from_slice(bytes.get(start..end)?);
        bytes = bytes.get(end..)?.strip_prefix(b"\r\n")?;
    }
}

/// A stream whose every step ends at the deadline.
struct Timed {
    stream: TcpStream,
    deadline: Instant,
}

impl Timed {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> Option<(u16, Vec<u8>)> {
        read_reply(text.as_bytes()).ok().map(|reply| (reply.status, reply.body.to_vec()))
    }

    #[test]
    fn answers_of_every_framing_are_read_and_short_ones_are_not() {
        assert_eq!(body("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokmore"), Some((200, b"ok".to_vec())));
        assert_eq!(body("HTTP/1.1 404 No\r\n\r\nall"), Some((404, b"all".to_vec())));
        assert_eq!(body("HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 204 No\r\n\r\n"), Some((204, Vec::new())));
        let chunked =
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n1;x=y\r\n!\r\n0\r\n\r\n";
        assert_eq!(body(chunked), Some((200, b"ok!".to_vec())));
        for short in [
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok",
            &chunked[..chunked.len() - 7],
            "HTTP/1.1 200",
            "",
        ] {
            assert_eq!(body(short), None, "{short:?}");
        }
    }
}
