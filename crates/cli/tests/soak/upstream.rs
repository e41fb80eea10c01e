//! The hosts behind the proxy, good and bad, in plain threads. They note who came with which credential.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::scene::Manner;

/// A connection on which nothing is asked any more is closed, so that none are left when all is quiet.
const IDLE: Duration = Duration::from_secs(1);

pub struct Upstream {
    pub address: SocketAddr,
    /// Who answers here speaks no TLS.
    pub without_tls: SocketAddr,
    pub authority_pem: String,
    arrived: Arc<Mutex<Vec<Arrived>>>,
    open: Arc<AtomicUsize>,
}

#[derive(Debug, Clone)]
pub struct Arrived {
    pub number: u64,
    pub credential: String,
}

type Stream = StreamOwned<ServerConnection, TcpStream>;

impl Upstream {
    pub fn start() -> Self {
        let (config, authority_pem) = certificates();
        let arrived = Arc::new(Mutex::new(Vec::new()));
        let open = Arc::new(AtomicUsize::new(0));
        let (noted, counted) = (Arc::clone(&arrived), Arc::clone(&open));
        let address = listen(move |stream| {
            let Ok(connection) = ServerConnection::new(Arc::clone(&config)) else { return };
            counted.fetch_add(1, Ordering::Relaxed);
            // How a connection ends is the other side's business.
            let _ = serve(StreamOwned::new(connection, stream), &noted);
            counted.fetch_sub(1, Ordering::Relaxed);
        });
        let without_tls = listen(|mut stream| {
            let _ = stream
                .write_all(b"220 mail.example.test ESMTP\r\n")
                .and_then(|()| stream.read(&mut [0; 512]));
        });
        Self { address, without_tls, authority_pem, arrived, open }
    }

    /// Connections that are open now.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    pub fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().expect("no panic while noting").clone()
    }
}

fn listen(each: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("an address");
    let each = Arc::new(each);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let each = Arc::clone(&each);
            thread::spawn(move || each(stream));
        }
    });
    address
}

fn certificates() -> (Arc<ServerConfig>, String) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let authority = params.self_signed(&key).expect("an authority");
    let issuer = Issuer::new(params, key);
    let params = CertificateParams::new(Manner::ALL.map(|manner| manner.host().to_owned())).expect("names");
    let key = KeyPair::generate().expect("a key");
    let leaf = params.signed_by(&key, &issuer).expect("a certificate");
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let config = ServerConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], PrivatePkcs8KeyDer::from(key.serialize_der()).into());
    (Arc::new(config.expect("a certificate and its key")), authority.pem())
}

fn serve(mut stream: Stream, arrived: &Mutex<Vec<Arrived>>) -> io::Result<()> {
    stream.sock.set_read_timeout(Some(IDLE))?;
    loop {
        let head = head(&mut stream)?;
        let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        let number = head.split([' ', '/']).find_map(|word| word.parse().ok());
        let Some(number) = number else { return Ok(()) };
        let credential = field("authorization: ").trim_start_matches("Bearer ").to_owned();
        arrived
            .lock()
            .expect("no panic while noting")
            .push(Arrived { number, credential: credential.clone() });
        match Manner::of(field("host: ")) {
            Some(Manner::Well) => answer(&mut stream, &format!("you came with {credential}\n"))?,
            Some(Manner::Slowly) => slowly(&mut stream)?,
            Some(Manner::Resets) => return reset(&stream.sock),
            Some(Manner::BreaksOff) => {
                return stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhalf of ");
            }
            Some(Manner::Garbles) => return stream.write_all(b"\x00\xffnot what was asked for\r\n\r\n"),
            Some(Manner::Stalls) => return wait_for_the_end(&mut stream),
            _ => return Ok(()),
        }
    }
}

/// In small letters, without the case of what they hold.
fn head(stream: &mut Stream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut buffer = [0; 2048];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut buffer)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            count => head.extend_from_slice(&buffer[..count]),
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    Ok(head.lines().map(small_name).collect::<Vec<_>>().join("\n"))
}

fn small_name(line: &str) -> String {
    match line.split_once(": ") {
        Some((name, value)) => format!("{}: {value}", name.to_ascii_lowercase()),
        None => line.to_owned(),
    }
}

fn answer(stream: &mut Stream, body: &str) -> io::Result<()> {
    let length = body.len();
    stream.write_all(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}").as_bytes())
}

fn slowly(stream: &mut Stream) -> io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
    for _ in 0..4 {
        thread::sleep(Duration::from_millis(20));
        stream.write_all(b"5\r\npiece\r\n")?;
    }
    stream.write_all(b"0\r\n\r\n")
}

fn reset(socket: &TcpStream) -> io::Result<()> {
    Ok(rustix::net::sockopt::set_socket_linger(socket, Some(Duration::ZERO))?)
}

fn wait_for_the_end(stream: &mut Stream) -> io::Result<()> {
    stream.sock.set_read_timeout(Some(Duration::from_secs(30)))?;
    while stream.read(&mut [0; 64])? > 0 {}
    Ok(())
}
