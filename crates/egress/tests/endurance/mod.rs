//! Many at once, and many one after the other.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::http2;
use crate::proxied::Proxied;
use cofferdam_policy::document::Config;
use cofferdam_policy::layers::Layered;
use cofferdam_testkit::upstream::{HttpVersion, Transport};
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
