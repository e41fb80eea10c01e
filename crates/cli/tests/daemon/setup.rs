//! Tokens for those who use the shared port, and the authority that they trust.

use std::fs;
use std::io::{BufRead, BufReader, Write};

use cofferdam_testkit::Cofferdam;
use cofferdam_testkit::processes::wait_until;
use rustix::process::Signal;
use serde_json::Value;

use crate::scene::{Daemon, signal};
use crate::served::{self, HOST, MORE, OTHER_SECRET, SECRET, Served};

impl Served {
    /// A request as a container makes it.
    fn curl(&self, token: &str, authority: &str) -> String {
        let proxy = format!("http://127.0.0.1:{}", self.daemon.port);
        let curl = Cofferdam::new("curl", &self.daemon.home).args([
            "-sS",
            "-i",
            "--suppress-connect-headers",
            "--http1.1",
            "-m",
            "60",
            "--proxy",
            &proxy,
        ]);
        let curl = curl.arg("--cacert").arg(self.daemon.file(authority));
        let asked =
            curl.args(["-H", &format!("Authorization: Bearer {token}"), &format!("https://{HOST}/v1")]).run();
        asked.stdout() + &asked.stderr()
    }

    fn reached_with_the_credential(&self) -> usize {
        let requests = self.upstream.requests();
        let expected = format!("Bearer {SECRET}");
        requests.iter().filter(|request| request.header("authorization") == Some(expected.as_bytes())).count()
    }
}

fn token(report: &Value) -> &str {
    served::token(report, "acme")
}

#[test]
fn req_e11_setup_makes_tokens_once_and_rotation_takes_effect_in_the_running_proxy() {
    let served = Served::new();
    let made = served.json(&["setup", "--json"]);
    let old = token(&made).to_owned();
    served.call(&["start"]).expect_status(0);
    assert!(served.curl(&old, "state/ca/ca.crt").contains("HTTP/1.1 200"));
    assert_eq!(served.reached_with_the_credential(), 1);
    // Run again, it keeps what there is, and shows no token a second time.
    let again = served.call(&["setup"]).expect_status(0);
    assert!(!again.stdout().contains(&old) && again.stdout().contains("acme"));
    assert!(served.curl(&old, "state/ca/ca.crt").contains("HTTP/1.1 200"));
    for file in ["state/tokens.json", "state/daemon.log"] {
        let text = fs::read_to_string(served.daemon.file(file)).unwrap();
        assert!(!text.contains(&old) && !text.contains(SECRET), "{file}");
    }
    // Nobody is there to type the word.
    served.call(&["rotate-tokens"]).expect_status(64);
    assert!(served.curl(&old, "state/ca/ca.crt").contains("HTTP/1.1 200"));
    let rotated = served.json(&["setup", "--rotate-tokens", "--yes", "--json"]);
    let new = token(&rotated);
    assert!(served.curl(&old, "state/ca/ca.crt").contains("cofferdam-reason: token-revoked"));
    assert!(served.curl(new, "state/ca/ca.crt").contains("HTTP/1.1 200"));
    assert!(fs::exists(rotated["backup"].as_str().unwrap()).unwrap());
    // A new worker knows the same tokens.
    signal(served.daemon.worker(), Signal::KILL);
    wait_until("another worker serves", || served.daemon.status()["restarts"] == 1);
    served.daemon.wait_until_serving();
    assert!(served.curl(new, "state/ca/ca.crt").contains("HTTP/1.1 200"));
}

