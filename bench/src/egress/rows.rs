//! What is measured.

use std::time::{Duration, Instant};

use cofferdam_bench::harness::{Bench, Unit};
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::AsyncWriteExt;

use super::certificates::HOST;
use super::client::{Connection, Done, Hosts, Way, keep_asking, keep_opening};
use super::role::Wire;
use super::{Contender, Field, upstream};

const ROUNDS: usize = 5;
const WINDOW: Duration = Duration::from_millis(600);
const BIG: usize = 256 << 20;
const IDLE_TUNNELS: usize = 2000;

/// What the contenders took, a list of samples for each.
struct Samples {
    times: Vec<(String, Vec<f64>)>,
    processor: Vec<(String, Vec<f64>)>,
}

impl Samples {
    fn new(field: &Field) -> Self {
        let names =
            || field.contenders.iter().map(|contender| (contender.name.to_owned(), Vec::new())).collect();
        Self { times: names(), processor: names() }
    }

    /// Takes turns; every turn begins with another contender.
    fn take(field: &Field, mut turn: impl FnMut(usize, &Contender) -> Done) -> Self {
        let mut samples = Self::new(field);
        for round in 0..ROUNDS {
            for offset in 0..field.contenders.len() {
                let at = (round + offset) % field.contenders.len();
                let contender = &field.contenders[at];
                let before = contender.processor_time();
                let done = turn(at, contender);
                let spent = contender.processor_time().saturating_sub(before);
                samples.times[at].1.push(done.seconds_each());
                samples.processor[at].1.push(spent.as_secs_f64() / done.count.max(1) as f64);
            }
        }
        samples
    }

    fn report(self, bench: &mut Bench, title: &str, unit: Unit) {
        bench.taken(title, unit, self.times);
        let of_proxies = self.processor.into_iter().skip(1).collect();
        bench.taken(&format!("{title}: processor time of the proxy"), Unit::Seconds, of_proxies);
    }
}

impl Contender {
    fn processor_time(&self) -> Duration {
        self.process.as_ref().map(super::Running::processor_time).unwrap_or_default()
    }
}

/// HTTP/1.1 on connections that stay open.
pub fn requests(bench: &mut Bench) {
    let field = Field::new(bench, Wire::Http1);
    for count in [1, 64, 512] {
        let mut open: Vec<Vec<Connection>> =
            field.contenders.iter().map(|contender| field.connections(&contender.way, count)).collect();
        let samples = Samples::take(&field, |at, contender| {
            let request = contender.way.request("/v1/messages");
            field.runtime.block_on(keep_asking(&mut open[at], &request, WINDOW))
        });
        samples.report(bench, &format!("HTTP/1.1 on {count} connections"), Unit::OperationsPerSecond);
    }
}

impl Field {
    pub fn connections(&self, way: &Way, count: usize) -> Vec<Connection> {
        self.runtime.block_on(async {
            let mut open = Vec::new();
            for _ in 0..count {
                open.push(way.open().await.expect("a connection"));
            }
            open
        })
    }
}

/// New tunnels: to one host, with a request in each, and to hosts that a certificate has to be made for first.
pub fn tunnels(bench: &mut Bench) {
    let mut field = Field::new(bench, Wire::Http1);
    let warm = Samples::take(&field, |_, contender| {
        field.runtime.block_on(keep_opening(&contender.way, Hosts::Warm, (16, WINDOW)))
    });
    warm.report(bench, "new tunnels, 16 at once", Unit::OperationsPerSecond);
    // The others go to the host before they answer, and there is none.
    field.contenders.retain(|contender| ["no proxy", "cofferdam", "hudsucker"].contains(&contender.name));
    let mut rounds = 0;
    let cold = Samples::take(&field, |_, contender| {
        rounds += 1;
        let hosts = Hosts::Cold { round: rounds };
        field.runtime.block_on(keep_opening(&contender.way, hosts, (16, WINDOW)))
    });
    cold.report(bench, "new tunnels to hosts that are new, 16 at once", Unit::OperationsPerSecond);
}

/// HTTP/2, a hundred streams at once on one connection.
pub fn streams(bench: &mut Bench) {
    let mut field = Field::new(bench, Wire::Http2);
    field.contenders.retain(|contender| contender.name != "squid");
    let samples = Samples::take(&field, |_, contender| field.runtime.block_on(hundred_streams(contender)));
    samples.report(bench, "HTTP/2, 100 streams on one connection", Unit::OperationsPerSecond);
}

