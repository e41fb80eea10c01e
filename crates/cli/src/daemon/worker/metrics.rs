//! Counters in the format of Prometheus: names and numbers, nothing of what went through.

use std::fmt::Write;
use std::io;
use std::net::TcpListener;

use cofferdam_egress::Proxy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Handle;

/// Nobody needs longer to ask for them.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

pub fn text(proxy: &Proxy, clients: usize) -> String {
    let mut text = counts(proxy);
    head(&mut text, "cofferdam_clients", "gauge", "Sandboxes that are served now.");
    line(&mut text, "cofferdam_clients", "", clients as u64);
    text
}

fn counts(proxy: &Proxy) -> String {
    let mut text = String::new();
    for (name, help, what) in [
        ("cofferdam_requests", "Requests, by what became of them.", proxy.counts().requests()),
        ("cofferdam_tunnels", "Tunnels, by what became of them.", proxy.counts().tunnels()),
    ] {
        let name = format!("{name}_total");
        head(&mut text, &name, "counter", help);
        for (reason, count) in what {
            let outcome = match reason {
                None => "{outcome=\"allowed\"}".to_owned(),
                Some(reason) => format!("{{outcome=\"refused\",reason=\"{}\"}}", reason.name()),
            };
            line(&mut text, &name, &outcome, count);
        }
    }
    head(&mut text, "cofferdam_unrecorded_total", "counter", "Decisions that could not be recorded.");
    line(&mut text, "cofferdam_unrecorded_total", "", proxy.unrecorded());
    text
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a text does not fail.
    let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

fn line(text: &mut String, name: &str, labels: &str, value: u64) {
    let _ = writeln!(text, "{name}{labels} {value}");
}

/// Answers `GET /metrics` and `GET /health` on a listener of loopback.
pub fn serve(listener: TcpListener, proxy: &Proxy, runtime: &Handle) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let proxy = proxy.clone();
    runtime.spawn(async move {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let proxy = proxy.clone();
                    tokio::spawn(async move {
                        // Whoever asks too slowly or leaves is not answered.
                        let _ = tokio::time::timeout(PATIENCE, answer(stream, &proxy)).await;
                    });
                }
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            }
        }
    });
    Ok(())
}

async fn answer(mut stream: TcpStream, proxy: &Proxy) -> io::Result<()> {
    let mut head = Vec::with_capacity(1024);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > 8192 || stream.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let (status, body) = match head.split(|byte| *byte == b' ').nth(1) {
        _ if !head.starts_with(b"GET ") => ("405 Method Not Allowed", String::new()),
        Some(b"/metrics") => ("200 OK", counts(proxy)),
        Some(b"/health") => ("200 OK", "serving\n".to_owned()),
        _ => ("404 Not Found", String::new()),
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; version=0.0.4\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}
