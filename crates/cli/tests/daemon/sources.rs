//! Where credentials come from while the proxy runs: a change arrives with the next request, and a source that fails is
//! an error, with its own reason, until it does not.

use std::fs;

use cofferdam_testkit::Cofferdam;
use cofferdam_testkit::processes::wait_until;
use cofferdam_testkit::upstream::{Reply, Transport, Upstream, UpstreamOptions};

use crate::served::{MORE, Served, verdict};

const FIRST: &str = "first-canary-0011223344556677";
const SECOND: &str = "second-canary-8899aabbccddeeff";
const IN_ENVIRONMENT: &str = "environment-canary-1234567890";

/// A provider whose credential has this source, besides the usual ones.
fn provider(secret: &str) -> String {
    format!(
        "[[provider]]\nname = \"more\"\nhosts = [\"{MORE}\"]\nvariables = [\"MORE_API_KEY\"]\n\
         scheme = {{ header = \"Authorization\", template = \"Bearer {{}}\" }}\nsecret = {secret}\n"
    )
}

fn served(keys: &str, secret: &str) -> Served {
    let mut served = Served::configured(keys, &provider(secret));
    served.set_up();
    served
}

/// The credential that the upstream got, or the reason why it got none.
fn used(served: &Served) -> Result<String, String> {
    let before = served.upstream.requests().len();
    let answer =
        served.ask(MORE, "GET /", &format!("Authorization: Bearer {}\r\n", served.token("more")), "");
    assert!(!answer.contains(FIRST) && !answer.contains(SECOND), "{answer}");
    match verdict(&answer) {
        (_, Some(reason)) => {
            assert_eq!(served.upstream.requests().len(), before, "nobody was contacted");
            Err(reason.to_owned())
        }
        _ => {
            let got = served.upstream.requests().pop().expect("a request");
            let got =
                String::from_utf8_lossy(got.header("authorization").expect("a credential")).into_owned();
            Ok(got.trim_start_matches("Bearer ").to_owned())
        }
    }
}

#[test]
fn req_e10_a_key_that_is_rotated_in_its_file_is_the_one_of_the_next_request() {
    let served = served("", "{ file = \"key\" }");
    let put = |text: &str| served.daemon.home.write("cofferdam/key", text);
    put(FIRST);
    served.call(&["start"]).expect_status(0);
    let pids = (served.daemon.pid(), served.daemon.worker());
    assert_eq!(used(&served), Ok(FIRST.to_owned()));
    put(SECOND);
    assert_eq!(used(&served), Ok(SECOND.to_owned()));
    // Gone, empty, and open to others are errors, and none of them is answered with the value from before.
    for spoil in [
        |served: &Served| fs::remove_file(served.daemon.file("key")).expect("a file"),
        |served: &Served| drop(served.daemon.home.write("cofferdam/key", "")),
        |served: &Served| served.daemon.home.chmod("cofferdam/key", 0o644),
    ] {
        spoil(&served);
        wait_until("it is noticed", || used(&served) == Err("source-unavailable".to_owned()));
        put(FIRST);
        wait_until("it recovers", || used(&served) == Ok(FIRST.to_owned()));
    }
    assert_eq!((served.daemon.pid(), served.daemon.worker()), pids, "nothing was started again");
    assert!(served.record().contains("\"reason\":\"source-unavailable\""));
}

#[test]
fn req_e10_the_environment_steps_in_only_where_that_is_allowed() {
    for (keys, expected) in [
        ("", Err("source-unavailable".to_owned())),
        ("allow_env_fallback = true", Ok(IN_ENVIRONMENT.to_owned())),
    ] {
        for secret in [
            "{ file = \"missing\" }",
            "{ dotenv = \"env\", key = \"MISSING\" }",
            "{ command = [\"/bin/false\"] }",
        ] {
            let served = served(keys, secret);
            served.daemon.home.write("cofferdam/env", "OTHER=1\n");
            let start = served.daemon.call(&["start"]).env("MORE_API_KEY", IN_ENVIRONMENT);
            start.env("ACME_API_KEY", "a-value-for-the-others").run().expect_status(0);
            assert_eq!(used(&served), expected, "{keys} {secret}");
            // The doctor finds the one and names what to run; the other is no finding.
            let doctor =
                served.daemon.call(&["doctor", "--check", "sources"]).env("MORE_API_KEY", IN_ENVIRONMENT);
            let told = doctor
                .env("ACME_API_KEY", "x-value-for-the-others")
                .env("OTHER_API_KEY", "y-value-for-them")
                .run();
            assert_eq!(told.status(), i32::from(expected.is_err()), "{}", told.stdout());
            assert_eq!(told.stdout().contains("hint: cofferdam secrets check more"), expected.is_err());
            assert!(!told.stdout().contains(IN_ENVIRONMENT));
        }
    }
}

