//! Many at once, and many one after the other.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::http2;
use crate::proxied::Proxied;
use cofferdam_policy::document::Config;
use cofferdam_policy::layers::Layered;
use cofferdam_testkit::upstream::{HttpVersion, Reply, Transport};
use http::Request;
use http_body::Body;
use hyper::body::Incoming;

const CONNECT: &[u8] = b"CONNECT plain.example.test:443 HTTP/1.1\r\n\r\n";

/// Resident memory of this process, in bytes: clients, proxy and upstream are all in it.
fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") * 1024
}

fn tunnels(proxied: &Proxied, count: usize) {
    let mut open: Vec<_> =
        (0..count).map(|_| TcpStream::connect(proxied.address).expect("the proxy listens")).collect();
    for stream in &mut open {
        stream.write_all(CONNECT).expect("the proxy reads");
    }
    for stream in &mut open {
        stream.read_exact(&mut [0; 12]).expect("an answer");
    }
}

#[test]
fn req_e22_ten_thousand_tunnels_leave_nothing_behind() {
    let proxied = Proxied::with(
        Transport::Tls(vec![HttpVersion::Http1]),
        "[egress.limits]\nconnections = 2000\nrequests_per_minute = 100000\n",
    );
    let url = "https://plain.example.test/";
    let whole = |count: usize| {
        let urls = vec![url; count];
        // One client after the other, each with a handshake.
        urls.iter().for_each(|url| {
            proxied.curl(&["-f", url]).run().expect_status(0);
        });
    };
    tunnels(&proxied, 400);
    whole(3);
    let ten_thousand_leave_little = || {
        let before = memory();
        for _ in 0..25 {
            tunnels(&proxied, 400);
        }
        whole(10);
        memory() < before + (8 << 20)
    };
    // A tunnel that stayed would have left some kilobytes: ten thousand of them, several times this, and as many again
    // every time. Other tests of this process take memory meanwhile, but not for ever.
    assert!((0..5).any(|_| ten_thousand_leave_little()), "memory has grown every time");
}

/// A connection that stays, and what has come on it.
struct Kept {
    stream: TcpStream,
    number: usize,
    read: String,
}

impl Kept {
    fn say(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).expect("the proxy reads");
    }

    /// Reads on until this stands somewhere in what came.
    fn read_to(&mut self, text: &str) {
        let mut piece = [0; 4096];
        while !self.read.contains(text) {
            let count = self.stream.read(&mut piece).expect("an answer");
            assert_ne!(count, 0, "{text} did not come: {}", self.read);
            self.read.push_str(&String::from_utf8_lossy(&piece[..count]));
        }
    }
}

/// As many as make the proxy give room back while they have nothing to say, on every thread of it.
fn crowd(proxied: &Proxied) -> Vec<Kept> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let connect = |number| {
        let stream = TcpStream::connect(proxied.address).expect("the proxy listens");
        Kept { stream, number, read: String::new() }
    };
    (0..(70 * threads).min(400)).map(connect).collect()
}

