//! Tokens for those who use the shared port, and the authority that they trust.

use std::fs;

use cofferdam_testkit::processes::wait_until;
use cofferdam_testkit::upstream::{HttpVersion, Transport, Upstream, UpstreamOptions};
use cofferdam_testkit::{Cofferdam, Outcome};
use rustix::process::Signal;
use serde_json::Value;

use crate::scene::{Daemon, signal};

const HOST: &str = "api.example.test";
const SECRET: &str = "acme-canary-0f1e2d3c4b5a6978";

struct Served {
    daemon: Daemon,
    upstream: Upstream,
}

impl Served {
    fn new() -> Self {
        let transport = Transport::Tls(vec![HttpVersion::Http1]);
        let upstream = Upstream::start(&UpstreamOptions { names: vec![HOST.to_owned()], transport });
        let daemon = Daemon::new(&format!(
            "upstream_ca_files = [\"upstream.pem\"]\n[egress.resolve]\n\"{HOST}:443\" = \"{}\"\n\
             [[provider]]\nname = \"acme\"\nhosts = [\"{HOST}\"]\nvariables = [\"ACME_API_KEY\"]\n\
             scheme = {{ header = \"Authorization\", template = \"Bearer {{}}\" }}\n\
             secret = {{ env = \"ACME_API_KEY\" }}\n",
            upstream.address()
        ));
        daemon.home.write("cofferdam/upstream.pem", upstream.ca_pem());
        Self { daemon, upstream }
    }

    fn call(&self, words: &[&str]) -> Outcome {
        self.daemon.call(words).env("ACME_API_KEY", SECRET).run()
    }

    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.call(words).expect_status(0).stdout()).expect("JSON")
    }

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
    report["tokens"][0]["token"].as_str().expect("a token")
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
fn req_e24_the_doctor_finds_what_is_wrong_and_shows_no_credential() {
    let served = Served::new();
    served.call(&["setup", "--yes"]).expect_status(0);
    let down = served.call(&["doctor", "--no-network"]).expect_status(1);
    assert!(down.stdout().contains("daemon") && down.stdout().contains("hint: start it"));
    served.call(&["doctor", "--no-network", "--check", "authority"]).expect_status(0);
    served.call(&["start"]).expect_status(0);
    let well = served.call(&["doctor", "--no-network", "--json"]).expect_status(0);
    let findings: Value = serde_json::from_str(&well.stdout()).unwrap();
    assert!(findings.as_array().unwrap().iter().all(|finding| finding["ok"] == true));
    assert!(findings.as_array().unwrap().iter().any(|finding| finding["check"] == "port"));
    assert!(!well.stdout().contains(SECRET) && !down.stdout().contains(SECRET));
    // A source that gives nothing is found, without the key.
    let gone = served.daemon.call(&["doctor", "--no-network", "--check", "sources"]).run().expect_status(1);
    assert!(gone.stdout().contains("acme"));
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
