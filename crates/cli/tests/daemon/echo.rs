//! An upstream that sends back what it was sent: nothing of the credential arrives, in whatever it is wrapped, and
//! nothing of it stays anywhere on the way.

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use cofferdam_testkit::Cofferdam;
use cofferdam_testkit::upstream::{Coding, EchoPlace, Recorded, Reply};
use memchr::memmem;

use crate::served::{HOST, OTHER_SECRET, PLAIN, SECRET, Served, exchange, head};

/// A careless server's page about a mistake, with the credential in every usual form.
fn error_page(request: &Recorded) -> (u16, Vec<(String, String)>, Vec<u8>) {
    let sent = String::from_utf8_lossy(request.header("authorization").unwrap_or_default()).into_owned();
    let key = sent.trim_start_matches("Bearer ").to_owned();
    let percent: String = key.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let unicode: String = key.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
    let hex: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
    let base64 =
        [&*key, &format!("a{key}"), &format!("user:{key}")].map(|text| STANDARD.encode(text)).join(" ");
    let page =
        format!("<h1>bad key {key}</h1> {percent} {unicode} {hex} {base64} {}", URL_SAFE_NO_PAD.encode(&key));
    (
        500,
        vec![("x-debug".to_owned(), sent), ("content-type".to_owned(), "image/png".to_owned())],
        page.into_bytes(),
    )
}

/// Every form in which the credential could be recognised.
fn forms() -> Vec<String> {
    let percent: String = SECRET.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let unicode: String = SECRET.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
    let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
    let base64 = |before: &str| STANDARD.encode(format!("{before}{SECRET}"))[8..28].to_owned();
    vec![SECRET.to_owned(), percent, unicode, hex, base64(""), base64("a"), base64("user:")]
}

fn echoing(served: &Served) -> Vec<&'static str> {
    let echo = |place: EchoPlace, coding: Coding| Reply::Echo { place, coding };
    let routes = [
        ("/identity", echo(EchoPlace::Body, Coding::Identity)),
        ("/gzip", echo(EchoPlace::Body, Coding::Gzip)),
        ("/deflate", echo(EchoPlace::Body, Coding::Deflate)),
        ("/br", echo(EchoPlace::Body, Coding::Brotli)),
        ("/zstd", echo(EchoPlace::Body, Coding::Zstd)),
        ("/location", echo(EchoPlace::Header("location".to_owned()), Coding::Identity)),
        ("/cookie", echo(EchoPlace::Header("set-cookie".to_owned()), Coding::Identity)),
        ("/trailer", echo(EchoPlace::Trailer("x-note".to_owned()), Coding::Identity)),
        ("/error", Reply::made(error_page)),
    ];
    routes
        .map(|(path, reply)| {
            served.upstream.route(path, reply);
            path
        })
        .to_vec()
}

#[track_caller]
fn assert_clean(what: &str, bytes: &[u8]) {
    for form in forms() {
        assert!(memmem::find(bytes, form.as_bytes()).is_none(), "{what} holds {form}");
    }
    assert!(memmem::find(bytes, OTHER_SECRET.as_bytes()).is_none(), "{what} holds the other credential");
}

