//! The sandbox holds a token, the upstream gets the credential, and neither sees the other's.

mod in_bodies;
mod minted;
mod proxied;
mod sdks;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cofferdam_egress::{ClientId, Door};
use cofferdam_testkit::upstream::{Coding, EchoPlace, HttpVersion, Reply, Transport};
use proxied::{HOST, Proxied, SECRET, reason};

const BOTH: [HttpVersion; 2] = [HttpVersion::Http2, HttpVersion::Http1];

#[test]
fn req_e01_the_upstream_gets_the_credential_and_the_client_never_sees_it() {
    for (client_version, upstream_versions, expected) in [
        ("--http1.1", &BOTH[..], HttpVersion::Http1),
        ("--http2", &BOTH[..], HttpVersion::Http2),
        ("--http2", &BOTH[1..], HttpVersion::Http1),
    ] {
        let proxied = Proxied::tls(upstream_versions);
        let token = proxied.token(0);
        let header = format!("Authorization: Bearer {}", token.expose());
        let args =
            [client_version, "-i", "-H", &header, "--data-binary", "a=%2f", &proxied.url("/echo?q=%20&q=+")];
        let got = proxied.curl(&args).run().expect_status(0);
        let [request] = &proxied.upstream.requests()[..] else { panic!("one request") };
        assert_eq!(request.version, expected);
        assert_eq!(request.header("authorization"), Some(format!("Bearer {SECRET}").as_bytes()));
        assert_eq!(request.body, b"a=%2f");
        assert!(request.target.ends_with("/echo?q=%20&q=+"), "{}", request.target);
        let echoed = got.stdout();
        assert!(echoed.contains("authorization: Bearer **********"), "{echoed}");
        assert!(!echoed.contains(SECRET) && !echoed.contains(token.expose()), "{echoed}");
        let record = proxied.record();
        assert!(
            record.contains("\"kind\":\"egress-request\"") && record.contains("\"provider\":\"api\""),
            "{record}"
        );
        assert!(!record.contains(SECRET) && !record.contains(token.expose()));
    }
}

#[test]
fn req_e07_query_path_and_basic_are_swapped_and_all_else_is_left_as_it_is() {
    for (version, flag) in [(HttpVersion::Http1, "--http1.1"), (HttpVersion::Http2, "--http2")] {
        let proxied = Proxied::tls(&[version]);
        let [key, bot, git] = [2, 3, 4].map(|provider| proxied.token(provider));
        let urls = [
            format!("https://key.example.test/v1/m%6fdels?b=%20&key={}&a=+", key.expose()),
            format!("https://bot.example.test/bot{}/send?x=1", bot.expose()),
            "https://git.example.test/repo.git/info/refs".to_owned(),
        ];
        let user = format!("me:{}", git.expose());
        let shown: Vec<_> = [vec![flag, &urls[0]], vec![flag, &urls[1]], vec![flag, "-u", &user, &urls[2]]]
            .iter()
            .map(|args| proxied.curl(args).run().expect_status(0).stdout())
            .collect();
        let requests = proxied.upstream.requests();
        assert_eq!(requests.len(), 3, "{shown:?}");
        let ends =
            |at: usize, end: &str| assert!(requests[at].target.ends_with(end), "{}", requests[at].target);
        ends(0, &format!("/v1/m%6fdels?b=%20&key={SECRET}&a=+"));
        ends(1, &format!("/bot{SECRET}/send?x=1"));
        assert_eq!(
            requests[2].header("authorization"),
            Some(&b"Basic bWU6c2stY2FuYXJ5LTdmM2E5YjJjNGQ1ZTZmNzA="[..])
        );
        for shown in shown {
            assert!(!shown.contains(SECRET) && !shown.contains("c2stY2FuYXJ5LTdmM2E5YjJj"), "{shown}");
        }
        let record = proxied.record();
        assert!(record.contains("\"path\":\"/bot{}/send\""), "{record}");
        assert!(![key, bot, git].iter().any(|token| record.contains(token.expose())), "{record}");
    }
}

#[test]
fn req_e07_basic_is_swapped_in_either_half_and_the_other_one_is_left_as_it_is() {
    let proxied = Proxied::tls(&[HttpVersion::Http1]);
    let token = proxied.token(4);
    let url = "https://git.example.test/repo.git/info/refs";
    for (user, expected) in [
        (format!("{}:x-oauth-basic", token.expose()), format!("{SECRET}:x-oauth-basic")),
        (format!("x-access-token:{}", token.expose()), format!("x-access-token:{SECRET}")),
        (format!("{}:", token.expose()), format!("{SECRET}:")),
    ] {
        proxied.curl(&["-f", "-u", &user, url]).run().expect_status(0);
        let request = proxied.upstream.requests().pop().expect("a request");
        let sent = request.header("authorization").and_then(|value| value.strip_prefix(b"Basic "));
        assert_eq!(STANDARD.decode(sent.expect("Basic")).expect("base64"), expected.as_bytes());
    }
    let both = format!("{0}:{0}", token.expose());
    for (user, expected) in [(both.as_str(), "token-duplicate"), ("me:own-password", "credential-foreign")] {
        let got = proxied.curl(&["-i", "-u", user, url]).run().expect_status(0);
        assert_eq!(reason(&got.stdout()), Some(expected), "{}", got.stdout());
    }
    assert_eq!(proxied.upstream.requests().len(), 3);
}