/// On a terminal it says what it will do and waits; whoever says no has changed nothing.
#[test]
fn req_e11_a_person_is_shown_what_is_made_and_asked() {
    let served = Served::new();
    let on_terminal = |words: &[&str]| {
        let call = served.daemon.call(words).env("ACME_API_KEY", SECRET).env("OTHER_API_KEY", OTHER_SECRET);
        call.env("FURTHER_API_KEY", "0123456789abcdef0123").on_terminal()
    };
    let mut person = on_terminal(&["setup"]);
    let shown = person.until("Go on? [Y/n] ");
    assert!(shown.contains("acme, with the credential from variable ACME_API_KEY"), "{shown}");
    assert!(shown.contains("not covered: FURTHER_API_KEY") && !shown.contains(SECRET), "{shown}");
    person.type_in("n\n");
    assert_eq!(person.end().0, 3);
    assert!(!served.daemon.file("state/tokens.json").exists());
    let mut person = on_terminal(&["setup"]);
    person.until("Go on? [Y/n] ");
    person.type_in("\n");
    let (status, shown) = person.end();
    assert!(status == 0 && shown.contains("cfd_") && shown.contains("shown whole, once"), "{shown}");
    // To replace all of them, the word has to be typed.
    let before = fs::read(served.daemon.file("state/tokens.json")).unwrap();
    for words in [&["rotate-tokens"][..], &["setup", "--rotate-tokens"]] {
        let mut person = on_terminal(words);
        person.until("Type");
        person.type_in("yes\n");
        assert_eq!(person.end().0, 3);
        assert_eq!(fs::read(served.daemon.file("state/tokens.json")).unwrap(), before);
    }
    let mut person = on_terminal(&["rotate-tokens"]);
    person.until("Type");
    person.type_in("rotate\n");
    let (status, shown) = person.end();
    assert!(status == 0 && shown.contains("the list from before is in"), "{shown}");
    assert_ne!(fs::read(served.daemon.file("state/tokens.json")).unwrap(), before);
    let kept = fs::read_dir(served.daemon.file("state")).unwrap().flatten();
    let kept = kept.filter(|entry| entry.file_name().to_string_lossy().starts_with("tokens.json."));
    assert_eq!(kept.map(|entry| fs::read(entry.path()).unwrap()).collect::<Vec<_>>(), [before]);
}

#[test]
fn req_e11_another_source_needs_a_flag_and_is_told() {
    let served = Served::new();
    let made = served.json(&["setup", "--json"]);
    let config = served.daemon.home.read("cofferdam/config.toml");
    let changed =
        config.replacen("secret = { env = \"ACME_API_KEY\" }", "secret = { file = \"acme.key\" }", 1);
    served.daemon.home.write("cofferdam/acme.key", "another-canary-0123456789");
    served.daemon.home.write("cofferdam/config.toml", changed);
    let before = fs::read(served.daemon.file("state/tokens.json")).unwrap();
    let refused = served.call(&["setup"]).expect_status(78);
    let told = refused.stderr();
    assert!(told.contains("acme came from variable ACME_API_KEY, and would now come from file"), "{told}");
    assert!(told.contains("hint:") && told.contains("--change-source") && !told.contains("another-canary"));
    assert_eq!(fs::read(served.daemon.file("state/tokens.json")).unwrap(), before, "nothing was changed");
    let told = served.call(&["setup", "--change-source"]).expect_status(0).stdout();
    assert!(
        told.contains("acme: its credential came from variable ACME_API_KEY, and comes from file"),
        "{told}"
    );
    assert_eq!(
        served.json(&["setup", "--json"])["changed_sources"],
        serde_json::json!([]),
        "it is the usual one now"
    );
    // The token is the one from before, with the credential from the new source.
    served.call(&["start"]).expect_status(0);
    assert!(served.curl(token(&made), "state/ca/ca.crt").contains("HTTP/1.1 200"));
    let got = served.upstream.requests().pop().expect("a request");
    assert_eq!(got.header("authorization"), Some(&b"Bearer another-canary-0123456789"[..]));
}