async fn hundred_streams(contender: &Contender) -> Done {
    let way = Way { tls: contender.h2.clone(), ..contender.way.clone() };
    let stream = way.open().await.expect("a connection").stream;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]), "{}", contender.name);
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .expect("HTTP/2");
    tokio::spawn(connection);
    let (start, end) = (Instant::now(), Instant::now() + WINDOW);
    let uri = format!("https://{HOST}:{}/v1/messages", way.upstream.port());
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let (mut sender, uri, token) = (sender.clone(), uri.clone(), way.token.clone());
            tokio::spawn(async move {
                let mut count = 0;
                while Instant::now() < end {
                    let request = Request::get(&uri).header("authorization", format!("Bearer {token}"));
                    let request = request.body(Empty::<Bytes>::new()).expect("a request");
                    let answer = sender.send_request(request).await.expect("an answer");
                    assert_eq!(answer.status(), 200);
                    answer.into_body().collect().await.expect("a body");
                    count += 1;
                }
                count
            })
        })
        .collect();
    let mut count = 0;
    for task in tasks {
        count += task.await.expect("no panic");
    }
    Done { count, time: start.elapsed() }
}

/// A large body each way.
pub fn bodies(bench: &mut Bench) {
    let mut field = Field::new(bench, Wire::Http1);
    field.contenders.retain(|contender| contender.name != "mitmproxy");
    let down = Samples::take(&field, |_, contender| {
        let request = contender.way.request(&format!("/bytes/{BIG}"));
        transfer(&field, contender, &request, 0)
    });
    down.report(bench, "256 MiB down", Unit::BytesPerSecond);
    let up =
        Samples::take(&field, |_, contender| transfer(&field, contender, &contender.way.upload(BIG), BIG));
    up.report(bench, "256 MiB up", Unit::BytesPerSecond);
}

fn transfer(field: &Field, contender: &Contender, request: &[u8], mut body: usize) -> Done {
    let (piece, upload) = (vec![b'x'; 64 << 10], body > 0);
    field.runtime.block_on(async {
        let mut connection = contender.way.open().await.expect("a connection");
        let start = Instant::now();
        connection.stream.write_all(request).await.expect("written");
        while body > 0 {
            let count = body.min(piece.len());
            connection.stream.write_all(&piece[..count]).await.expect("written");
            body -= count;
        }
        connection.stream.flush().await.expect("written");
        let length = connection.answer().await.expect("an answer");
        assert!(upload || length == BIG, "{}: {length} bytes instead of {BIG}", contender.name);
        Done { count: BIG as u64, time: start.elapsed() }
    })
}

/// One request after another, and the events of a stream.
pub fn latency(bench: &mut Bench) {
    let field = Field::new(bench, Wire::Http1);
    let mut open: Vec<Connection> =
        field.contenders.iter().map(|contender| field.connections(&contender.way, 1).remove(0)).collect();
    let mut one = Samples::new(&field).times;
    let mut events = Samples::new(&field).times;
    for round in 0..40 {
        for offset in 0..field.contenders.len() {
            let at = (round + offset) % field.contenders.len();
            let request = field.contenders[at].way.request("/v1/messages");
            field.runtime.block_on(async {
                for _ in 0..25 {
                    let start = Instant::now();
                    open[at].exchange(&request).await.expect("an answer");
                    one[at].1.push(start.elapsed().as_secs_f64());
                }
            });
            if round % 8 == 0 {
                events[at].1.extend(field.runtime.block_on(delays(&mut open[at], &field.contenders[at].way)));
            }
        }
    }
    bench.taken("one request", Unit::Seconds, one);
    bench.taken(
        "one event of a stream, from the upstream's writing to the client's reading",
        Unit::Seconds,
        events,
    );
}

async fn delays(connection: &mut Connection, way: &Way) -> Vec<f64> {
    connection.stream.write_all(&way.request("/events")).await.expect("written");
    let mut delays = Vec::new();
    loop {
        let text = connection.more().await.expect("a stream");
        let now = upstream::nanoseconds();
        while let Some(at) = memchr::memmem::find(text, b"data: ").filter(|at| text.len() >= at + 30) {
            let sent = std::str::from_utf8(&text[at + 6..at + 30])
                .ok()
                .and_then(|text| text.trim().parse::<u128>().ok());
            delays.push(now.saturating_sub(sent.expect("a time")) as f64 / 1e9);
            text.drain(..at + 30);
        }
        if text.ends_with(b"0\r\n\r\n") {
            text.clear();
            return delays;
        }
    }
}

/// Memory when nothing happens, and for each tunnel that is open and idle.
pub fn memory(bench: &mut Bench) {
    let field = Field::new(bench, Wire::Http1);
    let (mut idle, mut each) = (Vec::new(), Vec::new());
    for contender in &field.contenders {
        let Some(process) = &contender.process else { continue };
        let name = || contender.name.to_owned();
        let before = process.memory();
        idle.push((name(), vec![before]));
        let mut open = field.connections(&contender.way, IDLE_TUNNELS);
        field.runtime.block_on(async {
            for connection in &mut open {
                connection.exchange(&contender.way.request("/")).await.expect("an answer");
            }
        });
        each.push((name(), vec![(process.memory() - before) / IDLE_TUNNELS as f64]));
    }
    bench.taken("memory, idle", Unit::Bytes, idle);
    bench.taken("memory for each idle tunnel", Unit::Bytes, each);
}