#[test]
fn req_e01_an_echo_is_redacted_in_headers_and_trailers() {
    for version in BOTH {
        let proxied = Proxied::tls(&[version]);
        let header = format!("Authorization: Bearer {}", proxied.token(0).expose());
        for (path, place) in [
            ("/header", EchoPlace::Header("location".to_owned())),
            ("/trailer", EchoPlace::Trailer("x-echo".to_owned())),
        ] {
            proxied.upstream.route(path, Reply::Echo { place, coding: Coding::Identity });
            let flag = if version == HttpVersion::Http2 { "--http2" } else { "--http1.1" };
            let url = proxied.url(path);
            let args = [flag, "-D", "headers", "-H", "TE: trailers", "-H", &header, &url];
            proxied.curl(&args).run().expect_status(0);
            let headers = proxied.home.read("headers");
            assert!(headers.contains("Bearer [redacted:api]"), "{version:?} {path}: {headers}");
            assert!(!headers.contains(SECRET), "{headers}");
        }
    }
}

#[test]
fn req_e01_a_compressed_answer_that_nobody_asked_for_is_looked_into() {
    for version in BOTH {
        let proxied = Proxied::tls(&[version]);
        let header = format!("Authorization: Bearer {}", proxied.token(0).expose());
        for coding in [Coding::Gzip, Coding::Brotli, Coding::Zstd] {
            proxied.upstream.route("/coded", Reply::Echo { place: EchoPlace::Body, coding });
            let flag = if version == HttpVersion::Http2 { "--http2" } else { "--http1.1" };
            let got =
                proxied.curl(&[flag, "-i", "-H", &header, &proxied.url("/coded")]).run().expect_status(0);
            let got = got.stdout();
            assert!(got.contains("authorization: Bearer [redacted:api]"), "{coding:?}: {got}");
            assert!(!got.contains("content-encoding") && !got.contains(SECRET), "{got}");
        }
        let headers = vec![("content-encoding".to_owned(), "x-unknown".to_owned())];
        proxied.upstream.route("/unknown", Reply::Fixed { status: 200, headers, body: b"?".to_vec() });
        let got = proxied.curl(&["-i", "-H", &header, &proxied.url("/unknown")]).run().expect_status(0);
        assert_eq!(reason(&got.stdout()), Some("decompression-limited"), "{}", got.stdout());
        let requests = proxied.upstream.requests();
        assert!(requests.iter().all(|request| request.header("accept-encoding") == Some(b"identity")));
    }
}

