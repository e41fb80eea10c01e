//! A credential goes to its declared place and to no other; a token or a stranger's credential anywhere else is refused,
//! with a reason of its own, and nobody is contacted.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use cofferdam_testkit::processes::wait_until;

use crate::served::{
    HOST, JSON, OTHER, OTHER_SECRET, PLAIN, QUERY, SECRET, Served, exchange, token, verdict,
};

/// Every request that is refused for where its token stands.
fn misplaced(acme: &str) -> Vec<(&'static str, String, String, &'static str)> {
    let ours = format!("Authorization: Bearer {acme}\r\n");
    let line = |text: String| text + "\r\n";
    let percent: String = acme.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let basic = STANDARD.encode(format!("user:{acme}"));
    vec![
        (HOST, format!("GET /?key={acme}"), String::new(), "token-misplaced"),
        (HOST, format!("GET /bot{acme}/x"), String::new(), "token-misplaced"),
        (HOST, "GET /".to_owned(), line(format!("X-Api-Key: {acme}")), "token-misplaced"),
        (HOST, "GET /".to_owned(), line(format!("Cookie: sid={acme}")), "token-misplaced"),
        (HOST, format!("GET /?q={percent}"), String::new(), "token-misplaced"),
        (
            HOST,
            format!("GET /?q={}", URL_SAFE_NO_PAD.encode(format!("xy{acme}"))),
            String::new(),
            "token-misplaced",
        ),
        (HOST, "GET /".to_owned(), line(format!("Authorization: Basic {basic}")), "token-misplaced"),
        (HOST, format!("GET /?key={acme}"), ours.clone(), "token-duplicate"),
        (HOST, "GET /".to_owned(), ours.repeat(2), "token-duplicate"),
        (OTHER, "GET /".to_owned(), line(format!("x-api-key: {acme}")), "token-wrong-host"),
        (OTHER, "GET /".to_owned(), ours.clone(), "token-misplaced"),
        (PLAIN, "GET /".to_owned(), ours.clone(), "token-wrong-host"),
        (PLAIN, format!("GET /{acme}"), String::new(), "token-wrong-host"),
        (QUERY, format!("GET /?key={acme}"), String::new(), "token-wrong-host"),
    ]
}

#[test]
fn req_e29_a_token_anywhere_but_at_its_place_is_refused_with_its_own_reason() {
    let served = Served::started("", "");
    let cases = misplaced(served.token("acme"));
    for (host, first, lines, expected) in &cases {
        let answer = served.ask(host, first, lines, "");
        assert_eq!(verdict(&answer), (403, Some(*expected)), "{host} {first} {lines}: {answer}");
    }
    let clear = format!(
        "GET http://{HOST}/ HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        served.token("acme")
    );
    let answer = String::from_utf8_lossy(&exchange(served.connection(), clear.as_bytes())).into_owned();
    assert_eq!(verdict(&answer).0, 403, "a credential does not travel in the clear: {answer}");
    assert!(served.upstream.connections().is_empty(), "nobody was contacted");
    let record = served.record();
    assert!(!record.contains(served.token("acme")) && !served.daemon.log().contains(served.token("acme")));
    for expected in ["token-misplaced", "token-duplicate", "token-wrong-host"] {
        let count = cases.iter().filter(|(.., reason)| *reason == expected).count();
        assert_eq!(record.matches(&format!("\"reason\":\"{expected}\"")).count(), count, "{expected}");
        let counted = format!("reason=\"{expected}\"}} {count}");
        wait_until("it is counted", || served.metrics().contains(&counted));
    }
}

#[test]
fn req_e29_the_credential_stands_where_the_token_stood_and_nowhere_else() {
    let served = Served::started("", "");
    let document = |key: &str| format!("{{\"auth\": {{ \"key\":\"{key}\" }}, \"n\": 1.0}}");
    let cases = [
        (HOST, "acme", "GET /".to_owned(), "authorization: Bearer {}\r\n", String::new()),
        (OTHER, "other", "GET /".to_owned(), "X-Api-Key: {}\r\n", String::new()),
        (QUERY, "query", "GET /?a=1&key={}&b=%2F".to_owned(), "", String::new()),
        (JSON, "json", "POST /".to_owned(), "", document("{}")),
    ];
    for (number, (host, provider, first, lines, body)) in cases.iter().enumerate() {
        let filled = |text: &str| text.replace("{}", served.token(provider));
        let answer = served.ask(host, &filled(first), &filled(lines), &filled(body));
        assert_eq!(verdict(&answer), (200, None), "{host}: {answer}");
        let secret = if *provider == "other" { OTHER_SECRET } else { SECRET };
        let requests = served.upstream.requests();
        assert_eq!(requests.len(), number + 1);
        let raw = String::from_utf8_lossy(&requests[number].raw).into_owned();
        assert_eq!(raw.matches(secret).count(), 1, "{raw}");
        assert!(!raw.contains(served.token(provider)), "the upstream never sees a token: {raw}");
        for written in [first, *lines, body].map(|text: &str| text.replace("{}", secret)) {
            assert!(raw.contains(written.trim_end()), "{written} in {raw}");
        }
    }
}

/// What belongs to somebody else, in every place where hosts look for credentials.
fn foreign() -> Vec<(&'static str, &'static str, &'static str)> {
    vec![
        (HOST, "GET /", "Authorization: Bearer sk-somebody-else-0123456789\r\n"),
        (HOST, "GET /", "Authorization: Basic dXNlcjpwYXNzd29yZC0wMTIzNDU2Nzg5\r\n"),
        (HOST, "GET /", "x-api-key: sk-somebody-else-0123456789\r\n"),
        (HOST, "GET /?api_key=sk-somebody-else-0123456789", ""),
        (OTHER, "GET /", "x-api-key: sk-somebody-else-0123456789\r\n"),
        (QUERY, "GET /?key=sk-somebody-else-0123456789", ""),
    ]
}