/// The two halves of a key for the shared port: what they sign is verified, and signed again with the real ones.
#[test]
fn req_e11_a_key_with_two_halves_has_two_tokens() {
    const REAL: [&str; 2] = ["AKIAREALREALREALREAL", "real/canary+secret0123456789abcdefghijkl"];
    let tables = format!(
        "[[provider]]\nname = \"cloud\"\nhosts = [\"{MORE}\"]\nscheme = {{ sigv4 = {{}} }}\n\
         variables = [\"CLOUD_KEY_ID\", \"CLOUD_SECRET_KEY\"]\n\
         token = {{ prefix = \"AKIA\", length = 28, alphabet = \"upper-alphanumeric\" }}\n"
    );
    let served = Served::configured("", &tables);
    let call = |words: &[&str]| {
        let call = served.daemon.call(words).env("ACME_API_KEY", SECRET).env("OTHER_API_KEY", OTHER_SECRET);
        call.env("CLOUD_KEY_ID", REAL[0]).env("CLOUD_SECRET_KEY", REAL[1]).run().expect_status(0)
    };
    let made: Value = serde_json::from_str(&call(&["setup", "--json"]).stdout()).unwrap();
    let shown = |variable: &str| {
        let mut tokens = made["tokens"].as_array().unwrap().iter();
        let found = tokens.find(|token| token["variable"] == variable).expect("a variable");
        found["token"].as_str().unwrap().to_owned()
    };
    let (id, secret) = (shown("CLOUD_KEY_ID"), shown("CLOUD_SECRET_KEY"));
    assert!(id.starts_with("AKIA") && secret.len() == 40 && !made.to_string().contains(REAL[1]));
    call(&["start"]);
    let ask = |user: &str| {
        let proxy = format!("http://127.0.0.1:{}", served.daemon.port);
        let curl = Cofferdam::new("curl", &served.daemon.home).args(["-q", "-sSi", "-m", "60", "-x", &proxy]);
        let curl = curl
            .arg("--cacert")
            .arg(served.daemon.file("state/ca/ca.crt"))
            .args(["--suppress-connect-headers"]);
        let asked =
            curl.args(["--aws-sigv4", "aws:amz:us-east-1:service", "-u", user, &format!("https://{MORE}/")]);
        asked.run().stdout()
    };
    let answer = ask(&format!("{id}:{secret}"));
    assert!(answer.contains("200 OK") || answer.starts_with("HTTP/2 200"), "{answer}");
    let got = served.upstream.requests().pop().expect("a request");
    let signed = String::from_utf8_lossy(got.header("authorization").expect("a signature")).into_owned();
    assert!(signed.contains(REAL[0]) && !signed.contains(&id), "{signed}");
    // With a half of somebody else's nothing is signed.
    assert!(ask(&format!("{id}:{}", "x".repeat(40))).contains("cofferdam-reason: signature-invalid"));
    // Neither half is kept, and the next daemon knows both.
    call(&["restart"]);
    assert!(ask(&format!("{id}:{secret}")).contains("200"));
    for file in ["state/tokens.json", "state/pairing.key", "state/daemon.log"] {
        let kept = fs::read(served.daemon.file(file)).unwrap();
        assert!(memchr::memmem::find(&kept, secret.as_bytes()).is_none(), "{file}");
    }
}

/// Clients of two providers look in the same variable, and there is room for one token: it is good for both.
#[test]
fn req_e11_providers_that_share_a_variable_share_a_token() {
    let provider = |name: &str, host: &str| {
        format!(
            "[[provider]]\nname = \"{name}\"\nhosts = [\"{host}\"]\nvariables = [\"SHARED_API_KEY\"]\n\
             scheme = {{ header = \"Authorization\", template = \"Bearer {{}}\" }}\n"
        )
    };
    let served = Served::configured("", &(provider("one", MORE) + &provider("two", "two.example.test")));
    let call =
        |words: &[&str]| served.daemon.call(words).env("SHARED_API_KEY", SECRET).run().expect_status(0);
    let made: Value =
        serde_json::from_str(&call(&["setup", "--provider", "two", "--json"]).stdout()).unwrap();
    let [token] = &made["tokens"].as_array().unwrap()[..] else { panic!("one token: {made}") };
    assert_eq!(
        (&token["provider"], &token["also"]),
        (&serde_json::json!("two"), &serde_json::json!(["one"]))
    );
    call(&["start"]);
    let line = format!("Authorization: Bearer {}\r\n", token["token"].as_str().unwrap());
    assert!(served.ask(MORE, "GET /", &line, "").starts_with("HTTP/1.1 200"));
    let elsewhere = served.ask(HOST, "GET /", &line, "");
    assert!(elsewhere.contains("cofferdam-reason: token-wrong-host"), "{elsewhere}");
}

/// Asks once for every line that it reads, in one tunnel that is not opened again.
const HELD: &str = r#"
import http.client, ssl, sys
port, authority, token = sys.argv[1:]
c = http.client.HTTPSConnection('127.0.0.1', int(port), context=ssl.create_default_context(cafile=authority))
c.set_tunnel('api.example.test', 443)
for line in sys.stdin:
    c.request('GET', '/v1', headers={'Authorization': 'Bearer ' + token})
    c.auto_open = 0
    r = c.getresponse()
    r.read()
    print(r.status, r.getheader('cofferdam-reason'), flush=True)
"#;

