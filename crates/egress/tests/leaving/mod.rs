//! Clients that leave while an answer is silent, and clients that only have nothing more to say.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use cofferdam_egress::{ClientId, Door, Life};
use cofferdam_testkit::upstream::HttpVersion;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use crate::answers::{listen, proxied, read_head};
use crate::http2::{trusting, tunnel};
use crate::proxied::{HOST, Proxied};

const BY_HAND: &str = "GET / HTTP/1.1\r\nHost: socket.example.test\r\n\r\n";
/// The library reads this one, and passes its answer on.
const BY_LIBRARY: &str =
    "POST / HTTP/1.1\r\nHost: socket.example.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
const CHUNKS: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n";
const LENGTH: &str = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart";

/// Says something and then nothing more until it is told to, and tells when its client has left.
fn silent(first: &'static str) -> (SocketAddr, SyncSender<&'static str>, Receiver<()>) {
    let (say, said) = sync_channel(0);
    let (leave, left) = sync_channel(8);
    let said = Mutex::new(said);
    let (address, _) = listen(move |stream, _| {
        let Some(head) = read_head(stream) else { return };
        if head.contains("chunked") {
            assert!(read_head(stream).is_some(), "the body");
        }
        stream.write_all(first.as_bytes()).expect("a client");
        let mut listening = stream.try_clone().expect("a socket");
        let leave = leave.clone();
        std::thread::spawn(move || {
            // The end, or a reset: nothing else comes.
            let _ = listening.read(&mut [0]);
            let _ = leave.send(());
        });
        while let Ok(more) = said.lock().expect("one at a time").recv() {
            let _ = stream.write_all(str::as_bytes(more));
        }
    });
    (address, say, left)
}

/// A client that has asked and has heard what there is to hear.
fn waiting(proxied: &Proxied, ask: &str, end: &str) -> TcpStream {
    let mut client = TcpStream::connect(proxied.address).expect("the proxy listens");
    client.write_all(ask.as_bytes()).expect("the proxy reads");
    let mut got = Vec::new();
    while !got.ends_with(end.as_bytes()) {
        let mut byte = [0];
        client.read_exact(&mut byte).expect("more");
        got.push(byte[0]);
    }
    client
}

fn reset(client: TcpStream) {
    rustix::net::sockopt::set_socket_linger(&client, Some(std::time::Duration::ZERO)).expect("a socket");
    drop(client);
}

fn wait_for(proxied: &Proxied, what: &str) {
    while !proxied.record().contains(what) {
        std::thread::yield_now();
    }
}

#[test]
fn req_e26_who_resets_the_connection_of_a_silent_answer_is_not_waited_for() {
    for (first, end) in [(CHUNKS, "part"), (LENGTH, "part"), ("", "")] {
        for ask in [BY_HAND, BY_LIBRARY] {
            let (address, _say, left) = silent(first);
            let proxied = proxied(address);
            let client = waiting(&proxied, ask, end);
            if first.is_empty() {
                // It has been asked, and has not said a word.
                wait_for(&proxied, "socket.example.test");
            }
            reset(client);
            left.recv().expect("the upstream hears of it");
            wait_for(&proxied, "\"failure\":\"client-closed\"");
        }
    }
}

#[test]
fn req_e26_who_closes_the_connection_of_a_silent_stream_is_found_out_at_once() {
    let (address, _say, left) = silent(CHUNKS);
    let proxied = proxied(address);
    drop(waiting(&proxied, BY_HAND, "part"));
    left.recv().expect("the upstream hears of it");
    wait_for(&proxied, "\"failure\":\"client-closed\"");
}

fn secure(proxied: &Proxied) -> StreamOwned<ClientConnection, TcpStream> {
    let mut stream = TcpStream::connect(proxied.address).expect("the proxy listens");
    stream.write_all(format!("CONNECT {HOST}:443 HTTP/1.1\r\n\r\n").as_bytes()).expect("the proxy reads");
    assert!(read_head(&mut stream).expect("an answer").starts_with("HTTP/1.1 200 "));
    let mut config = ClientConfig::clone(&trusting(proxied));
    config.alpn_protocols.clear();
    let name = ServerName::try_from(HOST).expect("a name");
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).expect("a client"), stream)
}