#[test]
fn req_e01_nothing_that_an_upstream_sends_back_shows_the_credential() {
    let served = Served::started("", "");
    let line = format!("Authorization: Bearer {}\r\nTE: trailers\r\n", served.token("acme"));
    for path in echoing(&served) {
        let answer = served.ask(HOST, &format!("GET {path}"), &line, "");
        assert!(answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.1 500"), "{path}: {answer}");
        assert!(answer.contains("redacted") || answer.contains("****"), "{path} was echoed: {answer}");
        assert_clean(path, answer.as_bytes());
        let sent = served.upstream.requests().pop().expect("a request");
        let expected = format!("Bearer {SECRET}");
        assert_eq!(sent.header("authorization"), Some(expected.as_bytes()), "{path}: the probe works");
    }
    for version in ["--http1.1", "--http2"] {
        for path in echoing(&served) {
            let got = curl(
                &served,
                &[version, "-i", "-H", line.lines().next().unwrap(), &format!("https://{HOST}{path}")],
            );
            assert!(
                got.contains("redacted") || got.contains("****") || path == "/trailer",
                "{version} {path}: {got}"
            );
            assert_clean(path, got.as_bytes());
        }
    }
}

fn curl(served: &Served, args: &[&str]) -> String {
    let proxy = format!("http://127.0.0.1:{}", served.daemon.port);
    let call =
        Cofferdam::new("curl", &served.daemon.home).args(["-q", "-sS", "-m", "60", "-x", &proxy, "--cacert"]);
    let asked = call.arg(served.daemon.file("state/ca/ca.crt")).args(args).run();
    asked.stdout() + &asked.stderr()
}

#[test]
fn req_e01_a_stream_and_a_socket_are_cleaned_wherever_they_are_divided() {
    let served = Served::started("", "");
    let line = format!("Authorization: Bearer {}\r\n", served.token("acme"));
    let stream = served.upstream.stream("/lines", "text/event-stream");
    let mut client = served.tunnel(HOST);
    write!(client, "GET /lines HTTP/1.1\r\nHost: {HOST}\r\n{line}Connection: close\r\n\r\n")
        .expect("it reads");
    assert!(head(&mut client).starts_with("HTTP/1.1 200 "));
    let base64 = STANDARD.encode(format!("user:{SECRET}"));
    for text in [SECRET, &base64] {
        for at in 1..text.len() {
            stream.send(format!("data: {}", &text[..at]));
            stream.send(format!("{}\n\n", &text[at..]));
        }
    }
    stream.finish();
    let answer = exchange(client, b"");
    assert_eq!(memmem::find_iter(&answer, b"redacted").count(), SECRET.len() + base64.len() - 2);
    assert_clean("a stream", &answer);

    served.upstream.route("/socket", Reply::Socket);
    let mut client = served.tunnel(HOST);
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";
    write!(client, "GET /socket HTTP/1.1\r\nHost: {HOST}\r\n{line}{upgrade}\r\n").expect("it reads");
    assert!(head(&mut client).starts_with("HTTP/1.1 101 "));
    // It says what it was opened with, then what it was told: that it is over.
    let told = exchange(client, &[0x88, 0x80, 0, 0, 0, 0]);
    assert!(memmem::find(&told, b"Bearer ****").is_some(), "{}", String::from_utf8_lossy(&told));
    assert_clean("a socket", &told);
}

/// What comes before the answer is passed on, without what must not be shown.
#[test]
fn req_e01_heads_before_the_answer_show_nothing() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("an address");
    let upstream = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        head(&mut stream);
        let hint = format!("HTTP/1.1 103 Early Hints\r\nLink: </{SECRET}>; rel=preload\r\n\r\n");
        let told = hint.clone()
            + &hint.replace("103 Early Hints", "102 Processing")
            + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
        stream.write_all(told.as_bytes()).expect("a client");
    });
    let tables = "[[egress.allow]]\nhosts = [\"hints.example.test\"]\n";
    let served = Served::configured("", tables);
    let config = fs::read_to_string(served.daemon.file("config.toml")).expect("a configuration");
    let at = format!("[egress.resolve]\n\"hints.example.test:80\" = \"{address}\"\n");
    served.daemon.home.write("cofferdam/config.toml", config.replace("[egress.resolve]\n", &at));
    let tokens = served.json(&["setup", "--json"]);
    served.call(&["start"]).expect_status(0);
    // From here on the credential is known, and looked for.
    let line = format!("Authorization: Bearer {}\r\n", crate::served::token(&tokens, "acme"));
    assert!(served.ask(HOST, "GET /", &line, "").starts_with("HTTP/1.1 200"));
    let ask =
        "GET http://hints.example.test/ HTTP/1.1\r\nHost: hints.example.test\r\nConnection: close\r\n\r\n";
    let answer = exchange(served.connection(), ask.as_bytes());
    assert!(answer.ends_with(b"ok"), "{}", String::from_utf8_lossy(&answer));
    assert_clean("a head before the answer", &answer);
    let hints = memmem::find_iter(&answer, b"link: </[redacted:acme]>; rel=preload\r\n").count();
    assert_eq!(hints, 2, "{}", String::from_utf8_lossy(&answer));
    upstream.join().expect("the upstream");
}

/// Every file below a directory.
fn files(directory: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        match entry.file_type().expect("a kind") {
            kind if kind.is_dir() => files(&entry.path(), found),
            kind if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
}

#[test]
fn req_e01_no_file_log_record_message_or_process_holds_a_credential_or_a_token() {
    let mut served = Served::configured("", "");
    served.set_up();
    let start = served.daemon.call(&["start"]).env("ACME_API_KEY", SECRET).env("OTHER_API_KEY", OTHER_SECRET);
    start.env("RUST_LOG", "trace").run().expect_status(0);
    let line = format!("Authorization: Bearer {}\r\n", served.token("acme"));
    for path in echoing(&served) {
        served.ask(HOST, &format!("GET {path}"), &line, "");
        curl(&served, &["-H", line.trim_end(), &format!("https://{HOST}{path}")]);
    }
    served.ask(HOST, &format!("GET /{}", served.token("acme")), "", "");
    served.ask(PLAIN, "GET /", &line, "");
    served.ask(HOST, "GET /", &format!("Authorization: Bearer {SECRET}\r\n"), "");
    let mut held = Vec::new();
    files(served.daemon.home.path(), &mut held);
    assert!(held.iter().any(|path| path.ends_with("daemon.log")) && served.daemon.log().contains("TRACE"));
    for pid in [served.daemon.pid(), served.daemon.worker()] {
        held.extend(
            ["environ", "cmdline", "status", "maps"].map(|name| format!("/proc/{pid}/{name}").into()),
        );
    }
    for path in held {
        // Of the daemon's processes nobody but root sees more than that they are there.
        let Ok(bytes) = fs::read(&path) else { continue };
        assert_clean(&path.display().to_string(), &bytes);
        let token = memmem::find(&bytes, served.token("acme").as_bytes());
        assert!(token.is_none(), "{} holds a token", path.display());
    }
    for words in
        [&["status"][..], &["status", "--json"], &["config"], &["metrics"], &["doctor", "--no-network"]]
    {
        let told = served.call(words);
        assert_clean(words[0], (told.stdout() + &told.stderr()).as_bytes());
    }
    for words in [&["audit", "grep"][..], &["audit", "export"], &["audit", "stats"]] {
        let told = served.call(words).expect_status(0);
        assert_clean(words[1], told.stdout_bytes());
        assert!(!told.stdout().contains(served.token("acme")));
    }
    // The twin: what is searched would be found, as the upstream's own record shows.
    let seen = served.upstream.requests();
    assert!(seen.iter().any(|request| memmem::find(&request.raw, SECRET.as_bytes()).is_some()));
}
