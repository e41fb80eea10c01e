//! What one client may use, and how long anything may take: the answer, the record, and whether anybody was contacted.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;

use cofferdam_testkit::processes::wait_until;
use cofferdam_testkit::upstream::Reply;

use crate::served::{HOST, PLAIN, Served, exchange, head, verdict};

fn limited(limits: &str) -> Served {
    Served::started("", &format!("[egress.limits]\n{limits}\n"))
}

fn plain(served: &Served) -> (u16, Option<String>) {
    told(&served.ask(PLAIN, "GET /", "", ""))
}

fn with_token(served: &Served) -> (u16, Option<String>) {
    let line = format!("Authorization: Bearer {}\r\n", served.token("acme"));
    told(&served.ask(HOST, "GET /", &line, ""))
}

fn told(answer: &str) -> (u16, Option<String>) {
    let (status, reason) = verdict(answer);
    (status, reason.map(str::to_owned))
}

fn refused(status: u16, reason: &str) -> (u16, Option<String>) {
    (status, Some(reason.to_owned()))
}

const SERVED: (u16, Option<String>) = (200, None);

#[test]
fn req_e22_a_client_has_so_many_requests_a_minute_and_each_provider_fewer() {
    let served = limited("requests_per_minute = 4\nprovider_requests_per_minute = 1");
    assert_eq!(with_token(&served), SERVED);
    assert_eq!(with_token(&served), refused(429, "rate-limited"), "the provider's are used up");
    assert_eq!((plain(&served), plain(&served)), (SERVED, SERVED), "those of others are not");
    while plain(&served) == SERVED {}
    assert_eq!(plain(&served), refused(429, "rate-limited"));
    let record = served.record();
    let decided = |decision: &str| {
        let decision = format!("\"decision\":\"{decision}\"");
        record.lines().filter(|line| line.contains("\"egress-request\"") && line.contains(&decision)).count()
    };
    assert_eq!(served.upstream.requests().len(), decided("allowed"), "what was refused reached nobody");
    assert_eq!(record.matches("\"reason\":\"rate-limited\"").count(), decided("refused"));
    let counted = "cofferdam_requests_total{outcome=\"refused\",reason=\"rate-limited\"}";
    wait_until("it is counted", || served.metrics().contains(counted));
    // The twin: without a limit that low nobody is refused.
    let usual = Served::started("", "");
    assert!((0..8).all(|_| with_token(&usual) == SERVED));
}

/// A request whose answer goes on. What has just ended may still count for a moment.
fn under_way(served: &Served, (host, path): (&str, &str), line: &str) -> impl Sized + use<> {
    let open = std::cell::RefCell::new(None);
    wait_until("there is room", || {
        let mut client = served.tunnel(host);
        write!(client, "GET {path} HTTP/1.1\r\nHost: {host}\r\n{line}\r\n").expect("the proxy reads");
        let answered = head(&mut client).starts_with("HTTP/1.1 200 ");
        *open.borrow_mut() = answered.then_some(client);
        answered
    });
    open
}

#[test]
fn req_e22_requests_at_once_are_limited_for_a_client_and_for_a_provider() {
    let served = limited("concurrent_requests = 2\nprovider_concurrent_requests = 1");
    let line = format!("Authorization: Bearer {}\r\n", served.token("acme"));
    let streams = ["/one", "/two"].map(|path| served.upstream.stream(path, "text/event-stream"));
    let one = under_way(&served, (HOST, "/one"), &line);
    assert_eq!(with_token(&served), refused(429, "concurrency-limited"), "of the provider");
    assert_eq!(plain(&served), SERVED);
    let two = under_way(&served, (PLAIN, "/two"), "");
    assert_eq!(plain(&served), refused(429, "concurrency-limited"), "of the client");
    drop((one, two));
    streams.into_iter().for_each(cofferdam_testkit::upstream::Stream::finish);
    wait_until("what has ended does not count", || with_token(&served) == SERVED);
}

#[test]
fn req_e22_a_client_has_so_many_connections_and_no_more() {
    let served = limited("connections = 3");
    let ask = || {
        let asked = format!("GET http://{PLAIN}/ HTTP/1.1\r\nHost: {PLAIN}\r\nConnection: close\r\n\r\n");
        told(&String::from_utf8_lossy(&exchange(served.connection(), asked.as_bytes())))
    };
    let is_let_in = || ask() != refused(429, "concurrency-limited");
    wait_until("there is room", is_let_in);
    let idle = [(); 3].map(|()| served.connection());
    wait_until("there is none", || !is_let_in());
    drop(idle);
    wait_until("there is room again", is_let_in);
    assert!(served.record().contains("\"reason\":\"concurrency-limited\""));
}