#[test]
fn req_e26_a_connection_that_ends_without_farewell_inside_tls_is_one_that_was_left() {
    for farewell in [false, true] {
        let proxied = Proxied::tls(&[HttpVersion::Http1]);
        let stream = proxied.upstream.stream("/lines", "text/event-stream");
        let bearer = format!("Authorization: Bearer {}", proxied.token(0).expose());
        let mut client = secure(&proxied);
        write!(client, "GET /lines HTTP/1.1\r\nHost: {HOST}\r\n{bearer}\r\n\r\n").expect("the proxy reads");
        let mut got = Vec::new();
        stream.send("one\n");
        while !got.ends_with(b"one\n\r\n") {
            let mut byte = [0];
            client.read_exact(&mut byte).expect("more");
            got.push(byte[0]);
        }
        if farewell {
            // All is said, and the rest is listened to.
            client.conn.send_close_notify();
            client.flush().expect("the proxy reads");
            stream.send("two\n");
            stream.finish();
            let mut rest = String::new();
            client.read_to_string(&mut rest).expect("the end in due form");
            assert!(rest.contains("4\r\ntwo\n\r\n") && rest.ends_with("0\r\n\r\n"), "{rest}");
        } else {
            drop(client);
            wait_for(&proxied, "\"failure\":\"client-closed\"");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn req_e15_e26_a_body_of_http2_that_its_client_breaks_off_is_not_the_upstreams_doing() {
    let proxied = Proxied::tls(&[HttpVersion::Http2]);
    let (mut sender, connection) = h2::client::handshake(tunnel(&proxied, HOST).await).await.expect("HTTP/2");
    tokio::spawn(connection);
    let request = http::Request::post(format!("https://{HOST}/upload"))
        .header("authorization", format!("Bearer {}", proxied.token(0).expose()));
    let (answer, mut body) = sender.send_request(request.body(()).expect("a request"), false).expect("room");
    body.send_data("part".into(), false).expect("room");
    tokio::task::spawn_blocking(move || {
        wait_for(&proxied, "/upload");
        body.send_reset(h2::Reason::CANCEL);
        wait_for(&proxied, "\"failure\":\"");
        assert!(proxied.record().contains("\"failure\":\"client-closed\""), "{}", proxied.record());
    })
    .await
    .expect("the record says so");
    assert!(answer.await.is_err());
}

/// Who does not read uses up the room of its connection to the host; others must not be on it.
#[test]
fn req_e22_a_client_whose_answer_is_open_shares_its_connection_with_no_other() {
    let proxied = Proxied::tls(&[HttpVersion::Http2]);
    let url = |path: &str| format!("https://{HOST}{path}");
    let bearer = |token: &str| format!("Authorization: Bearer {token}");
    let own = bearer(proxied.token(0).expose());
    // On every thread of the proxy, which goes to one that has little to do.
    let open = ["/lines/1", "/lines/2", "/lines/3", "/lines/4"].map(|path| {
        let stream = proxied.upstream.stream(path, "text/event-stream");
        let client = proxied.curl(&["--http2", "-sN", "-H", &own, &url(path)]).spawn();
        stream.send("one\n");
        wait_for(&proxied, path);
        (stream, client)
    });
    let id = ClientId::new();
    let theirs = format!("http://{}", proxied.listen(id, Door::Proxy));
    let token = proxied.proxy.tokens().mint(id, &proxied.providers[0], Life::Sandbox).expect("randomness");
    for _ in 0..8 {
        let words = ["--http2", "-s", "-x", &theirs, "-H", &bearer(token.expose()), &url("/hello")];
        proxied.curl(&words).run().expect_status(0);
    }
    let requests = proxied.upstream.requests();
    let on = |path: &str| -> Vec<usize> {
        requests.iter().filter(|asked| asked.target.contains(path)).map(|asked| asked.connection).collect()
    };
    let (theirs, ours) = (on("/hello"), on("/lines/"));
    assert_eq!((theirs.len(), ours.len()), (8, open.len()));
    assert!(theirs.iter().all(|connection| !ours.contains(connection)), "{theirs:?} {ours:?}");
    for (stream, client) in open {
        stream.finish();
        assert!(client.wait_with_output().expect("its end").status.success());
    }
}

/// The pieces of a body in chunks, whose sizes may begin with zeros.
fn chunks(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    loop {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a line");
            line.push(byte[0]);
        }
        let size = usize::from_str_radix(String::from_utf8(line).expect("text").trim(), 16).expect("a size");
        let mut piece = vec![0; size + 2];
        stream.read_exact(&mut piece).expect("a chunk");
        if size == 0 {
            return text;
        }
        text.push_str(std::str::from_utf8(&piece[..size]).expect("text"));
    }
}

#[test]
fn req_e26_who_has_said_all_gets_the_whole_answer() {
    for ask in [BY_HAND, BY_LIBRARY] {
        for early in [true, false] {
            let (address, say, _left) = silent("");
            let proxied = proxied(address);
            let mut client = waiting(&proxied, ask, "");
            if early {
                client.shutdown(Shutdown::Write).expect("half a connection");
            }
            say.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n")
                .expect("the upstream");
            assert!(read_head(&mut client).expect("an answer").starts_with("HTTP/1.1 200 OK\r\n"));
            if !early {
                client.shutdown(Shutdown::Write).expect("half a connection");
            }
            for more in ["5\r\n and \r\n", "4\r\nmore\r\n", "0\r\n\r\n"] {
                say.send(more).expect("the upstream");
            }
            assert_eq!(chunks(&mut client), "part and more");
            let mut rest = Vec::new();
            client.read_to_end(&mut rest).expect("the end");
            assert!(rest.is_empty(), "{}", String::from_utf8_lossy(&rest));
        }
    }
}

#[test]
fn req_e26_what_is_asked_while_an_answer_is_silent_is_answered_after_it() {
    for ask in [BY_HAND, BY_LIBRARY] {
        let (address, say, _left) =
            silent("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n");
        let proxied = proxied(address);
        let mut client = waiting(&proxied, ask, "\r\n\r\n");
        // More than one, in pieces, and more than is read ahead.
        let other = "GET http://plain.example.test/ HTTP/1.1\r\nHost: other.example.test\r\n";
        client.write_all(other.as_bytes()).expect("the proxy reads");
        client.write_all(b"\r\n").expect("the proxy reads");
        let filler = format!("X: {}\r\n", "x".repeat(60_000));
        let writing = {
            let mut client = client.try_clone().expect("a socket");
            let large = format!("GET /x HTTP/1.1\r\nHost: nobody.example.test\r\n{filler}\r\n").repeat(3);
            std::thread::spawn(move || client.write_all(large.as_bytes()).expect("the proxy reads"))
        };
        for more in ["4\r\nmore\r\n", "0\r\n\r\n"] {
            say.send(more).expect("the upstream");
        }
        assert_eq!(chunks(&mut client), "partmore");
        let mut statuses = Vec::new();
        for _ in 0..4 {
            let head = read_head(&mut client).expect("an answer");
            let length = head
                .to_lowercase()
                .lines()
                .find_map(|line| Some(line.strip_prefix("content-length: ")?.to_owned()));
            let mut body = vec![0; length.expect("a length").parse().expect("a number")];
            client.read_exact(&mut body).expect("a body");
            statuses.push(head[9..12].to_owned());
        }
        assert_eq!(statuses, ["400", "403", "403", "403"]);
        writing.join().expect("all was read");
    }
}
