//! The client of all of them: bytes over TLS, read as far as their length says.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::certificates::{COLD, HOST};

/// How to get to the upstream: directly, or through a proxy.
#[derive(Clone)]
pub struct Way {
    pub proxy: Option<SocketAddr>,
    pub upstream: SocketAddr,
    pub tls: Arc<ClientConfig>,
    /// What stands in `Authorization`.
    pub token: String,
}

pub struct Connection {
    pub stream: TlsStream<TcpStream>,
    buffer: Vec<u8>,
}

impl Way {
    pub async fn open(&self) -> io::Result<Connection> {
        self.open_to(HOST).await
    }

    /// A tunnel to this host, and the handshake in it.
    async fn open_to(&self, host: &str) -> io::Result<Connection> {
        let mut tcp = TcpStream::connect(self.proxy.unwrap_or(self.upstream)).await?;
        tcp.set_nodelay(true)?;
        let mut buffer = Vec::with_capacity(1024);
        if self.proxy.is_some() {
            let port = self.upstream.port();
            let asked = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n");
            tcp.write_all(asked.as_bytes()).await?;
            while !buffer.ends_with(b"\r\n\r\n") {
                if tcp.read_buf(&mut buffer).await? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            assert!(buffer.starts_with(b"HTTP/1.1 200") || buffer.starts_with(b"HTTP/1.0 200"));
            buffer.clear();
        }
        let name = ServerName::try_from(host.to_owned()).expect("a name");
        let stream = TlsConnector::from(self.tls.clone()).connect(name, tcp).await?;
        Ok(Connection { stream, buffer })
    }

    pub fn request(&self, path: &str) -> Vec<u8> {
        let (port, token) = (self.upstream.port(), &self.token);
        format!(
            "GET {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\nAuthorization: Bearer {token}\r\nUser-Agent: bench/1\r\n\
             Accept: */*\r\nContent-Type: application/json\r\nAnthropic-Version: 2023-06-01\r\n\r\n"
        )
        .into_bytes()
    }

    pub fn upload(&self, length: usize) -> Vec<u8> {
        let request = String::from_utf8(self.request("/upload")).expect("text");
        let head = request.replacen("GET", "POST", 1);
        format!("{}content-length: {length}\r\n\r\n", head.trim_end_matches("\r\n").to_owned() + "\r\n")
            .into_bytes()
    }
}

impl Connection {
    pub async fn exchange(&mut self, request: &[u8]) -> io::Result<()> {
        self.stream.write_all(request).await?;
        self.answer().await.map(drop)
    }

    /// Reads one answer to its end, throws it away, and says how long its body was: who answers something else is not
    /// faster.
    pub async fn answer(&mut self) -> io::Result<usize> {
        let end = loop {
            if let Some(at) = memchr::memmem::find(&self.buffer, b"\r\n\r\n") {
                break at + 4;
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        };
        let head = &self.buffer[..end];
        assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&self.buffer));
        let length = length(head).expect("a length");
        let mut left = length.saturating_sub(self.buffer.len() - end);
        self.buffer.clear();
        self.buffer.reserve(if left > 0 { 64 << 10 } else { 0 });
        while left > 0 {
            self.buffer.clear();
            match self.stream.read_buf(&mut self.buffer).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => left -= count.min(left),
            }
        }
        self.buffer.clear();
        Ok(length)
    }

    /// What has come and was not read as an answer.
    pub async fn more(&mut self) -> io::Result<&mut Vec<u8>> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(&mut self.buffer)
    }
}

fn length(head: &[u8]) -> Option<usize> {
    head.split(|byte| *byte == b'\n').find_map(|line| {
        let (name, value) = line.split_at_checked(15)?;
        let number = || std::str::from_utf8(value).ok()?.trim().parse().ok();
        name.eq_ignore_ascii_case(b"content-length:").then(number)?
    })
}

/// What a stretch of time brought.
#[derive(Debug, Clone, Copy)]
pub struct Done {
    pub count: u64,
    pub time: Duration,
}

impl Done {
    pub fn seconds_each(self) -> f64 {
        self.time.as_secs_f64() / self.count.max(1) as f64
    }
}

/// Asks on all connections at once, over and over, for a while.
pub async fn keep_asking(connections: &mut Vec<Connection>, request: &[u8], window: Duration) -> Done {
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let start = Instant::now();
    let tasks: Vec<_> = connections
        .drain(..)
        .map(|mut connection| {
            let (stop, count, request) = (stop.clone(), count.clone(), request.to_vec());
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    connection.exchange(&request).await.expect("an answer");
                    count.fetch_add(1, Ordering::Relaxed);
                }
                connection
            })
        })
        .collect();
    tokio::time::sleep(window).await;
    let done = Done { count: count.load(Ordering::Relaxed), time: start.elapsed() };
    stop.store(true, Ordering::Relaxed);
    for task in tasks {
        connections.push(task.await.expect("no panic"));
    }
    done
}

/// Where tunnels go.
#[derive(Debug, Clone, Copy)]
pub enum Hosts {
    /// To the upstream, which is asked once in each.
    Warm,
    /// Each to a host that was never named before; without a proxy to the upstream, which has its certificate already.
    /// Nothing is asked there: a proxy looks a name up for a request alone.
    Cold { round: usize },
}

impl Hosts {
    async fn visit(self, way: &Way, turn: u64) -> io::Result<()> {
        match self {
            Self::Warm => way.open().await?.exchange(&way.request("/")).await,
            Self::Cold { .. } if way.proxy.is_none() => way.open().await.map(drop),
            Self::Cold { round } => way.open_to(&format!("h{round}-{turn}.{COLD}")).await.map(drop),
        }
    }
}

/// Opens a tunnel and closes it, over and over.
pub async fn keep_opening(way: &Way, hosts: Hosts, (at_once, window): (usize, Duration)) -> Done {
    let turns = Arc::new(AtomicU64::new(0));
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let start = Instant::now();
    let tasks: Vec<_> = (0..at_once)
        .map(|_| {
            let (stop, count, way, turns) = (stop.clone(), count.clone(), way.clone(), turns.clone());
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let turn = turns.fetch_add(1, Ordering::Relaxed);
                    hosts.visit(&way, turn).await.expect("a tunnel");
                    count.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    tokio::time::sleep(window).await;
    let done = Done { count: count.load(Ordering::Relaxed), time: start.elapsed() };
    stop.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.expect("no panic");
    }
    done
}