#[test]
fn req_e10_a_command_is_asked_again_when_its_time_is_over_or_its_value_was_not_accepted() {
    for (ttl, rejected) in [("1s", false), ("1h", true)] {
        let served = served("", &format!("{{ command = [\"/bin/cat\", \"KEY\"], ttl = \"{ttl}\" }}"));
        let key = served.daemon.home.write("cofferdam/key", FIRST);
        let config = served.daemon.home.read("cofferdam/config.toml");
        let config = config.replace("\"KEY\"", &format!("\"{}\"", key.display()));
        served.daemon.home.write("cofferdam/config.toml", config);
        served.call(&["start"]).expect_status(0);
        assert_eq!(used(&served), Ok(FIRST.to_owned()));
        fs::write(&key, SECOND).expect("a file");
        if rejected {
            assert_eq!(used(&served), Ok(FIRST.to_owned()), "its hour is not over");
            served.upstream.route(
                "/",
                Reply::made(|request| {
                    let first = request.header("authorization") == Some(format!("Bearer {FIRST}").as_bytes());
                    (if first { 401 } else { 200 }, vec![], b"?".to_vec())
                }),
            );
            let before = served.upstream.requests().len();
            assert_eq!(used(&served), Ok(FIRST.to_owned()));
            assert_eq!(
                served.upstream.requests().len(),
                before + 1,
                "what was refused is not sent again by us"
            );
        }
        wait_until("the other value is used", || used(&served) == Ok(SECOND.to_owned()));
    }
}

#[test]
fn req_e10_a_vault_is_asked_and_its_change_arrives() {
    let vault = Upstream::start(&UpstreamOptions { names: vec![], transport: Transport::Plain });
    let value = |key: &str| format!("{{\"data\":{{\"data\":{{\"token\":\"{key}\"}}}}}}").into_bytes();
    let set = |key: &'static str| {
        vault.route(
            "/v1/secret/data/acme",
            Reply::made(move |request| match request.header("x-vault-token") {
                Some(b"vault-canary-token-0123") => (200, vec![], value(key)),
                _ => (403, vec![], b"{\"errors\":[\"permission denied\"]}".to_vec()),
            }),
        );
    };
    set(FIRST);
    let served = served("", "{ vault = \"secret/acme\", key = \"token\", ttl = \"1s\" }");
    let config = served.daemon.home.read("cofferdam/config.toml");
    let config = format!("{config}[secrets.vault]\naddress = \"http://127.0.0.1:{}\"\n", vault.port());
    served.daemon.home.write("cofferdam/config.toml", config);
    let start = |token: &str| {
        let call = served
            .daemon
            .call(&["restart"])
            .env("VAULT_TOKEN", token)
            .env("ACME_API_KEY", "a-value-of-no-use");
        call.run().expect_status(0);
    };
    start("vault-canary-wrong-9999");
    assert_eq!(used(&served), Err("source-unavailable".to_owned()));
    start("vault-canary-token-0123");
    assert_eq!(used(&served), Ok(FIRST.to_owned()));
    set(SECOND);
    wait_until("the other value is used", || used(&served) == Ok(SECOND.to_owned()));
}

/// The daemon has no desktop in its environment; the program that asks the keyring has what it needs all the same.
#[test]
fn req_e09_e10_the_keyring_of_the_desktop_can_be_asked_by_the_daemon() {
    let served = served("", "{ keyring = { service = \"more\" } }");
    let script = format!(
        "set -e; export XDG_RUNTIME_DIR=$PWD XDG_DATA_HOME=$PWD/data
        printf password | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
        printf {FIRST} | secret-tool store --label=test service more
        {binary} egress start
        echo ready; read go",
        binary = env!("CARGO_BIN_EXE_cofferdam")
    );
    let mut session = Cofferdam::new("/usr/bin/dbus-run-session", &served.daemon.home)
        .args(["--", "/bin/sh", "-c", &script])
        .env("ACME_API_KEY", "a-value-of-no-use")
        .spawn();
    wait_until("it is started", || {
        served.daemon.file("run/control.sock").exists() && served.daemon.status()["serving"].is_object()
    });
    let got = used(&served);
    drop(session.stdin.take());
    let _ = session.wait();
    assert_eq!(got, Ok(FIRST.to_owned()), "{}", served.daemon.log());
}
