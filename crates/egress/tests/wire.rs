//! What goes over the wire: streams as they come, bodies byte for byte, and nothing that can be read in two ways.

mod clients;
mod endurance;
mod floods;
mod http2;
mod limits;
mod malformed;
mod proxied;
mod resumed;

use std::io::{Read, Write};
use std::net::TcpStream;

use cofferdam_egress::Policy;
use cofferdam_policy::document::Config;
use cofferdam_policy::layers::Layered;
use cofferdam_testkit::upstream::{HttpVersion, Reply, Transport};
use proxied::{Proxied, SECRET, reason};

#[test]
fn req_e26_every_stream_is_passed_on_as_it_arrives() {
    for (version, flag) in [(HttpVersion::Http1, "--http1.1"), (HttpVersion::Http2, "--http2")] {
        for content_type in ["application/x-ndjson", "text/event-stream", "application/octet-stream"] {
            let proxied = Proxied::tls(&[version]);
            let header = format!("Authorization: Bearer {}", proxied.token(0).expose());
            let stream = proxied.upstream.stream("/lines", content_type);
            let mut curl = proxied.curl(&[flag, "-H", &header, &proxied.url("/lines")]).spawn();
            let mut stdout = curl.stdout.take().expect("a pipe");
            let told = format!("{{\"key\": \"{SECRET}\"}}\n");
            for (line, expected) in [
                ("{\"n\": 1}\n", "{\"n\": 1}\n"),
                (told.as_str(), "{\"key\": \"[redacted:api]\"}\n"),
                ("{\"n\": 2}\n", "{\"n\": 2}\n"),
            ] {
                stream.send(line);
                // Blocks for ever if anything on the way waits for more than this line.
                let mut got = vec![0; expected.len()];
                stdout.read_exact(&mut got).expect("the line");
                assert_eq!(String::from_utf8_lossy(&got), expected);
            }
            for half in [&SECRET[..9], &SECRET[9..]] {
                stream.send(half);
            }
            stream.finish();
            let mut rest = String::new();
            stdout.read_to_string(&mut rest).expect("the end");
            assert_eq!(rest, "[redacted:api]");
            assert!(curl.wait().expect("an end").success());
        }
    }
}

