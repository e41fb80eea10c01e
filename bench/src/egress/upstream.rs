//! The server behind every proxy. It does as little as it can, so that what a proxy costs shows.
//!
//! HTTP/1.1 is answered by hand: by length, on a path that says what is wanted. HTTP/2 is the library's.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// As an answer of a model might begin.
pub const BODY: &str = r#"{"id":"msg_01XFDUDYJgAACzvnptvVoYEL","type":"message","role":"assistant","content":[{"type":"text","text":"The quick brown fox jumps over the lazy dog, and nobody minds."}],"model":"claude","stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":2095,"output_tokens":503}}"#;
/// How many events a stream has, and how far apart they are.
pub const EVENTS: usize = 100;
pub const EVENTS_APART: Duration = Duration::from_millis(2);

pub async fn serve(listener: TcpListener, acceptor: TlsAcceptor) -> io::Result<()> {
    let big: Arc<[u8]> = vec![b'x'; 1 << 16].into();
    loop {
        let (stream, _) = listener.accept().await?;
        let (acceptor, big) = (acceptor.clone(), big.clone());
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            let _ = if h2 { streams(stream).await } else { requests(stream, &big).await };
        });
    }
}

async fn streams(stream: TlsStream<TcpStream>) -> io::Result<()> {
    let service = service_fn(|_: Request<Incoming>| async {
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(BODY.as_bytes()))))
    });
    hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), service)
        .await
        .map_err(io::Error::other)
}

async fn requests(mut stream: TlsStream<TcpStream>, big: &[u8]) -> io::Result<()> {
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{BODY}",
        BODY.len()
    );
    let mut buffer = Vec::with_capacity(64 << 10);
    loop {
        let end = loop {
            if let Some(at) = memchr::memmem::find(&buffer, b"\r\n\r\n") {
                break at + 4;
            }
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        };
        let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
        let mut left = length(&head).saturating_sub(buffer.len() - end);
        buffer.clear();
        while left > 0 {
            buffer.clear();
            match stream.read_buf(&mut buffer).await? {
                0 => return Ok(()),
                count => left -= count.min(left),
            }
        }
        buffer.clear();
        let path = head.split(' ').nth(1).unwrap_or_default();
        match path.strip_prefix("/bytes/").and_then(|count| count.parse().ok()) {
            Some(count) => bytes(&mut stream, count, big).await?,
            None if path == "/events" => events(&mut stream).await?,
            None => stream.write_all(answer.as_bytes()).await?,
        }
    }
}

fn length(head: &str) -> usize {
    let line = head.split("content-length:").nth(1).and_then(|rest| rest.lines().next());
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

async fn bytes(stream: &mut TlsStream<TcpStream>, mut count: usize, big: &[u8]) -> io::Result<()> {
    stream.write_all(format!("HTTP/1.1 200 OK\r\ncontent-length: {count}\r\n\r\n").as_bytes()).await?;
    while count > 0 {
        let piece = count.min(big.len());
        stream.write_all(&big[..piece]).await?;
        count -= piece;
    }
    // What the connection had no room for is still in TLS, and nobody would send it.
    stream.flush().await
}

/// Each event says when it was sent.
async fn events(stream: &mut TlsStream<TcpStream>) -> io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    for _ in 0..EVENTS {
        tokio::time::sleep(EVENTS_APART).await;
        let event = format!("data: {:>24}\n\n", nanoseconds());
        stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).await?;
    }
    stream.write_all(b"0\r\n\r\n").await
}

/// One clock for both ends, which are on one machine.
pub fn nanoseconds() -> u128 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}
