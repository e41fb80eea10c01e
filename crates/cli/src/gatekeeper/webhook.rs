//! Questions carried to a webhook, and signed answers brought back.
//!
//! The question is the body of a POST. `cofferdam-timestamp` and the body are signed with the key that both sides have:
//! `cofferdam-signature: sha256=` and HMAC-SHA256 of `timestamp.body` in hexadecimal digits. An answer is heard only if it
//! is signed as well, over `digest.body` with the digest of the question, so that nobody on the way can make one up and
//! none can be used for another question. HTTP/1.0, because one answer is all there is to say.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

const LONGEST_REPLY: u64 = 64 << 10;
const BLOCK: usize = 64;

/// Where questions go, and what they are signed with.
pub struct Webhook {
    tls: bool,
    host: String,
    port: u16,
    path: String,
    key: Zeroizing<Vec<u8>>,
}

#[derive(Deserialize)]
struct Question {
    digest: String,
}

impl Webhook {
    /// `address` is `https://…`, or `http://…` on this machine.
    pub fn new(address: &str, key: Zeroizing<Vec<u8>>) -> Option<Self> {
        let (tls, rest) = match address.strip_prefix("https://") {
            Some(rest) => (true, rest),
            None => (false, address.strip_prefix("http://")?),
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().ok()?),
            None => (authority, if tls { 443 } else { 80 }),
        };
        let local = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
        let plain =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'@');
        let path = if path.is_empty() { "/" } else { path };
        (plain(host) && plain(path) && (tls || local)).then(|| Self {
            tls,
            host: host.to_owned(),
            port,
            path: path.to_owned(),
            key,
        })
    }

    /// Sends a question and waits for what is said, no longer than this.
    pub fn carry(&self, question: &[u8], timeout: Duration) -> Option<Vec<u8>> {
        let digest = serde_json::from_slice::<Question>(question).ok()?.digest;
        let reply = self.post(question, Instant::now() + timeout).ok()?;
        let (head, body) = split(&reply)?;
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?;
        let signature = lines.find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("cofferdam-signature").then(|| value.trim().to_owned())
        })?;
        let signed = self.signature(digest.as_bytes(), body);
        (status == "200" && same(&signature, &signed)).then(|| body.to_vec())
    }

    fn post(&self, question: &[u8], deadline: Instant) -> io::Result<Vec<u8>> {
        let timestamp =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()).to_string();
        let mut request = format!(
            "POST {} HTTP/1.0\r\nHost: {}:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             cofferdam-timestamp: {timestamp}\r\ncofferdam-signature: {}\r\n\r\n",
            self.path,
            self.host,
            self.port,
            question.len(),
            self.signature(timestamp.as_bytes(), question),
        )
        .into_bytes();
        request.extend_from_slice(question);
        let socket = Timed { socket: self.connect(deadline)?, deadline };
        if !self.tls {
            return exchange(socket, &request);
        }
        let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
        let connection = ClientConnection::new(Arc::new(trust()?), name).map_err(io::Error::other)?;
        exchange(StreamOwned::new(connection, socket), &request)
    }

    fn connect(&self, deadline: Instant) -> io::Result<TcpStream> {
        let host = self.host.trim_matches(['[', ']']);
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in (host, self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, left(deadline)?) {
                Ok(socket) => return Ok(socket),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn signature(&self, before: &[u8], body: &[u8]) -> String {
        let mac = hmac(&self.key, &[before, b".", body]);
        let digits: String = mac.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha256={digits}")
    }
}

/// A socket on which no wait outlasts the deadline.
struct Timed {
    socket: TcpStream,
    deadline: Instant,
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(Some(left(self.deadline)?))?;
        self.socket.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(Some(left(self.deadline)?))?;
        self.socket.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

fn exchange(mut stream: impl Read + Write, request: &[u8]) -> io::Result<Vec<u8>> {
    stream.write_all(request)?;
    stream.flush()?;
    let mut reply = Vec::new();
    match stream.take(LONGEST_REPLY).read_to_end(&mut reply) {
        // Some end the connection without saying goodbye; the signature tells whether all of it is there.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(reply),
        other => other.map(|_| reply),
    }
}

fn trust() -> io::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(config.map_err(io::Error::other)?.with_root_certificates(roots).with_no_client_auth())
}

fn split(reply: &[u8]) -> Option<(&str, &[u8])> {
    let end = reply.windows(4).position(|window| window == b"\r\n\r\n")?;
    Some((std::str::from_utf8(&reply[..end]).ok()?, &reply[end + 4..]))
}

/// Looks at every byte, wherever the first difference is.
fn same(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().zip(other.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

/// RFC 2104.
fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut block = Zeroizing::new([0; BLOCK]);
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let pass = |pad: u8, parts: &[&[u8]]| -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(block.map(|byte| byte ^ pad));
        parts.iter().for_each(|part| hash.update(part));
        hash.finalize().into()
    };
    let inner = pass(0x36, parts);
    pass(0x5c, &[&inner])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_that_of_the_standard() {
        // RFC 4231, test case 2.
        let mac = hmac(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
        assert_eq!(mac[..4], [0x5b, 0xdc, 0xc1, 0x46]);
        assert_eq!(mac[28..], [0x64, 0xec, 0x38, 0x43]);
    }

    #[test]
    fn only_addresses_that_nobody_on_the_way_can_read() {
        let good = |address| Webhook::new(address, Zeroizing::new(b"key".to_vec())).is_some();
        assert!(good("https://hooks.example.com/x") && good("http://127.0.0.1:8080/x"));
        assert!(!good("http://hooks.example.com/x") && !good("ftp://x") && !good("https:///x"));
    }
}