#[test]
fn req_e30_large_bodies_arrive_byte_for_byte_and_too_large_ones_not_at_all() {
    let proxied = Proxied::with(
        Transport::Tls(vec![HttpVersion::Http2, HttpVersion::Http1]),
        "[egress.limits]\nrequest_body = \"4MiB\"\n",
    );
    let body: Vec<u8> = (0..3_000_018_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    proxied.home.write("body", &body);
    proxied.upstream.route("/download", Reply::Fixed { status: 200, headers: vec![], body: body.clone() });
    for version in ["--http1.1", "--http2"] {
        let args = [
            version,
            "-f",
            "--data-binary",
            "@body",
            "-H",
            "Expect: 100-continue",
            "https://plain.example.test/up",
        ];
        proxied.curl(&args).run().expect_status(0);
        let requests = proxied.upstream.requests();
        assert!(requests.last().expect("a request").body == body, "{version}");
        let got =
            proxied.curl(&[version, "-f", "https://plain.example.test/download"]).run().expect_status(0);
        assert!(got.stdout_bytes() == body, "{version}");
    }
    let before = proxied.upstream.requests().len();
    proxied.home.write("body", vec![0; 5 << 20]);
    for chunked in [&[][..], &["-H", "Transfer-Encoding: chunked"]] {
        let args = ["--http1.1", "-i", "--data-binary", "@body", "https://plain.example.test/up"];
        let got = proxied.curl(&[&args[..], chunked].concat()).run();
        assert!(got.status() != 0 || reason(&got.stdout()) == Some("body-too-large"), "{}", got.stdout());
    }
    assert_eq!(proxied.upstream.requests().len(), before);
}

#[test]
fn req_e02_requests_that_can_be_read_in_two_ways_are_refused() {
    let proxied = Proxied::new(Transport::Plain);
    let host = "Host: plain.example.test\r\n";
    for (request, expected) in [
        (
            format!(
                "POST / HTTP/1.1\r\n{host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            ),
            "ambiguous-framing",
        ),
        (
            format!("POST / HTTP/1.1\r\n{host}Content-Length: 1\r\nContent-Length: 1\r\n\r\nx"),
            "ambiguous-framing",
        ),
        (format!("GET / HTTP/1.1\r\n{host}X: a\r\n b\r\n\r\n"), "malformed-request"),
        (format!("GET / HTTP/1.1\n{host}\r\n"), "malformed-request"),
        (format!("GET / HTTP/1.1\r\n{host}X: \0\r\n\r\n"), "malformed-request"),
        (format!("GET / HTTP/1.1\r\n{host}{host}Connection: close\r\n\r\n"), "target-mismatch"),
        (format!("GET http://localhost/ HTTP/1.1\r\n{host}Connection: close\r\n\r\n"), "target-mismatch"),
        ("GET / HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(), "target-malformed"),
        (format!("GET / HTTP/1.1\r\n{host}{}\r\n", "x: y\r\n".repeat(200)), "headers-too-many"),
        (format!("GET / HTTP/1.1\r\n{host}X: {}", "x".repeat(70_000)), "header-too-large"),
        ("\u{1}garbage".to_owned(), "malformed-request"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), "malformed-request"),
        (
            "CONNECT plain.example.test:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n".to_owned(),
            "target-mismatch",
        ),
        ("CONNECT plain.example.test:443 HTTP/1.1\r\nX: \n\r\n\r\n".to_owned(), "malformed-request"),
    ] {
        let got = proxied.raw(&request);
        assert_eq!(reason(&got), Some(expected), "{:?}: {got}", &request[..request.len().min(120)]);
    }
    assert!(proxied.upstream.connections().is_empty());
    let smuggled = format!(
        "POST /one HTTP/1.1\r\n{host}Content-Length: 2\r\n\r\nokGET /two HTTP/1.1\r\n{host}X: \n\r\n\r\n"
    );
    let got = proxied.raw(&smuggled);
    assert_eq!(reason(&got), Some("malformed-request"), "{got}");
    let seen: Vec<_> = proxied.upstream.requests().iter().map(|request| request.target.clone()).collect();
    assert!(!seen.contains(&"/two".to_owned()), "{seen:?}");
}

#[test]
fn what_would_lead_past_the_proxy_or_belongs_to_one_connection_is_taken_out() {
    let proxied = Proxied::tls(&[HttpVersion::Http1]);
    let headers = [("alt-svc", "h3=\":443\""), ("x-kept", "1"), ("keep-alive", "timeout=5")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    proxied.upstream.route("/", Reply::Fixed { status: 429, headers, body: b"slow\n".to_vec() });
    let args = ["-i", "--http1.1", "-H", "Connection: X-Hop", "-H", "X-Hop: 1", "-H", "X-End: 1"];
    let got = proxied.curl(&[&args[..], &["https://plain.example.test/"]].concat()).run().expect_status(0);
    let got = got.stdout();
    assert!(
        got.contains("HTTP/1.1 429") && got.contains("x-kept: 1\r\n") && got.ends_with("slow\n"),
        "{got}"
    );
    assert!(!got.contains("alt-svc") && !got.contains("keep-alive"), "{got}");
    let [request] = &proxied.upstream.requests()[..] else { panic!("one request") };
    assert_eq!((request.header("x-hop"), request.header("x-end")), (None, Some(&b"1"[..])));
}

#[test]
fn req_e15_every_request_is_on_record_with_its_end() {
    let proxied = Proxied::tls(&[HttpVersion::Http1]);
    proxied.curl(&["-f", "https://plain.example.test/a?secret=query"]).run().expect_status(0);
    proxied.curl(&["-f", "-I", "https://plain.example.test/head"]).run().expect_status(0);
    let count = |record: &str, kind: &str| record.lines().filter(|line| line.contains(kind)).count();
    // The end is written when it has come, which may be a moment after the client has seen it.
    let record = loop {
        let record = proxied.record();
        if count(&record, "\"egress-response\"") == 2 {
            break record;
        }
        std::thread::yield_now();
    };
    assert_eq!(
        (count(&record, "\"egress-tunnel\""), count(&record, "\"egress-request\"")),
        (2, 2),
        "{record}"
    );
    assert_eq!(count(&record, "\"status\":200"), 2, "{record}");
    assert!(!record.contains("\"failure\""), "{record}");
    assert!(record.contains("\"path\":\"/a\"") && !record.contains("query"), "{record}");
}

#[test]
fn a_new_policy_holds_for_the_next_request_of_a_connection_that_is_open() {
    let proxied = Proxied::new(Transport::Plain);
    proxied.upstream.route("/", Reply::Fixed { status: 200, headers: vec![], body: b"first".to_vec() });
    let mut stream = TcpStream::connect(proxied.address).expect("the proxy listens");
    stream.write_all(b"GET / HTTP/1.1\r\nHost: plain.example.test\r\n\r\n").expect("the proxy reads");
    let mut answer = Vec::new();
    while !answer.ends_with(b"first") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("the answer");
        answer.push(byte[0]);
    }
    proxied.policy().replace(Policy::new(&Layered::new(Config::default()), Vec::new()));
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: plain.example.test\r\nConnection: close\r\n\r\n")
        .expect("the proxy reads");
    let mut refused = String::new();
    stream.read_to_string(&mut refused).expect("the answer");
    assert_eq!(reason(&refused), Some("host-not-allowed"), "{refused}");
    assert_eq!(proxied.upstream.requests().len(), 1);
}

#[test]
fn req_e31_a_tunnel_and_what_is_asked_through_it_are_answered_each_for_itself() {
    let proxied = Proxied::with(
        Transport::Tls(vec![HttpVersion::Http1]),
        "[[egress.allow]]\nhosts = [\"token.example.test\"]\nmethods = [\"GET\"]\npaths = [\"/open/**\"]\n",
    );
    let ask = |args: &[&str]| proxied.curl(&[&["-i"], args].concat()).run().stdout();
    // A host that nothing allows gets no tunnel, and nobody is asked anything through it.
    let refused = ask(&["https://nobody.example.test/open/x"]);
    assert!(refused.starts_with("HTTP/1.1 403") && reason(&refused) == Some("host-not-allowed"), "{refused}");
    let refused = ask(&["https://token.example.test:8443/open/x"]);
    assert!(refused.starts_with("HTTP/1.1 403") && reason(&refused) == Some("port-not-allowed"), "{refused}");
    assert_eq!(proxied.record().matches("\"egress-request\"").count(), 0);
    // A tunnel needs no path, no method and no token; what goes through it does.
    let foreign = format!("Authorization: Bearer {}", proxied.token(1).expose());
    for (args, expected) in [
        (vec!["https://token.example.test/open/x"], None),
        (vec!["https://token.example.test/closed"], Some("path-not-allowed")),
        (vec!["-X", "POST", "https://token.example.test/open/x"], Some("method-not-allowed")),
        (vec!["-H", &foreign, "https://api.example.test/"], Some("token-wrong-host")),
    ] {
        let got = ask(&args);
        assert!(got.starts_with("HTTP/1.1 200 Connection established"), "{args:?}: {got}");
        assert_eq!(reason(&got), expected, "{args:?}: {got}");
    }
    let record = proxied.record();
    let count = |kind: &str, outcome: &str| {
        record.lines().filter(|line| line.contains(kind) && line.contains(outcome)).count()
    };
    let outcomes = ["\"decision\":\"allowed\"", "\"decision\":\"refused\""];
    let counted =
        ["\"egress-tunnel\"", "\"egress-request\""].map(|kind| outcomes.map(|outcome| count(kind, outcome)));
    assert_eq!(counted, [[4, 2], [1, 3]], "{record}");
    assert_eq!(proxied.upstream.requests().len(), 1);
}

#[test]
fn req_e30_a_head_arrives_as_it_was_written() {
    let proxied = Proxied::new(Transport::Plain);
    let written = "PUT /a%2Fb/../c;d?q=%20&q=+&Q HTTP/1.1\r\nHost: plain.example.test\r\nX-CaSe: Kept  as it is\r\n\
                   accept: */*\r\nX-Twice: 1\r\nX-Twice: 2\r\nCookie: a=1; b=\"2\"\r\nContent-Length: 3\r\n";
    let got = proxied.raw(format!("{written}Connection: close\r\n\r\nabc"));
    assert!(got.starts_with("HTTP/1.1 200 "), "{got}");
    let [request] = &proxied.upstream.requests()[..] else { panic!("one request") };
    let raw = String::from_utf8_lossy(&request.raw).into_owned();
    let lines: Vec<_> = raw.split("\r\n").filter(|line| !line.starts_with("accept-encoding:")).collect();
    let expected = format!("{written}\r\nabc");
    let mut sorted = [lines.clone(), expected.split("\r\n").collect()];
    sorted.iter_mut().for_each(|lines| lines.sort_unstable());
    assert_eq!(sorted[0], sorted[1], "{raw}");
    assert_eq!(lines[0], expected.split("\r\n").next().expect("a first line"));
}
