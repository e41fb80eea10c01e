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

use super::certificates::HOST;

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
        let mut tcp = TcpStream::connect(self.proxy.unwrap_or(self.upstream)).await?;
        tcp.set_nodelay(true)?;
        let mut buffer = Vec::with_capacity(1024);
        if self.proxy.is_some() {
            let port = self.upstream.port();
            let asked = format!("CONNECT {HOST}:{port} HTTP/1.1\r\nHost: {HOST}:{port}\r\n\r\n");
            tcp.write_all(asked.as_bytes()).await?;
            while !buffer.ends_with(b"\r\n\r\n") {
                if tcp.read_buf(&mut buffer).await? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            assert!(buffer.starts_with(b"HTTP/1.1 200") || buffer.starts_with(b"HTTP/1.0 200"));
            buffer.clear();
        }
        let name = ServerName::try_from(HOST).expect("a name");
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
        self.answer().await
    }

    /// Reads one answer to its end, and throws it away.
    pub async fn answer(&mut self) -> io::Result<()> {
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
        let mut left = length(head).expect("a length").saturating_sub(self.buffer.len() - end);
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
        Ok(())
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

/// Opens a connection, asks once, closes it, over and over.
pub async fn keep_opening(way: &Way, at_once: usize, window: Duration) -> Done {
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let start = Instant::now();
    let tasks: Vec<_> = (0..at_once)
        .map(|_| {
            let (stop, count, way) = (stop.clone(), count.clone(), way.clone());
            tokio::spawn(async move {
                let request = way.request("/");
                while !stop.load(Ordering::Relaxed) {
                    let mut connection = way.open().await.expect("a connection");
                    connection.exchange(&request).await.expect("an answer");
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
