//! A02, A03, A09: ways to somebody who is not at the terminal: the socket for gateways, and the signed webhook.

#[expect(dead_code, reason = "shared with the tests of answers")]
mod asking;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::thread::JoinHandle;

use asking::{ASKED, Waiting, ask, call, decided, home, waiting};
use cofferdam_testkit::Home;
use cofferdam_testkit::processes::wait_until;
use sha2::{Digest, Sha256};

const KEY: &str = "a-key-of-forty-characters-for-both-sides";

/// `approvals serve`, until the test ends.
struct Served {
    child: Child,
    socket: std::path::PathBuf,
}

impl Served {
    fn start(home: &Home) -> Self {
        let child = call(home, &["approvals", "serve"]).spawn();
        let socket = home.path().join("cofferdam/run/approvals.sock");
        wait_until("the socket is served", || UnixStream::connect(&socket).is_ok());
        Self { child, socket }
    }

    /// One line there, one line back.
    fn say(&self, line: &str) -> String {
        let mut stream = UnixStream::connect(&self.socket).expect("it is served");
        writeln!(stream, "{line}").expect("said");
        let mut reply = String::new();
        BufReader::new(stream).read_line(&mut reply).expect("a reply");
        reply
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn gateway(home: &Home, session: &str) -> Waiting {
    Waiting::start(home, &["--session-kind", "gateway", "--session", session, ASKED])
}

/// The value of a key in one line of JSON.
fn value(json: &str, key: &str) -> String {
    let (_, rest) = json.split_once(&format!("\"{key}\":\"")).unwrap_or_default();
    rest.split('"').next().unwrap_or_default().to_owned()
}

#[test]
fn req_a02_a_gateway_sees_and_answers_over_the_socket() {
    let home = home("");
    let served = Served::start(&home);
    assert_eq!(std::fs::metadata(&served.socket).unwrap().permissions().mode() & 0o777, 0o600);
    let first = gateway(&home, "one");
    let id = waiting(&home, 1).remove(0);
    let listed = served.say("{\"do\":\"list\"}");
    assert!(listed.contains(ASKED) && listed.contains(&id), "{listed}");
    let digest = value(&listed, "digest");
    let allow = |digest: &str| format!("{{\"do\":\"allow\",\"id\":\"{id}\",\"digest\":\"{digest}\"}}");
    // Another digest than that of what was shown answers nothing.
    assert!(served.say(&allow("0000")).contains("unknown"));
    assert!(served.say(&allow(&digest)).contains("taken"));
    assert_eq!(first.decided(), "approved");
    // A09: late answers change nothing and are told so.
    assert!(served.say(&allow(&digest)).contains("was already allowed"));
    let second = gateway(&home, "two");
    let id = waiting(&home, 1).remove(0);
    let digest = value(&served.say("{\"do\":\"list\"}"), "digest");
    let deny = format!("{{\"do\":\"deny\",\"id\":\"{id}\",\"digest\":\"{digest}\",\"comment\":\"no\"}}");
    assert!(served.say(&deny).contains("taken"));
    assert_eq!(second.decided(), "denied");
    for nonsense in ["{\"do\":\"approve\"}", "yes", "{\"do\":\"allow\",\"id\":\"x\"}"] {
        assert!(served.say(nonsense).contains("error"), "{nonsense}");
    }
}

#[test]
fn req_a09_a_restart_neither_loses_nor_approves_what_waits() {
    let home = home("");
    let served = Served::start(&home);
    let asker = gateway(&home, "one");
    let id = waiting(&home, 1).remove(0);
    let digest = value(&served.say("{\"do\":\"list\"}"), "digest");
    drop(served);
    let served = Served::start(&home);
    assert!(served.say("{\"do\":\"list\"}").contains(&id), "a restart lost a question");
    // Whoever asked is gone: the question is not answered any more, and that is said.
    asker.kill();
    let late = served.say(&format!("{{\"do\":\"allow\",\"id\":\"{id}\",\"digest\":\"{digest}\"}}"));
    assert!(late.contains("no longer waited for"), "{late}");
    assert!(!served.say("{\"do\":\"list\"}").contains(&id));
    assert_eq!(decided(&ask(&home, &["--session", "one", ASKED]).run()), "nobody-asked");
}

#[test]
fn req_a02_who_watches_is_told_of_what_comes_and_goes() {
    let home = home("");
    let served = Served::start(&home);
    let mut stream = UnixStream::connect(&served.socket).expect("it is served");
    writeln!(stream, "{{\"do\":\"watch\"}}").expect("said");
    let mut lines = BufReader::new(stream).lines();
    let asker = gateway(&home, "one");
    let asked = lines.next().expect("a line").expect("read");
    assert!(asked.contains("asked") && asked.contains(ASKED), "{asked}");
    let (id, digest) = (value(&asked, "id"), value(&asked, "digest"));
    served.say(&format!("{{\"do\":\"deny\",\"id\":\"{id}\",\"digest\":\"{digest}\"}}"));
    let gone = lines.next().expect("a line").expect("read");
    assert!(gone.contains("gone") && gone.contains(&id), "{gone}");
    assert_eq!(asker.decided(), "denied");
}

#[test]
fn req_a09_what_leaves_for_a_chat_holds_no_known_secret() {
    let home = home("");
    let secret = "plainwordsthatlooklikenothingatall";
    let served = {
        let child = call(&home, &["approvals", "serve"]).env("ACME_API_KEY", secret).spawn();
        let socket = home.path().join("cofferdam/run/approvals.sock");
        wait_until("the socket is served", || UnixStream::connect(&socket).is_ok());
        Served { child, socket }
    };
    let command = format!("git push --force https://u:{secret}@git.example.com/r");
    let asker = Waiting::start(&home, &["--session-kind", "gateway", &command]);
    let id = waiting(&home, 1).remove(0);
    let listed = served.say("{\"do\":\"list\"}");
    assert!(listed.contains(&id) && listed.contains("git push --force"), "{listed}");
    assert!(!listed.contains(secret), "{listed}");
    asker.kill();
}

/// A webhook that answers one question with this body, signed with this key over this digest (that of the question
/// where there is none).
fn webhook(
    answer: &'static str,
    key: &'static str,
    digest: Option<&'static str>,
) -> (u16, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a question");
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        while !request.ends_with(b"}") {
            let read = stream.read(&mut buffer).expect("read");
            assert!(read > 0, "the question ended early");
            request.extend_from_slice(&buffer[..read]);
        }
        let request = String::from_utf8(request).expect("text");
        let (head, body) = request.split_once("\r\n\r\n").expect("a body");
        let own = value(body, "digest");
        let reply = answer.replace("DIGEST", &own);
        let signature = hmac(key, &format!("{}.{reply}", digest.unwrap_or(&own)));
        write!(stream, "HTTP/1.0 200 OK\r\ncofferdam-signature: sha256={signature}\r\n\r\n{reply}")
            .expect("told");
        let header = |name: &str| {
            let line = head.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            line.trim_start_matches([':', ' ']).to_owned()
        };
        let signed = hmac(KEY, &format!("{}.{body}", header("cofferdam-timestamp")));
        assert_eq!(header("cofferdam-signature"), format!("sha256={signed}"), "{head}");
        body.to_owned()
    });
    (port, thread)
}

