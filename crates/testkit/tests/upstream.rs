//! The upstream records exactly what a real client sent, and answers as scripted.

use std::io::Read;

use cofferdam_testkit::upstream::{
    Coding, EchoPlace, HttpVersion, Reply, Transport, Upstream, UpstreamOptions,
};
use cofferdam_testkit::{Cofferdam, Home};

struct Client {
    home: Home,
    upstream: Upstream,
}

impl Client {
    fn new(transport: Transport) -> Self {
        let home = Home::new();
        let names = vec!["api.example.test".to_owned(), "127.0.0.1".to_owned()];
        let upstream = Upstream::start(&UpstreamOptions { names, transport });
        home.write("ca.pem", upstream.ca_pem());
        Self { home, upstream }
    }

    fn tls(version: HttpVersion) -> Self {
        Self::new(Transport::Tls(vec![version]))
    }

    /// `curl`, quiet, unbuffered, trusting the upstream's authority alone.
    fn curl(&self, path: &str, args: &[&str]) -> Cofferdam {
        let port = self.upstream.port();
        let resolve = format!("api.example.test:{port}:127.0.0.1");
        Cofferdam::new("/usr/bin/curl", &self.home)
            .args(["-q", "-sS", "-N", "--cacert", "ca.pem", "--resolve", &resolve])
            .args(args)
            .arg(format!("https://api.example.test:{port}{path}"))
    }
}

#[test]
fn an_http1_request_is_recorded_byte_for_byte() {
    let client = Client::tls(HttpVersion::Http1);
    let args =
        ["-A", "Client/1", "-H", "X-MiXed:  two  spaces", "-H", "Accept:", "--data-binary", "a=%2f&b=\u{fc}"];
    client.curl("/p%61th?q=%20&q=+", &args).run().expect_status(0);
    let [request] = &client.upstream.requests()[..] else { panic!("one request") };
    let expected = format!(
        "POST /p%61th?q=%20&q=+ HTTP/1.1\r\nHost: api.example.test:{}\r\nUser-Agent: Client/1\r\n\
         X-MiXed:  two  spaces\r\nContent-Length: 10\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\na=%2f&b=\u{fc}",
        client.upstream.port()
    );
    assert_eq!(String::from_utf8_lossy(&request.raw), expected);
    assert_eq!(request.body, "a=%2f&b=\u{fc}".as_bytes());
    assert_eq!(request.header("x-mixed"), Some(&b"two  spaces"[..]));
    assert_eq!(request.version, HttpVersion::Http1);
    let [connection] = &client.upstream.connections()[..] else { panic!("one connection") };
    assert_eq!(connection.server_name.as_deref(), Some("api.example.test"));
}

#[test]
fn requests_on_one_connection_are_told_apart() {
    let client = Client::tls(HttpVersion::Http1);
    let second = format!("https://api.example.test:{}/second", client.upstream.port());
    client
        .curl("/first", &["-H", "Transfer-Encoding: chunked", "-d", "body", &second])
        .run()
        .expect_status(0);
    let requests = client.upstream.requests();
    let heads: Vec<_> = requests.iter().map(|request| (request.connection, &request.raw[..10])).collect();
    assert_eq!(heads, [(0, &b"POST /seco"[..]), (0, &b"POST /firs"[..])]);
    for request in &requests {
        assert!(request.raw.ends_with(b"\r\n\r\n4\r\nbody\r\n0\r\n\r\n"), "{}", request.raw.escape_ascii());
        assert_eq!(request.body, b"body");
    }
}

#[test]
fn an_http2_request_is_recorded_with_its_header_list() {
    let client = Client::tls(HttpVersion::Http2);
    client.curl("/path?q=1", &["--http2", "-H", "X-Key: value", "-d", "body"]).run().expect_status(0);
    let [request] = &client.upstream.requests()[..] else { panic!("one request") };
    assert_eq!(request.version, HttpVersion::Http2);
    assert_eq!(request.target, format!("https://api.example.test:{}/path?q=1", client.upstream.port()));
    assert_eq!((request.method.as_str(), request.header("x-key")), ("POST", Some(&b"value"[..])));
    assert_eq!((request.body.as_slice(), request.raw.len()), (&b"body"[..], 0));
}

