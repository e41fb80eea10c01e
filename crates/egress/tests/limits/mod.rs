//! What a client may use, and how long anything may take.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;

use crate::proxied::{Proxied, reason};
use cofferdam_testkit::upstream::{HttpVersion, Reply, Transport};

fn limited(limits: &str) -> Proxied {
    Proxied::with(Transport::Tls(vec![HttpVersion::Http1]), &format!("[egress.limits]\n{limits}\n"))
}

/// `curl -i` against the host without a credential.
fn ask(proxied: &Proxied, path: &str) -> String {
    let url = format!("https://plain.example.test{path}");
    proxied.curl(&["-i", "--http1.1", &url]).run().stdout()
}

#[test]
fn req_e22_more_requests_than_a_minute_has_are_refused_and_do_not_reach_the_upstream() {
    let proxied = limited("requests_per_minute = 3");
    for _ in 0..3 {
        assert_eq!(reason(&ask(&proxied, "/")), None);
    }
    let refused = ask(&proxied, "/");
    assert!(refused.contains("429") && reason(&refused) == Some("rate-limited"), "{refused}");
    assert_eq!(proxied.upstream.requests().len(), 3);
    assert!(proxied.record().contains("\"reason\":\"rate-limited\""));
    let unlimited = limited("requests_per_minute = 300");
    assert!((0..6).all(|_| reason(&ask(&unlimited, "/")).is_none()));
}

#[test]
fn req_e22_a_provider_has_limits_of_its_own() {
    let proxied = limited("provider_requests_per_minute = 1");
    let header = format!("Authorization: Bearer {}", proxied.token(0).expose());
    let with_token = || proxied.curl(&["-i", "-H", &header, &proxied.url("/")]).run().stdout();
    assert_eq!(reason(&with_token()), None);
    assert_eq!(reason(&with_token()), Some("rate-limited"));
    assert_eq!(reason(&ask(&proxied, "/")), None, "what has no provider does not count there");
}

#[test]
fn req_e22_more_requests_at_once_than_allowed_are_refused_until_one_has_ended() {
    let proxied = limited("concurrent_requests = 1");
    let stream = proxied.upstream.stream("/stream", "text/event-stream");
    let mut curl = proxied.curl(&["https://plain.example.test/stream"]).spawn();
    let mut stdout = curl.stdout.take().expect("a pipe");
    stream.send("data: 1\n\n");
    stdout.read_exact(&mut [0; 9]).expect("the first event");
    let refused = ask(&proxied, "/");
    assert!(refused.contains("429") && reason(&refused) == Some("concurrency-limited"), "{refused}");
    stream.finish();
    assert!(curl.wait().expect("an end").success());
    assert_eq!(reason(&ask(&proxied, "/")), None);
}

#[test]
fn req_e22_bytes_are_limited_in_both_directions() {
    let proxied = limited("bytes_per_minute = \"64KiB\"");
    let body = vec![b'x'; 200 << 10];
    proxied.upstream.route("/large", Reply::Fixed { status: 200, headers: vec![], body });
    let cut = proxied.curl(&["https://plain.example.test/large"]).run();
    assert!(cut.status() != 0 && cut.stdout_bytes().len() < 200 << 10, "{}", cut.stdout_bytes().len());
    let refused = ask(&proxied, "/");
    assert!(refused.contains("429") && reason(&refused) == Some("bytes-limited"), "{refused}");
    assert!(proxied.record().contains("\"failure\":\"bytes-limited\""));
}

/// An upstream by hand, which does with each of so many connections what the test says.
fn upstream(count: usize, serve: fn(TcpStream)) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    let serving = move || (0..count).for_each(|_| serve(listener.accept().expect("a connection").0));
    (address, std::thread::spawn(serving))
}

const ASK: &str = "GET / HTTP/1.1\r\nHost: socket.example.test\r\nConnection: close\r\n\r\n";

fn beside(socket: SocketAddr, limits: &str) -> Proxied {
    let limits = format!("[egress.limits]\n{limits}\n");
    Proxied::beside(Transport::Plain, &limits, Some(socket))
}

/// Until the other side has gone.
fn until_it_goes(mut stream: TcpStream) {
    let _ = stream.read_to_end(&mut Vec::new());
}

#[test]
fn req_e22_an_upstream_that_says_nothing_is_given_up() {
    let (address, upstream) = upstream(1, until_it_goes);
    let proxied = beside(address, "first_byte_timeout = \"1s\"");
    let got = proxied.raw(ASK);
    assert!(got.starts_with("HTTP/1.1 504") && reason(&got) == Some("upstream-timeout"), "{got}");
    upstream.join().expect("the upstream was left");
}

#[test]
fn req_e22_an_upstream_that_stops_in_the_middle_is_given_up() {
    let (address, upstream) = upstream(1, |mut stream| {
        stream.read_exact(&mut [0; 4]).expect("a request");
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf").expect("a client");
        until_it_goes(stream);
    });
    let proxied = beside(address, "idle_timeout = \"1s\"");
    let got = proxied.raw(ASK);
    assert!(got.ends_with("half"), "{got}");
    upstream.join().expect("the upstream was left");
    assert!(proxied.record().contains("\"failure\":\"upstream-idle\""));
}

#[test]
fn req_e22_a_head_without_end_from_an_upstream_is_refused() {
    let (address, upstream) = upstream(1, |mut stream| {
        stream.read_exact(&mut [0; 4]).expect("a request");
        let line = format!("X-More: {}\r\n", "x".repeat(1000));
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(line.as_bytes()).is_ok() {}
    });
    let proxied = beside(address, "");
    let got = proxied.raw(ASK);
    assert!(got.starts_with("HTTP/1.1 502") && reason(&got) == Some("upstream-malformed"), "{got}");
    upstream.join().expect("the upstream was left");
}

#[test]
fn req_e26_requests_go_through_the_proxy_that_the_user_configured() {
    let (address, upstream) = upstream(2, |mut stream| {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a head");
            head.push(byte[0]);
        }
        let asked = String::from_utf8_lossy(&head).into_owned();
        if !asked.starts_with("CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n") {
            let _ = stream.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n");
            return;
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").expect("a client");
        stream.read_exact(&mut [0; 4]).expect("a request");
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nthrough")
            .expect("a client");
        until_it_goes(stream);
    });
    let proxied =
        Proxied::with(Transport::Plain, &format!("[egress]\nupstream_proxy = \"http://{address}\"\n"));
    let asked = |host: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    assert!(proxied.raw(asked("localhost")).ends_with("through"));
    let refused = proxied.raw(asked("socket.example.test"));
    assert_eq!(reason(&refused), Some("upstream-proxy-failed"), "{refused}");
    assert_eq!(reason(&proxied.raw(asked("127.0.0.1"))), Some("address-denied"));
    upstream.join().expect("the other proxy");
}