#[test]
fn req_e30_many_connections_that_rest_between_requests_are_answered_as_ever() {
    let proxied = Proxied::with(
        Transport::Plain,
        "[egress.limits]\nconnections = 2000\nconcurrent_requests = 2000\nrequests_per_minute = 100000\n",
    );
    for path in ["/1", "/2", "/3", "/4", "/5"] {
        proxied.upstream.route(
            path,
            Reply::made(|request| {
                (200, vec![], format!("<{} {}>", request.target, request.body.escape_ascii()).into_bytes())
            }),
        );
    }
    const HOST: &str = "Host: plain.example.test\r\n";
    let mut open = crowd(&proxied);
    let round =
        |open: &mut Vec<Kept>, pieces: &dyn Fn(usize) -> Vec<String>, expected: &dyn Fn(usize) -> String| {
            // Each piece goes to all before the next one goes to any, so that they rest in between.
            let most = pieces(0).len();
            for at in 0..most {
                open.iter_mut().for_each(|kept| kept.say(&pieces(kept.number)[at]));
            }
            open.iter_mut().for_each(|kept| kept.read_to(&expected(kept.number)));
        };
    let ask = |path: &str| format!("GET {path} HTTP/1.1\r\n{HOST}\r\n");
    round(&mut open, &|_| vec![ask("/1")], &|_| "</1 >".to_owned());
    // A head that comes in pieces, after a line end that is no part of it.
    let cut = |number: usize| ask("/2").split_at(number % 40).0.to_owned();
    let rest = |number: usize| ask("/2").split_at(number % 40).1.to_owned();
    round(&mut open, &|number| vec![cut(number), rest(number)], &|_| "</2 >".to_owned());
    let sent = |number: usize| {
        let body = format!("number {number}");
        let head = format!("POST /3 HTTP/1.1\r\n{HOST}Content-Length: {}\r\n\r\n", body.len());
        vec![head + &body[..3], body[3..].to_owned()]
    };
    round(&mut open, &sent, &|number| format!("</3 number {number}>"));
    let chunked = |number: usize| {
        let head = format!("POST /4 HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n4\r\npart");
        vec![head, format!("\r\n8\r\n{number:08}\r\n0\r\n"), "\r\n".to_owned()]
    };
    round(&mut open, &chunked, &|number| format!("</4 part{number:08}>"));
    // Two requests in one piece, of which the second is whole with the next piece.
    let two = |_: usize| vec![ask("/5") + &ask("/1")[..9], ask("/1")[9..].to_owned()];
    round(&mut open, &two, &|_| "</5 >".to_owned());
    for kept in &mut open {
        kept.read.clear();
        kept.say("GET /1 HTTP/1.1\r\nHost: plain.example.test\r\nHost: other.example.test\r\n\r\n");
        kept.stream.shutdown(std::net::Shutdown::Write).expect("open");
        kept.read_to("HTTP/1.1 400");
        let mut end = Vec::new();
        let _ = kept.stream.read_to_end(&mut end);
    }
    let count = proxied.upstream.requests().len();
    assert_eq!(count, 6 * open.len(), "each request reached the upstream once");
}

/// The next piece of an answer.
async fn piece(body: &mut Incoming) -> Option<Vec<u8>> {
    let frame = std::future::poll_fn(|context| std::pin::Pin::new(&mut *body).poll_frame(context)).await;
    frame.map(|frame| frame.expect("a stream that goes on").into_data().expect("data").to_vec())
}

#[test]
fn req_e10_a_new_policy_under_a_thousand_streams_cuts_none_and_holds_for_the_next() {
    let proxied = Proxied::with(
        Transport::Tls(vec![HttpVersion::Http2]),
        "[egress.limits]\nconcurrent_requests = 2000\nrequests_per_minute = 100000\n",
    );
    let streams: Vec<_> = (0..1000)
        .map(|number| proxied.upstream.stream(&format!("/events/{number}"), "text/event-stream"))
        .collect();
    proxied.runtime.block_on(async {
        let mut senders = Vec::new();
        for _ in 0..10 {
            senders.push(http2::connect(&proxied, "plain.example.test").await);
        }
        let ask = |number: usize| {
            let mut sender = senders[number % senders.len()].clone();
            let request = Request::get(format!("https://plain.example.test/events/{number}"));
            async move {
                let response = sender.send_request(request.body(String::new()).expect("a request")).await;
                response.expect("an answer")
            }
        };
        let mut answers = Vec::new();
        for (number, stream) in streams.iter().enumerate() {
            stream.send("data: before\n\n");
            let mut body = ask(number).await.into_body();
            assert_eq!(piece(&mut body).await.expect("an event"), b"data: before\n\n");
            answers.push(body);
        }
        let nothing = Config::parse("config.toml", "").expect("a configuration");
        proxied.policy().replace(cofferdam_egress::Policy::new(&Layered::new(nothing), Vec::new()));
        let refused = ask(0).await;
        assert_eq!(refused.headers()["cofferdam-reason"], "host-not-allowed");
        for (stream, body) in streams.iter().zip(&mut answers) {
            stream.send("data: after\n\n");
            assert_eq!(piece(body).await.expect("an event"), b"data: after\n\n");
        }
        drop(streams);
        for body in &mut answers {
            assert_eq!(piece(body).await.unwrap_or_default(), b"", "the end");
        }
    });
    assert!(proxied.record().contains("\"reason\":\"host-not-allowed\""));
}
