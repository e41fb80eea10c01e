//! What does not have to be changed is not changed, to the byte; and a tunnel and what is asked through it are two
//! questions.

use cofferdam_testkit::upstream::Reply;

use crate::served::{HOST, JSON, OTHER, PLAIN, QUERY, SECRET, Served, exchange, head, verdict};

/// The lines of a head, sorted: lines of one name stay in their order, those of different names need not.
fn lines(text: &str) -> Vec<&str> {
    let kept = |line: &&str| !line.to_ascii_lowercase().starts_with("accept-encoding:");
    let mut lines: Vec<&str> = text.split("\r\n").filter(kept).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn req_e30_a_request_arrives_as_it_was_written_but_for_the_credential() {
    let served = Served::started("", "");
    for (host, provider, written) in [
        (
            PLAIN,
            None,
            "PUT /a%2Fb/../c;d?q=%20&q=+&Q&&x=%zz HTTP/1.1\r\nHost: plain.example.test\r\nX-CaSe: Kept  as it is\r\n\
             accept: */*\r\nX-Twice: 1\r\nX-Twice: 2\r\nCookie: a=1; b=\"2\"\r\nContent-Length: 3\r\n\r\nabc",
        ),
        (
            HOST,
            Some("acme"),
            "GET /v1?b=2&a=1 HTTP/1.1\r\nHost: api.example.test\r\nAUTHORIZATION: bearer {}\r\nX-odd: \t 1\r\n\r\n",
        ),
        (
            QUERY,
            Some("query"),
            "GET /p?z=%2f&key={}&a=1+1&a=%31&K=2&=&note=3 HTTP/1.1\r\nHost: query.example.test\r\nAccept: */*\r\n\r\n",
        ),
    ] {
        let filled = |with: &str| written.replace("{}", with);
        let sent = filled(provider.map_or("", |provider| served.token(provider)));
        let sent = sent.replacen("\r\n", "\r\nConnection: close\r\n", 1);
        let answer = String::from_utf8_lossy(&served.send(host, sent)).into_owned();
        assert_eq!(verdict(&answer), (200, None), "{answer}");
        let arrived = served.upstream.requests().pop().expect("a request");
        let raw = String::from_utf8_lossy(&arrived.raw).into_owned();
        let expected = filled(SECRET).replace("X-odd: \t 1", "X-odd: 1");
        assert_eq!(lines(&raw), lines(&expected), "{raw}");
        assert_eq!(raw.lines().next(), expected.lines().next());
    }
}

#[test]
fn req_e30_bodies_pass_byte_for_byte_in_both_directions() {
    let served = Served::started("", "");
    let body: Vec<u8> = (0..3_000_018_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    served.upstream.route("/body", Reply::Fixed { status: 200, headers: vec![], body: body.clone() });
    let line = format!("Authorization: Bearer {}\r\n", served.token("acme"));
    for (host, line) in [(PLAIN, ""), (HOST, &*line)] {
        let start = format!(
            "POST /body HTTP/1.1\r\nHost: {host}\r\n{line}Connection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let answer = served.send(host, [start.as_bytes(), &body].concat());
        assert!(served.upstream.requests().pop().expect("a request").body == body, "{host}");
        assert!(answer.ends_with(&body), "{host}");
    }
}

#[test]
fn req_e30_a_document_around_a_credential_is_exact_and_one_that_is_too_large_is_refused() {
    let served = Served::started("", "");
    let written = |key: &str, padding: usize| {
        format!(
            "{{ \"n\" : 1.50e1,\t\"auth\":{{\"x\":[],\"key\" :\"{key}\"}},\r\n\"s\":\"\\u00e9\\/ é{}\" }}",
            "p".repeat(padding)
        )
    };
    let ask = |padding: usize| {
        served.ask(
            JSON,
            "POST /",
            "Content-Type: application/json\r\n",
            &written(served.token("json"), padding),
        )
    };
    assert_eq!(verdict(&ask(0)), (200, None));
    let arrived = served.upstream.requests().pop().expect("a request");
    assert_eq!(String::from_utf8_lossy(&arrived.body), written(SECRET, 0));
    assert_eq!(arrived.header("content-length"), Some(arrived.body.len().to_string().as_bytes()));
    // Up to the cap it is whole; beyond it nobody hears of it.
    let around = written(served.token("json"), 0).len();
    assert_eq!(verdict(&ask((8 << 20) - around)), (200, None));
    let arrived = served.upstream.requests().pop().expect("a request");
    assert!(arrived.body == written(SECRET, (8 << 20) - around).as_bytes());
    let before = served.upstream.requests().len();
    assert_eq!(verdict(&ask((8 << 20) + 1 - around)), (413, Some("body-too-large")));
    let chunked = written(served.token("json"), 9 << 20);
    let chunked = format!(
        "POST / HTTP/1.1\r\nHost: {JSON}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n{:x}\r\n{chunked}\r\n0\r\n\r\n",
        chunked.len()
    );
    let answer = String::from_utf8_lossy(&served.send(JSON, chunked)).into_owned();
    assert_eq!(verdict(&answer), (413, Some("body-too-large")));
    assert_eq!(served.upstream.requests().len(), before, "nothing shorter was sent in its place");
}

#[test]
fn req_e31_a_tunnel_and_what_is_asked_through_it_are_answered_each_for_itself() {
    let served = Served::started(
        "",
        "[[egress.allow]]\nhosts = [\"rules.example.test\"]\nmethods = [\"GET\"]\npaths = [\"/open/**\"]\n",
    );
    let tunnel = |target: &str| {
        let ask = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
        let mut stream = served.connection();
        std::io::Write::write_all(&mut stream, ask.as_bytes()).expect("the proxy reads");
        head(&mut stream)
    };
    for (target, expected) in [
        ("nobody.example.test:443", (403, Some("host-not-allowed"))),
        ("api.example.test:22", (403, Some("port-not-allowed"))),
        ("169.254.169.254:80", (403, Some("host-not-allowed"))),
        ("api.example.test:443", (200, None)),
        ("rules.example.test:443", (200, None)),
    ] {
        let answer = tunnel(target);
        assert_eq!(verdict(&answer), expected, "{target}: {answer}");
    }
    assert_eq!(served.record().matches("\"egress-request\"").count(), 0, "nobody has asked anything yet");
    assert!(served.upstream.connections().is_empty(), "a tunnel alone contacts nobody");
    // A tunnel needs no token; what goes through it without one is passed as it is, or refused by its own rule.
    let foreign = format!("x-api-key: {}\r\n", served.token("acme"));
    for (host, first, lines, expected) in [
        (HOST, "GET /", "", (200, None)),
        (OTHER, "GET /", &*foreign, (403, Some("token-wrong-host"))),
        ("rules.example.test", "GET /closed", "", (403, Some("path-not-allowed"))),
        ("rules.example.test", "POST /open/x", "", (403, Some("method-not-allowed"))),
    ] {
        let answer = served.ask(host, first, lines, "");
        assert_eq!(verdict(&answer), expected, "{host} {first}: {answer}");
    }
    let [unmarked] = &served.upstream.requests()[..] else { panic!("one request") };
    assert_eq!(unmarked.header("authorization"), None, "nothing is put in where no token stood");
    let record = served.record();
    let count = |kind: &str, decision: &str| {
        let wanted = [format!("\"{kind}\""), format!("\"decision\":\"{decision}\"")];
        record.lines().filter(|line| wanted.iter().all(|text| line.contains(text))).count()
    };
    let kinds = ["egress-tunnel", "egress-request"];
    assert_eq!(
        kinds.map(|kind| ["allowed", "refused"].map(|decision| count(kind, decision))),
        [[6, 3], [1, 3]]
    );
    // The name in the handshake is one more: it must be the tunnel's.
    let mut stream = served.connection();
    std::io::Write::write_all(&mut stream, b"CONNECT api.example.test:443 HTTP/1.1\r\n\r\n")
        .expect("it reads");
    assert!(head(&mut stream).starts_with("HTTP/1.1 200 "));
    let answer = exchange(stream, b"GET / HTTP/1.1\r\nHost: plain.example.test\r\nConnection: close\r\n\r\n");
    assert_eq!(verdict(&String::from_utf8_lossy(&answer)), (400, Some("target-mismatch")));
}
