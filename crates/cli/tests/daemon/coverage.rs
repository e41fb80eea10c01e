//! Credentials of the host that nothing covers are shown; one of a language model keeps the proxy from starting.

use cofferdam_testkit::Outcome;

use crate::scene::Daemon;

const CLAUDE: &str = "sk-ant-api03-canary0123456789abcdefghijklmnopqrstuvwxyz";

fn call(daemon: &Daemon, words: &[&str], variables: &[(&str, &str)]) -> Outcome {
    let with = |call: cofferdam_testkit::Cofferdam, (name, value): &(&str, &str)| call.env(name, value);
    let told = variables.iter().fold(daemon.call(words), with).run();
    for (name, value) in variables {
        assert!(!told.stdout().contains(value) && !told.stderr().contains(value), "the value of {name}");
    }
    told
}

#[test]
fn req_e08_a_models_credential_that_nothing_covers_refuses_the_start_by_default() {
    let daemon = Daemon::new("");
    let stray = [("MY_ASSISTANT", CLAUDE)];
    let refused = call(&daemon, &["start"], &stray).expect_status(78);
    assert!(refused.stderr().contains("no provider covers MY_ASSISTANT"), "{}", refused.stderr());
    assert!(refused.stderr().contains("hint: add a [[provider]] for it"), "{}", refused.stderr());
    assert!(!daemon.file("run/daemon.pid").exists());
    // It is shown by everything that shows coverage.
    assert!(
        call(&daemon, &["setup"], &stray).expect_status(0).stdout().contains("not covered: MY_ASSISTANT")
    );
    assert!(call(&daemon, &["status"], &stray).expect_status(1).stdout().contains("MY_ASSISTANT"));
    let doctor = call(&daemon, &["doctor", "--check", "coverage"], &stray).expect_status(1);
    assert!(doctor.stdout().contains("not covered: MY_ASSISTANT"), "{}", doctor.stdout());
    // What the configuration says the default is, it is.
    let config = call(&daemon, &["config"], &[]).expect_status(0).stdout();
    assert!(
        config.lines().any(|line| line.starts_with("fail_on_uncovered_providers") && line.ends_with("true"))
    );
    // Switched off, it is a warning.
    daemon.configure("fail_on_uncovered_providers = false\n");
    let warned = call(&daemon, &["start"], &stray).expect_status(0);
    assert!(warned.stderr().contains("warning: MY_ASSISTANT"), "{}", warned.stderr());
    assert!(call(&daemon, &["status"], &stray).expect_status(0).stdout().contains("not covered"));
}

#[test]
fn req_e08_what_is_covered_starts_and_what_is_no_models_only_warns() {
    let daemon = Daemon::new("");
    // The same value where it is looked for.
    call(&daemon, &["start"], &[("MY_ASSISTANT", CLAUDE), ("ANTHROPIC_API_KEY", CLAUDE)]).expect_status(0);
    daemon.call(&["stop"]).run().expect_status(0);
    // A provider of one's own.
    daemon.configure(
        "[[provider]]\nname = \"mine\"\nhosts = [\"api.example.test\"]\nvariables = [\"MY_ASSISTANT\"]\n\
         scheme = { header = \"x-api-key\" }\n",
    );
    let started = call(&daemon, &["start"], &[("MY_ASSISTANT", CLAUDE)]).expect_status(0);
    assert!(!started.stderr().contains("MY_ASSISTANT"), "{}", started.stderr());
    daemon.call(&["stop"]).run().expect_status(0);
    daemon.configure("");
    // Clouds and unknown ones.
    let others = [
        ("AWS_ACCESS_KEY_ID", "AKIA0123456789ABCDEF"),
        ("AWS_SECRET_ACCESS_KEY", "0123456789abcdefghijABCDEFGHIJ0123456789"),
        ("AZURE_CLIENT_SECRET", "abc~0123456789abcdef0123456789abcdef"),
        ("ACME_INTERNAL_API_KEY", "0123456789abcdef0123"),
        ("MATTERMOST_TOKEN", "0123456789abcdefghijklmnop"),
    ];
    let started = call(&daemon, &["start"], &others).expect_status(0);
    for name in ["AZURE_CLIENT_SECRET", "ACME_INTERNAL_API_KEY", "MATTERMOST_TOKEN"] {
        assert!(
            started.stderr().contains(&format!("warning: {name} is set")),
            "{name}: {}",
            started.stderr()
        );
        assert!(call(&daemon, &["status"], &others).stdout().contains(name));
        assert!(call(&daemon, &["setup"], &others).stdout().contains(&format!("not covered: {name}")));
    }
    call(&daemon, &["doctor", "--check", "coverage"], &others).expect_status(0);
}