#[test]
fn req_e29_a_strangers_credential_does_not_pass_to_a_host_that_has_one_of_ours() {
    let served = Served::started("", "");
    for (host, first, lines) in foreign() {
        let answer = served.ask(host, first, lines, "");
        assert_eq!(verdict(&answer), (403, Some("credential-foreign")), "{host} {first} {lines}: {answer}");
    }
    assert!(served.upstream.connections().is_empty());
    assert_eq!(served.record().matches("\"reason\":\"credential-foreign\"").count(), foreign().len());
    // A host that has none of ours is somebody else's to log in to.
    let answer = served.ask(PLAIN, "GET /", "Authorization: Bearer sk-somebody-else-0123456789\r\n", "");
    assert_eq!(verdict(&answer), (200, None));
    // The twin: where that is allowed in so many words, they do pass.
    let lax = Served::started("foreign_credentials = \"pass\"", "");
    for (host, first, lines) in foreign() {
        assert_eq!(verdict(&lax.ask(host, first, lines, "")), (200, None), "{host} {first} {lines}");
    }
}

#[test]
fn req_e29_a_token_that_was_revoked_or_never_made_is_refused_each_with_its_reason() {
    let served = Served::started("", "");
    let old = served.token("acme").to_owned();
    let ask = |token: &str| served.ask(HOST, "GET /", &format!("Authorization: Bearer {token}\r\n"), "");
    assert_eq!(verdict(&ask(&old)), (200, None));
    let rotated = served.json(&["rotate-tokens", "--yes", "--json"]);
    assert_eq!(verdict(&ask(&old)), (403, Some("token-revoked")));
    assert_eq!(verdict(&ask(token(&rotated, "acme"))), (200, None));
    let mut guessed = old.clone();
    guessed.replace_range(old.len() - 4.., "0000");
    assert_eq!(verdict(&ask(&guessed)), (403, Some("credential-foreign")));
    assert_eq!(served.upstream.requests().len(), 2);
}

/// Nobody waits for the end of such a body, so the token is seen while it goes; no whole request arrives.
#[test]
fn req_e29_a_token_in_a_body_that_is_passed_on_as_it_comes_breaks_it_off_in_whatever_form() {
    let served = Served::started("", "");
    let acme = served.token("acme");
    let percent: String = acme.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let unicode: String = acme.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
    let forms = [
        acme.to_owned(),
        STANDARD.encode(format!("a{acme}")),
        URL_SAFE_NO_PAD.encode(acme),
        percent,
        unicode,
    ];
    let chunked = |pieces: &[&str]| {
        let chunks: String = pieces.iter().map(|piece| format!("{:x}\r\n{piece}\r\n", piece.len())).collect();
        format!(
            "POST / HTTP/1.1\r\nHost: {PLAIN}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n{chunks}"
        )
    };
    for form in &forms {
        let (before, after) = form.split_at(form.len() / 2);
        for pieces in [vec!["name=", form, "&x=1"], vec!["{\"k\":\"", before, after, "\"}"]] {
            let answer = served.send(PLAIN, chunked(&pieces) + "0\r\n\r\n");
            let answer = String::from_utf8_lossy(&answer).into_owned();
            assert_eq!(verdict(&answer), (403, Some("token-wrong-host")), "{form}: {answer}");
        }
    }
    // In what follows a body as well.
    let trailer = chunked(&["x"]).replace("Transfer", "Trailer: X-Note\r\nTransfer")
        + &format!("0\r\nX-Note: {acme}\r\n\r\n");
    let answer = String::from_utf8_lossy(&served.send(PLAIN, trailer)).into_owned();
    assert_eq!(verdict(&answer), (403, Some("token-wrong-host")), "{answer}");
    assert!(served.upstream.requests().is_empty(), "{:?}", served.upstream.requests());
    // The twin: what only looks like it goes through.
    let harmless = acme.replace(&acme[acme.len() - 4..], "0000");
    assert_eq!(
        verdict(&String::from_utf8_lossy(&served.send(PLAIN, chunked(&[&harmless]) + "0\r\n\r\n"))),
        (200, None)
    );
    assert_eq!(served.upstream.requests().len(), 1);
}

#[test]
fn req_e29_a_token_in_a_message_ends_the_socket() {
    let served = Served::started("", "");
    served.upstream.route("/socket", cofferdam_testkit::upstream::Reply::Socket);
    let acme = served.token("acme");
    let mut client = served.tunnel(PLAIN);
    let ask = format!(
        "GET /socket HTTP/1.1\r\nHost: {PLAIN}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    );
    client.write_all(ask.as_bytes()).expect("the proxy reads");
    assert!(crate::served::head(&mut client).starts_with("HTTP/1.1 101 "));
    // A mask of zeros leaves the text as it is.
    let frame =
        [&[0x81, 0x80 | u8::try_from(acme.len()).expect("a short token"), 0, 0, 0, 0], acme.as_bytes()]
            .concat();
    let answer = exchange(client, &frame);
    assert!(!String::from_utf8_lossy(&answer).contains(acme), "it was repeated by nobody");
    wait_until("it is on record", || served.record().contains("\"failure\":\"token-wrong-host\""));
}