#[test]
fn req_e22_what_is_too_large_is_refused_and_reaches_nobody() {
    let served = limited("request_body = \"1KiB\"\nbytes_per_minute = \"256KiB\"");
    let fits = "x".repeat(1024);
    assert_eq!(told(&served.ask(PLAIN, "POST /", "", &fits)), SERVED);
    let reached = served.upstream.requests().len();
    let announced = served.ask(PLAIN, "POST /", "", &(fits.clone() + "y"));
    assert_eq!(told(&announced), refused(413, "body-too-large"));
    let chunked = format!(
        "POST / HTTP/1.1\r\nHost: {PLAIN}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n400\r\n{fits}\r\n1\r\ny\r\n0\r\n\r\n"
    );
    let answer = String::from_utf8_lossy(&served.send(PLAIN, chunked)).into_owned();
    assert_eq!(told(&answer), refused(413, "body-too-large"), "{answer}");
    let many = served.ask(PLAIN, "GET /", &"X: y\r\n".repeat(200), "");
    assert_eq!(told(&many), refused(431, "headers-too-many"));
    let large = served.ask(PLAIN, "GET /", &format!("X: {}\r\n", "y".repeat(70_000)), "");
    assert_eq!(told(&large), refused(431, "header-too-large"));
    assert_eq!(served.upstream.requests().len(), reached, "no whole request has arrived");
    let body = vec![b'z'; 1 << 20];
    served.upstream.route("/large", Reply::Fixed { status: 200, headers: vec![], body: body.clone() });
    let cut = served.ask(PLAIN, "GET /large", "", "");
    assert!(cut.starts_with("HTTP/1.1 200") && cut.len() < body.len(), "{}", cut.len());
    assert_eq!(plain(&served), refused(429, "bytes-limited"));
    let record = served.record();
    for reason in ["body-too-large", "bytes-limited"] {
        assert!(record.contains(&format!("\"{reason}\"")), "{reason}: {record}");
    }
}

#[test]
fn req_e22_an_answer_that_is_cut_off_at_once_still_has_its_head() {
    let served = limited("bytes_per_minute = \"1KiB\"");
    let body = vec![b'z'; 1 << 20];
    served.upstream.route("/large", Reply::Fixed { status: 200, headers: vec![], body });
    let cut = served.ask(PLAIN, "GET /large", "", "");
    assert!(cut.starts_with("HTTP/1.1 200") && cut.len() < 2048, "{cut:?}");
}

/// An upstream by hand, which does with each of so many connections what the test says.
fn upstream(count: usize, serve: fn(TcpStream)) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    let serving = move || (0..count).for_each(|_| serve(listener.accept().expect("a connection").0));
    (address, std::thread::spawn(serving))
}

/// Until the other side has gone.
fn until_it_goes(mut stream: TcpStream) {
    let _ = stream.read_to_end(&mut Vec::new());
}

fn slow(address: SocketAddr, limits: &str) -> Served {
    let tables = format!(
        "[[egress.allow]]\nhosts = [\"slow.example.test\"]\nports = [80, 443]\n[egress.limits]\n{limits}\n"
    );
    let served = Served::configured("", &tables);
    let config = std::fs::read_to_string(served.daemon.file("config.toml")).expect("a configuration");
    let at = format!(
        "[egress.resolve]\n\"slow.example.test:80\" = \"{address}\"\n\"slow.example.test:443\" = \"{address}\"\n"
    );
    served.daemon.home.write("cofferdam/config.toml", config.replace("[egress.resolve]\n", &at));
    served.call(&["start"]).expect_status(0);
    served
}

const SLOW: &[u8] =
    b"GET http://slow.example.test/ HTTP/1.1\r\nHost: slow.example.test\r\nConnection: close\r\n\r\n";

fn ask_slow(served: &Served) -> String {
    String::from_utf8_lossy(&exchange(served.connection(), SLOW)).into_owned()
}

#[test]
fn req_e22_an_upstream_that_takes_too_long_is_given_up() {
    let (address, upstream) = upstream(2, until_it_goes);
    let served = slow(address, "first_byte_timeout = \"400ms\"\ntls_timeout = \"400ms\"");
    assert_eq!(told(&ask_slow(&served)), refused(504, "upstream-timeout"));
    let handshake = served.ask("slow.example.test", "GET /", "", "");
    assert_eq!(told(&handshake), refused(504, "upstream-connect-timeout"));
    upstream.join().expect("it was left both times");
    let record = served.record();
    assert!(record.contains("\"failure\":\"upstream-timeout\""), "{record}");
}

#[test]
fn req_e22_an_answer_that_stops_or_never_ends_its_head_is_given_up() {
    let (address, upstream) = upstream(2, |mut stream| {
        let asked = head(&mut stream);
        if asked.starts_with("GET /half") {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
            return until_it_goes(stream);
        }
        let line = format!("X-More: {}\r\n", "x".repeat(1000));
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(line.as_bytes()).is_ok() {}
    });
    let served = slow(address, "idle_timeout = \"400ms\"");
    let half = String::from_utf8_lossy(SLOW).replace("test/ HTTP", "test/half HTTP");
    let answer = exchange(served.connection(), half.as_bytes());
    assert!(String::from_utf8_lossy(&answer).ends_with("half"));
    assert_eq!(told(&ask_slow(&served)), refused(502, "upstream-malformed"));
    upstream.join().expect("it was left both times");
    wait_until("it is on record", || served.record().contains("\"failure\":\"upstream-idle\""));
}

#[test]
fn req_e22_a_client_that_does_not_come_to_the_point_is_told_so_and_left() {
    let served = limited("head_timeout = \"400ms\"");
    let slowly = exchange(served.connection(), b"GET / HTTP/1.1\r\nHost: plain.exam");
    assert_eq!(told(&String::from_utf8_lossy(&slowly)), refused(408, "client-timeout"));
    let mut tunnel = served.tunnel(PLAIN);
    write!(tunnel, "GET / HTTP/1.1\r\nHost: plain.exam").expect("the proxy reads");
    let slowly = exchange(tunnel, b"");
    assert_eq!(told(&String::from_utf8_lossy(&slowly)), refused(408, "client-timeout"));
    assert_eq!(plain(&served), SERVED);
}
