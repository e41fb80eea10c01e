//! The doctor: every check on the way of a request, each shown to fail, and a remedy for each finding.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::scene::{Daemon, free_port};
use crate::served::{OTHER_SECRET, SECRET, Served};

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

/// What one check says of a daemon, with its remedy.
fn finding(daemon: &Daemon, check: &str) -> (bool, String, String) {
    let call = daemon.call(&["doctor", "--check", check, "--json"]).env("ACME_API_KEY", SECRET);
    let told = call.env("OTHER_API_KEY", OTHER_SECRET).run();
    assert!(!told.stdout().contains(SECRET) && !told.stderr().contains(SECRET));
    let findings: Value = serde_json::from_str(&told.stdout()).expect("JSON");
    let [finding] = &findings.as_array().expect("a list")[..] else { panic!("one finding: {findings}") };
    let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    assert_eq!(told.status(), i32::from(finding["ok"] == false));
    (finding["ok"] == true, text("detail"), text("hint"))
}

#[track_caller]
fn assert_fails(daemon: &Daemon, check: &str, (detail, hint): (&str, &str)) {
    let (ok, told, remedy) = finding(daemon, check);
    assert!(!ok && told.contains(detail) && remedy.contains(hint), "{check}: {told} ({remedy})");
}

#[track_caller]
fn assert_well(daemon: &Daemon, check: &str) {
    let (ok, told, _) = finding(daemon, check);
    assert!(ok, "{check}: {told}");
}

#[test]
fn req_e24_each_check_finds_what_it_is_for_and_says_what_to_do() {
    let served = Served::started("", "");
    let daemon = &served.daemon;
    for check in ["config", "files", "authority", "record", "sources", "coverage", "daemon", "port"] {
        assert_well(daemon, check);
    }
    let config = daemon.home.read("cofferdam/config.toml");
    daemon.home.write("cofferdam/config.toml", config.replace("[egress]\n", "[egress]\nlisten_on = 1\n"));
    assert_fails(daemon, "config", ("one mistake in", "cofferdam config check"));
    daemon.home.write("cofferdam/config.toml", config.replace("[egress]\n", "[egress]\nenabled = false\n"));
    assert_fails(daemon, "config", ("switched off", "cofferdam egress setup"));
    daemon.home.write("cofferdam/config.toml", &config);

    fs::set_permissions(daemon.file("state"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_fails(daemon, "files", ("state", "chmod"));
    fs::set_permissions(daemon.file("state"), fs::Permissions::from_mode(0o700)).unwrap();
    let tokens = fs::read(daemon.file("state/tokens.json")).unwrap();
    daemon.home.write("cofferdam/state/tokens.json", "{}");
    assert_fails(daemon, "files", ("tokens.json", "cofferdam egress setup"));
    daemon.home.write("cofferdam/state/tokens.json", tokens);

    let key = fs::read(daemon.file("state/ca/ca.key")).unwrap();
    daemon.home.write("cofferdam/state/ca/ca.key", "no key");
    let (ok, told, remedy) = finding(daemon, "authority");
    assert!(!ok && told.contains("ca.key") && !remedy.is_empty(), "{told} ({remedy})");
    daemon.home.write("cofferdam/state/ca/ca.key", key);

    let before = fs::metadata(daemon.file("state/audit")).unwrap().permissions();
    fs::set_permissions(daemon.file("state/audit"), fs::Permissions::from_mode(0o777)).unwrap();
    assert_fails(daemon, "record", ("audit", "chmod"));
    fs::set_permissions(daemon.file("state/audit"), before).unwrap();

    let without = daemon.call(&["doctor", "--check", "sources"]).env("OTHER_API_KEY", OTHER_SECRET).run();
    assert!(without.expect_status(1).stdout().contains("hint: cofferdam secrets check acme"));
    let bare = daemon.call(&["doctor", "--check", "coverage"]);
    let bare = bare.env("MY_CLAUDE", "sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz").run();
    assert!(bare.expect_status(1).stdout().contains("hint: add a [[provider]] for it"));
    served.call(&["reload"]).expect_status(0);
    for check in ["config", "files", "authority", "record", "sources", "coverage", "daemon", "port"] {
        assert_well(daemon, check);
    }
    daemon.call(&["stop"]).run().expect_status(0);
    assert_fails(daemon, "daemon", ("not running", "cofferdam egress start"));
    assert_fails(daemon, "port", ("not running", "cofferdam egress start"));
}

/// The way of a request from end to end: a host of each provider is reached through the proxy itself.
#[test]
fn req_e24_the_network_is_tried_through_the_proxy() {
    let served = Served::started("", "");
    assert_well(&served.daemon, "network");
    assert!(!served.upstream.connections().is_empty(), "somebody was reached");
    assert!(served.upstream.requests().iter().all(|request| request.header("authorization").is_none()));
    // A host that does not answer is found, and what is left out is not tried.
    let config = served.daemon.home.read("cofferdam/config.toml");
    let gone = format!("127.0.0.1:{}", free_port());
    served
        .daemon
        .home
        .write("cofferdam/config.toml", config.replace(&served.upstream.address().to_string(), &gone));
    served.call(&["reload"]).expect_status(0);
    let (ok, told, remedy) = finding(&served.daemon, "network");
    assert!(!ok && told.contains("example.test") && told.contains("upstream-connect-failed"), "{told}");
    assert!(!remedy.is_empty());
    let left_out = served.call(&["doctor", "--no-network", "--json"]).expect_status(0);
    assert!(!left_out.stdout().contains("\"network\""));
    // An authority that nobody here trusts.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    drop(listener);
    served
        .daemon
        .home
        .write("cofferdam/config.toml", config.replace("upstream_ca_files = [\"upstream.pem\"]\n", ""));
    served.call(&["restart"]).expect_status(0);
    let (ok, told, remedy) = finding(&served.daemon, "network");
    assert!(
        !ok && told.contains("upstream-untrusted") && remedy.contains("upstream_ca_files"),
        "{told} ({remedy})"
    );
}