#[test]
fn req_e02_e34_what_is_not_allowed_is_refused_before_anything_is_looked_up_or_dialled() {
    let proxied = Proxied::tls(&BOTH);
    let connect = |target: &str| proxied.raw(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"));
    for (target, expected) in [
        ("evil.example.test:443", "host-not-allowed"),
        ("api.example.test:22", "port-not-allowed"),
        ("api.example.test:0", "target-malformed"),
        ("user@api.example.test:443", "target-malformed"),
        ("0x7f.1:443", "target-malformed"),
    ] {
        assert_eq!(reason(&connect(target)), Some(expected), "{target}");
    }
    let got = proxied.raw(
        "GET http://evil.example.test/ HTTP/1.1\r\nHost: evil.example.test\r\nConnection: close\r\n\r\n",
    );
    assert!(got.starts_with("HTTP/1.1 403 "), "{got}");
    assert_eq!(reason(&got), Some("host-not-allowed"));
    assert!(!got.to_ascii_lowercase().contains("foreign_credentials"));
    assert!(proxied.upstream.connections().is_empty());
    assert!(proxied.record().contains("\"reason\":\"host-not-allowed\""));
}

#[test]
fn req_e03_addresses_that_must_not_be_reached_are_not_though_their_names_are_allowed() {
    let proxied = Proxied::tls(&BOTH);
    for url in ["http://localhost/", "http://127.0.0.1/", "http://169.254.169.254/latest/meta-data/"] {
        let got = proxied.curl(&["-i", url]).run().expect_status(0);
        assert_eq!(reason(&got.stdout()), Some("address-denied"), "{url}: {}", got.stdout());
    }
    assert!(proxied.upstream.connections().is_empty());
}

#[test]
fn req_e29_a_token_elsewhere_is_refused_and_the_upstream_not_contacted() {
    let proxied = Proxied::tls(&BOTH);
    let token = proxied.token(0);
    let bearer = format!("Authorization: Bearer {}", token.expose());
    let (other, copy) = (format!("x-api-key: {}", token.expose()), format!("x-copy: {}", token.expose()));
    let own = "Authorization: Bearer sk-attacker-0123456789";
    let in_query = proxied.url(&format!("/?key={}", token.expose()));
    let api = proxied.url("/");
    for (args, expected) in [
        (vec!["-H", &other, "https://other.example.test/"], "token-wrong-host"),
        (vec!["-H", &bearer, "https://plain.example.test/"], "token-wrong-host"),
        (vec!["-H", &copy, &api], "token-misplaced"),
        (vec![&in_query], "token-misplaced"),
        (vec!["-H", &bearer, "-H", &copy, &api], "token-duplicate"),
        (vec!["-H", own, &api], "credential-foreign"),
    ] {
        let got = proxied.curl(&[&["-i"], &args[..]].concat()).run().expect_status(0);
        assert_eq!(reason(&got.stdout()), Some(expected), "{args:?}: {}", got.stdout());
    }
    assert!(proxied.upstream.connections().is_empty());
    let elsewhere = proxied.listen(ClientId::new(), Door::Proxy);
    let through = format!("http://{elsewhere}");
    let got = proxied.curl(&["-x", &through, "-i", "-H", &bearer, &api]).run().expect_status(0);
    assert_eq!(reason(&got.stdout()), Some("token-wrong-client"), "{}", got.stdout());
    assert!(proxied.upstream.requests().is_empty());
    proxied.curl(&["-f", "-H", &bearer, &api]).run().expect_status(0);
    assert_eq!(proxied.upstream.requests().len(), 1, "the same token at its place works");
}

#[test]
fn absolute_form_and_both_transparent_ways_in_work_on_one_port() {
    let plain = Proxied::new(Transport::Plain);
    plain.curl(&["-f", "http://plain.example.test/absolute?x=%20"]).run().expect_status(0);
    let got = plain
        .raw("GET /origin HTTP/1.1\r\nHost: plain.example.test\r\nX-CaSe: kept\r\nConnection: close\r\n\r\n");
    assert!(got.starts_with("HTTP/1.1 200 "), "{got}");
    let requests = plain.upstream.requests();
    let start = |at: usize| String::from_utf8_lossy(&requests[at].raw).into_owned();
    assert!(
        start(0).starts_with("GET /absolute?x=%20 HTTP/1.1\r\nHost: plain.example.test\r\n"),
        "{}",
        start(0)
    );
    assert!(
        start(1).starts_with("GET /origin HTTP/1.1\r\n") && start(1).contains("\r\nX-CaSe: kept\r\n"),
        "{}",
        start(1)
    );

    let tls = Proxied::tls(&BOTH);
    let header = format!("Authorization: Bearer {}", tls.token(0).expose());
    let connect_to = format!("{HOST}:443:{}", tls.address);
    let args = ["-f", "-x", "", "--connect-to", &connect_to, "-H", &header, &tls.url("/transparent")];
    tls.curl(&args).run().expect_status(0);
    assert_eq!(
        tls.upstream.requests()[0].header("authorization"),
        Some(format!("Bearer {SECRET}").as_bytes())
    );
    let evil = format!("evil.example.test:443:{}", tls.address);
    tls.curl(&["-x", "", "--connect-to", &evil, "https://evil.example.test/"]).run().expect_status(35);
}

#[test]
fn req_e26_connections_are_used_again_and_clients_keep_theirs() {
    let proxied = Proxied::tls(&BOTH);
    let header = format!("Authorization: Bearer {}", proxied.token(0).expose());
    for version in ["--http1.1", "--http2"] {
        let urls = [1, 2, 3].map(|number| proxied.url(&format!("/{number}")));
        let got = proxied
            .curl(&[
                version,
                "-f",
                "-H",
                &header,
                "-w",
                "%{num_connects}\n",
                "-o",
                "a",
                &urls[0],
                "-o",
                "b",
                &urls[1],
                "-o",
                "c",
                &urls[2],
            ])
            .run()
            .expect_status(0);
        assert_eq!(got.stdout(), "1\n0\n0\n");
    }
    let connections = proxied.upstream.connections();
    let versions: Vec<_> = connections.iter().map(|connection| connection.version).collect();
    assert_eq!(versions, [Some(HttpVersion::Http1), Some(HttpVersion::Http2)]);
    assert!(connections.iter().all(|connection| connection.server_name.as_deref() == Some(HOST)));
}