#[test]
fn req_e11_e29_a_connection_opened_before_a_rotation_is_worth_nothing_after_it() {
    let served = Served::new();
    let made = served.json(&["setup", "--json"]);
    served.call(&["start"]).expect_status(0);
    let client = Cofferdam::new("/usr/bin/python3", &served.daemon.home).args(["-I", "-c", HELD]);
    let client = client.arg(served.daemon.port.to_string()).arg(served.daemon.file("state/ca/ca.crt"));
    let mut client = client.arg(token(&made)).spawn();
    let mut input = client.stdin.take().expect("a pipe");
    let mut output = BufReader::new(client.stdout.take().expect("a pipe"));
    let mut asks = || {
        input.write_all(b"ask\n").expect("it reads");
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        line
    };
    assert_eq!(asks(), "200 None\n");
    assert_eq!(asks(), "200 None\n", "the connection is kept");
    served.call(&["rotate-tokens", "--yes"]).expect_status(0);
    assert_eq!(asks(), "403 token-revoked\n");
    assert_eq!(served.reached_with_the_credential(), 2, "the upstream was not asked again");
    drop(input);
    assert!(client.wait().expect("its end").success());
}

#[test]
fn req_e11_with_no_tokens_there_is_nothing_to_rotate_and_that_is_said() {
    let daemon = Daemon::new("");
    let said = daemon.call(&["rotate-tokens", "--yes"]).run().expect_status(0);
    assert!(said.stdout().contains("nothing to rotate"));
}

#[test]
fn req_e21_whoever_runs_goes_on_working_after_the_authority_was_rotated() {
    let served = Served::new();
    let made = served.json(&["setup", "--json"]);
    served.call(&["start"]).expect_status(0);
    fs::copy(served.daemon.file("state/ca/ca.crt"), served.daemon.file("old.crt")).unwrap();
    let before = served.daemon.status()["serving"]["authority"].clone();
    served.call(&["rotate-ca"]).expect_status(0);
    let after = served.daemon.status()["serving"]["authority"].clone();
    assert_ne!(before, after);
    assert!(served.curl(token(&made), "old.crt").contains("HTTP/1.1 200"));
    assert!(served.curl(token(&made), "state/ca/ca.crt").contains("HTTP/1.1 200"));
    // The overlap has an end: what knows only the first pair does not trust the third.
    served.call(&["rotate-ca"]).expect_status(0);
    assert!(served.curl(token(&made), "state/ca/ca.crt").contains("HTTP/1.1 200"));
    assert!(!served.curl(token(&made), "old.crt").contains("HTTP/1.1 200"));
}

#[test]
fn req_e25_the_record_of_the_proxy_is_found_by_itself() {
    let daemon = Daemon::started("");
    daemon.ask("evil.example.test");
    let found =
        daemon.call(&["audit", "grep", "--decision", "refused", "--since", "1h"]).run().expect_status(0);
    assert!(found.stdout().contains("evil.example.test"));
    let stats = daemon.call(&["audit", "stats", "--json"]).run().expect_status(0);
    assert!(stats.stdout().contains("evil.example.test"), "{}", stats.stdout());
    // What is counted is the proxy's as well.
    let counted: Value = serde_json::from_str(&stats.stdout()).unwrap();
    let kinds = counted["kinds"].as_array().unwrap();
    assert!(!kinds.is_empty() && kinds.iter().all(|kind| kind["name"] != "record-opened"), "{kinds:?}");
    let whole = Cofferdam::new(env!("CARGO_BIN_EXE_cofferdam"), &daemon.home).args(["audit", "stats"]).run();
    assert!(whole.stdout().contains("record-opened"), "the twin: {}", whole.stdout());
    let csv = daemon.call(&["audit", "export", "--format", "csv"]).run().expect_status(0);
    assert!(csv.stdout().contains("host-not-allowed") && !csv.stdout().contains("record-opened"));
}

#[test]
fn disable_stops_the_proxy_and_setup_switches_it_on_again() {
    let daemon = Daemon::started("");
    let pid = daemon.pid();
    daemon.call(&["disable"]).run().expect_status(0);
    assert!(!crate::scene::lives(pid));
    let refused = daemon.call(&["start"]).run().expect_status(78);
    assert!(refused.stderr().contains("switched off"));
    daemon.call(&["setup", "--yes"]).run().expect_status(0);
    daemon.call(&["start"]).run().expect_status(0);
    let shown = daemon.call(&["config"]).run().expect_status(0);
    assert!(shown.stdout().contains(&format!("127.0.0.1:{}", daemon.port)));
}