#[test]
fn the_version_is_agreed_on_in_the_handshake() {
    let client = Client::new(Transport::Tls(vec![HttpVersion::Http2, HttpVersion::Http1]));
    client.curl("/", &["--http2"]).run().expect_status(0);
    client.curl("/", &["--http1.1"]).run().expect_status(0);
    let versions: Vec<_> = client.upstream.requests().iter().map(|request| request.version).collect();
    assert_eq!(versions, [HttpVersion::Http2, HttpVersion::Http1]);
}

#[test]
fn a_client_that_does_not_trust_the_authority_leaves_a_connection_and_no_request() {
    let client = Client::tls(HttpVersion::Http1);
    client.home.write("ca.pem", Client::tls(HttpVersion::Http1).upstream.ca_pem());
    client.curl("/", &[]).run().expect_status(60);
    assert_eq!(client.upstream.connections().len(), 1);
    assert!(client.upstream.requests().is_empty());
}

#[test]
fn echoes_come_back_in_every_place_and_coding() {
    for version in [HttpVersion::Http1, HttpVersion::Http2] {
        let client = Client::tls(version);
        for (path, coding, name) in [
            ("/gzip", Coding::Gzip, Some("gzip")),
            ("/br", Coding::Brotli, Some("br")),
            ("/zstd", Coding::Zstd, Some("zstd")),
            ("/plain", Coding::Identity, None),
        ] {
            client.upstream.route(path, Reply::Echo { place: EchoPlace::Body, coding });
            let got =
                client.curl(path, &["-i", "--compressed", "-H", "X-Key: canary"]).run().expect_status(0);
            let got = got.stdout().to_ascii_lowercase();
            assert!(got.contains("\nx-key: canary\n"), "{got}");
            let encoding = name.map(|name| format!("\ncontent-encoding: {name}\r\n"));
            assert_eq!(got.contains("content-encoding"), encoding.is_some());
            assert!(encoding.is_none_or(|encoding| got.contains(&encoding)), "{got}");
        }
        for (path, place) in [
            ("/header", EchoPlace::Header("location".to_owned())),
            ("/trailer", EchoPlace::Trailer("x-echo".to_owned())),
        ] {
            client.upstream.route(path, Reply::Echo { place, coding: Coding::Identity });
            let args = ["-i", "-D", "headers", "-H", "TE: trailers", "-H", "X-Key: canary"];
            client.curl(path, &args).run().expect_status(0);
            let headers = client.home.read("headers").to_ascii_lowercase();
            assert!(headers.contains("x-key=canary"), "{version:?} {path}: {headers}");
        }
    }
}

#[test]
fn a_stream_goes_on_when_the_test_says_so() {
    for version in [HttpVersion::Http1, HttpVersion::Http2] {
        let client = Client::tls(version);
        let stream = client.upstream.stream("/events", "text/event-stream");
        let mut curl = client.curl("/events", &[]).spawn();
        let mut stdout = curl.stdout.take().expect("a pipe");
        for piece in ["data: one\n\n", "data: two\n\n"] {
            stream.send(piece);
            // Blocks for ever if anything on the way waits for more than this piece.
            let mut got = vec![0; piece.len()];
            stdout.read_exact(&mut got).expect("the piece");
            assert_eq!(got, piece.as_bytes());
        }
        stream.finish();
        assert_eq!(stdout.read(&mut [0; 1]).expect("the end"), 0);
        assert!(curl.wait().expect("an end").success());
        client.curl("/events", &["-f"]).run().expect_status(22);
    }
}

#[test]
fn fixed_answers_and_plain_http_work() {
    let client = Client::new(Transport::Plain);
    let headers = vec![("x-one".to_owned(), "1".to_owned())];
    client.upstream.route("/fixed", Reply::Fixed { status: 429, headers, body: b"slow\n".to_vec() });
    let url = format!("http://{}/fixed", client.upstream.address());
    let got = Cofferdam::new("/usr/bin/curl", &client.home).args(["-q", "-sSi", &url]).run().expect_status(0);
    assert!(got.stdout().starts_with("HTTP/1.1 429 "), "{}", got.stdout());
    assert!(got.stdout().contains("x-one: 1\r\n") && got.stdout().ends_with("\r\n\r\nslow\n"));
    assert!(client.upstream.requests()[0].raw.starts_with(b"GET /fixed HTTP/1.1\r\n"));
}