fn hmac(key: &str, text: &str) -> String {
    let padded = |pad: u8| -> Vec<u8> {
        (0..64).map(|at| key.as_bytes().get(at).copied().unwrap_or(0) ^ pad).collect()
    };
    let inner = Sha256::digest([padded(0x36), text.as_bytes().to_vec()].concat());
    let outer = Sha256::digest([padded(0x5c), inner.to_vec()].concat());
    outer.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn asked_by(port: u16) -> String {
    let home = home(&format!("[approval]\nwebhook = \"http://127.0.0.1:{port}/ask\"\ntimeout = \"20s\"\n"));
    home.write("cofferdam/webhook.key", KEY);
    home.chmod("cofferdam/webhook.key", 0o600);
    decided(&ask(&home, &[ASKED]).run())
}

#[test]
fn req_a03_a_webhook_is_heard_only_with_a_signature_over_this_very_question() {
    const YES: &str = "{\"digest\":\"DIGEST\",\"answer\":\"allow\"}";
    let (port, heard) = webhook(YES, KEY, None);
    assert_eq!(asked_by(port), "approved");
    assert!(heard.join().expect("it was asked").contains(ASKED));
    let (port, heard) = webhook("{\"digest\":\"DIGEST\",\"answer\":\"deny\"}", KEY, None);
    assert_eq!(asked_by(port), "denied");
    heard.join().expect("it was asked");
    let others: [(&str, &str, Option<&str>); 4] = [
        (YES, "another-key-of-the-same-length-as-the-one", None),
        (YES, KEY, Some("0000")),
        ("{\"digest\":\"0000\",\"answer\":\"allow\"}", KEY, None),
        ("{\"answer\":\"allow\"}", KEY, None),
    ];
    for (answer, key, digest) in others {
        let (port, heard) = webhook(answer, key, digest);
        assert_eq!(asked_by(port), "nobody-asked", "{answer} {key} {digest:?}");
        heard.join().expect("it was asked");
    }
}

#[test]
fn req_a03_a_webhook_needs_a_key_that_nobody_else_reads() {
    let config = "[approval]\nwebhook = \"http://127.0.0.1:9/\"\n";
    let home = home(config);
    assert!(ask(&home, &[ASKED]).run().expect_status(78).stderr().contains("webhook.key is not there"));
    home.write("cofferdam/webhook.key", KEY);
    home.chmod("cofferdam/webhook.key", 0o644);
    assert!(ask(&home, &[ASKED]).run().expect_status(78).stderr().contains("can be read by others"));
    home.chmod("cofferdam/webhook.key", 0o600);
    assert_eq!(decided(&ask(&home, &[ASKED]).run()), "nobody-asked", "nobody listens there");
    home.write("cofferdam/config.toml", "[approval]\nwebhook = \"http://hooks.example.com/\"\n");
    assert!(ask(&home, &[ASKED]).run().expect_status(78).stderr().contains("webhook"));
}
