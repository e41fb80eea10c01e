//! Who uses the shared port: one connection for a few requests, then another one.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use cofferdam_testkit::processes::PATIENCE;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::bed::Bed;
use super::clock;
use super::scene::{CANARIES, Manner};
use super::tally::Tally;

/// How many requests a connection is used for.
const USES: usize = 12;

pub struct User<'a> {
    bed: &'a Bed,
    tally: &'a Tally,
    open: Option<Open>,
}

struct Open {
    manner: Manner,
    stream: StreamOwned<ClientConnection, TcpStream>,
    left: usize,
}

/// How far an exchange came.
enum Came {
    /// A status, and the reason if the proxy gave one.
    Answer { end: String, closes: bool },
    /// Into the middle of an answer.
    Midway,
}

impl<'a> User<'a> {
    pub fn new(bed: &'a Bed, tally: &'a Tally) -> Self {
        Self { bed, tally, open: None }
    }

    /// Asks once; what came of it.
    pub fn ask(&mut self, manner: Manner) -> String {
        let (number, began) = (self.tally.number(), Instant::now());
        let (end, detail) = match self.exchange(manner, number) {
            Ok(end) => (end, String::new()),
            Err(error) => {
                self.open = None;
                let hangs = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
                (if hangs { "hangs" } else { "lost" }.to_owned(), error.to_string())
            }
        };
        self.tally.add(began, number, manner, (&end, &detail));
        end
    }

    fn exchange(&mut self, manner: Manner, number: u64) -> io::Result<String> {
        if self.open.as_ref().is_none_or(|open| open.manner != manner || open.left == 0) {
            self.open = None;
            match self.connect(manner)? {
                Ok(open) => self.open = Some(open),
                Err(refused) => return Ok(refused),
            }
        }
        let open = self.open.as_mut().expect("it was opened just now");
        open.left -= 1;
        let (host, token) = (manner.host(), self.bed.token());
        let request =
            format!("GET /{number} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\r\n");
        open.stream.write_all(request.as_bytes())?;
        match answer(&mut open.stream)? {
            Came::Midway => {
                self.open = None;
                Ok("broken off".to_owned())
            }
            Came::Answer { end, closes } => {
                self.open = self.open.take().filter(|_| !closes);
                Ok(end)
            }
        }
    }

    /// A tunnel, or why there is none.
    fn connect(&self, manner: Manner) -> io::Result<Result<Open, String>> {
        let host = manner.host();
        let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, self.bed.port))?;
        socket.set_read_timeout(Some(PATIENCE / 2))?;
        write!(socket, "CONNECT {host}:443 HTTP/1.1\r\nhost: {host}:443\r\n\r\n")?;
        match answer(&mut socket)? {
            Came::Answer { end, .. } if end == "200" => {}
            Came::Answer { end, .. } => return Ok(Err(end)),
            Came::Midway => return Err(ErrorKind::UnexpectedEof.into()),
        }
        let name = ServerName::try_from(host).expect("a host name");
        let connection = ClientConnection::new(self.trust()?, name).map_err(io::Error::other)?;
        Ok(Ok(Open { manner, stream: StreamOwned::new(connection, socket), left: USES }))
    }

    /// What the proxy shows must be valid by the clock that the proxy goes by.
    fn trust(&self) -> io::Result<Arc<ClientConfig>> {
        let mut roots = RootCertStore::empty();
        for certificate in
            CertificateDer::pem_file_iter(self.bed.disk.path("ca/ca.crt")).map_err(io::Error::other)?
        {
            roots.add(certificate.map_err(io::Error::other)?).map_err(io::Error::other)?;
        }
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let config = ClientConfig::builder_with_details(provider.into(), Arc::new(ByTheProxysClock));
        let config = config.with_safe_default_protocol_versions().map_err(io::Error::other)?;
        Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
    }
}

#[derive(Debug)]
struct ByTheProxysClock;

impl TimeProvider for ByTheProxysClock {
    fn current_time(&self) -> Option<UnixTime> {
        let now = UnixTime::now().as_secs().checked_add_signed(clock::moved_by())?;
        Some(UnixTime::since_unix_epoch(std::time::Duration::from_secs(now)))
    }
}

fn answer(stream: &mut impl Read) -> io::Result<Came> {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let so_far = String::from_utf8_lossy(&text).into_owned();
        if let Some((head, body)) = so_far.split_once("\r\n\r\n") {
            assert!(!CANARIES.iter().any(|canary| so_far.contains(canary)), "a client got the key");
            let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
            let whole = match field("content-length: ").and_then(|length| length.parse::<usize>().ok()) {
                Some(length) => body.len() >= length,
                None => !head.contains("transfer-encoding") || body.ends_with("0\r\n\r\n"),
            };
            if whole {
                let status = head.split(' ').nth(1).unwrap_or_default();
                let end = field("cofferdam-reason: ").unwrap_or(status).to_owned();
                return Ok(Came::Answer { end, closes: field("connection: close").is_some() });
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) if so_far.contains("\r\n\r\n") => return Ok(Came::Midway),
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => text.extend_from_slice(&buffer[..count]),
            Err(error) => return Err(error),
        }
    }
}
