//! A secret is read from the source that was named, or not at all, and the person is told why.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use cofferdam_testkit::{Cofferdam, Home, Outcome};

const CANARY: &str = "canary-5e1f0c77a9";

fn cofferdam(home: &Home) -> Cofferdam {
    Cofferdam::new(env!("CARGO_BIN_EXE_cofferdam"), home)
}

/// A home whose configuration has one provider with this source.
fn configured(secret: &str) -> Home {
    let home = Home::new();
    configure(&home, "", secret);
    home
}

fn configure(home: &Home, egress: &str, secret: &str) {
    let config = format!(
        r#"
        [egress]
        {egress}
        [[provider]]
        name = "acme"
        hosts = ["api.acme.example"]
        variables = ["ACME_API_KEY"]
        scheme = {{ header = "Authorization", template = "Bearer {{}}" }}
        secret = {secret}
        "#
    );
    home.write("cofferdam/config.toml", config);
}

fn check(home: &Home) -> Outcome {
    let outcome = cofferdam(home).args(["secrets", "check"]).run();
    assert!(!outcome.stdout().contains(CANARY) && !outcome.stderr().contains(CANARY));
    outcome
}

/// An executable script below the home.
fn script(home: &Home, body: &str) -> String {
    let path = home.write("source.sh", format!("#!/bin/sh\n{body}\n"));
    home.chmod("source.sh", 0o700);
    path.to_str().expect("text").to_owned()
}

#[test]
fn req_e10_every_source_gives_its_secret() {
    let home = configured("{ env = \"KEY_OF_MINE\" }");
    let outcome =
        cofferdam(&home).env("KEY_OF_MINE", CANARY).args(["secrets", "check"]).run().expect_status(0);
    assert!(outcome.stdout().starts_with("ok: acme from variable KEY_OF_MINE"), "{}", outcome.stdout());

    let home = configured("{ dotenv = \"keys.env\", key = \"KEY\" }");
    home.write("cofferdam/keys.env", format!("# mine\r\nexport KEY='{CANARY}' # yes\r\n"));
    check(&home).expect_status(0);

    let home = configured("{ file = \"~/key\" }");
    home.write("key", format!("{CANARY}\n"));
    check(&home).expect_status(0);

    let home = configured("{ file = \"~/key.json\", key = \"/data/token\" }");
    home.write("key.json", format!("{{\"data\": {{\"token\": \"{CANARY}\"}}}}"));
    check(&home).expect_status(0);

    let home = Home::new();
    let tool = script(&home, &format!("echo {CANARY}"));
    configure(&home, "", &format!("{{ command = [\"{tool}\"] }}"));
    check(&home).expect_status(0);
}

#[test]
fn req_e10_a_file_that_others_can_read_is_refused_with_what_to_run() {
    let home = configured("{ file = \"~/key\" }");
    let path = home.write("key", CANARY);
    for mode in [0o640, 0o604, 0o644] {
        home.chmod("key", mode);
        let outcome = check(&home).expect_status(1);
        let told = outcome.stdout();
        assert!(told.contains("is open to other users"), "{told}");
        let fix = format!("hint: run: chmod 600 {}\n", path.display());
        assert!(told.contains(&fix), "{told}");
    }
    home.chmod("key", 0o600);
    check(&home).expect_status(0);
}

#[test]
fn req_e10_a_pipe_in_place_of_a_file_does_not_hang() {
    let home = configured("{ file = \"~/key\" }");
    let made = Cofferdam::new("/usr/bin/mkfifo", &home).args(["-m", "600", "key"]).run();
    made.expect_status(0);
    let outcome = check(&home).expect_status(1);
    assert!(outcome.stdout().contains("is not a regular file"), "{}", outcome.stdout());
}

#[test]
fn req_e10_a_source_that_fails_is_not_replaced_by_the_environment_unless_that_is_allowed() {
    let home = Home::new();
    let broken = script(&home, "exit 1");
    home.write("empty", "");
    home.write("partial.env", "OTHER=something\n");
    let sources = [
        (format!("{{ command = [\"{broken}\"] }}"), "exited with 1"),
        ("{ file = \"~/absent\" }".to_owned(), "cannot be opened"),
        ("{ file = \"~/empty\" }".to_owned(), "it is empty"),
        ("{ dotenv = \"~/partial.env\", key = \"KEY\" }".to_owned(), "has no KEY"),
        ("{ env = \"KEY_OF_MINE\" }".to_owned(), "KEY_OF_MINE is not set"),
    ];
    for (source, reason) in sources {
        let run = |egress: &str| {
            configure(&home, egress, &source);
            cofferdam(&home).env("ACME_API_KEY", CANARY).args(["secrets", "check", "acme"]).run()
        };
        for refusing in ["", "allow_env_fallback = false"] {
            let outcome = run(refusing).expect_status(1);
            assert!(outcome.stdout().contains("failed: acme"), "{}", outcome.stdout());
            assert!(outcome.stdout().contains(reason), "{}", outcome.stdout());
        }
        let outcome = run("allow_env_fallback = true").expect_status(0);
        assert!(
            outcome.stdout().contains("fell back: acme from variable ACME_API_KEY"),
            "{}",
            outcome.stdout()
        );
        assert!(outcome.stdout().contains(reason), "the failure is told all the same");
    }
}

#[test]
fn req_e10_a_hanging_command_is_killed_at_its_timeout_and_nothing_is_left() {
    let home = Home::new();
    let pids = home.path().join("pids");
    let tool = script(
        &home,
        "cd \"$HOME\"; sleep 600 & echo $! >> pids; setsid sleep 600 & echo $! >> pids; echo $$ >> pids; \
         trap '' TERM; sleep 600",
    );
    configure(&home, "", &format!("{{ command = [\"{tool}\"], timeout = \"1s\" }}"));
    let outcome = check(&home).expect_status(1);
    assert!(outcome.stdout().contains("did not end within 1s and was killed"), "{}", outcome.stdout());
    let pids = fs::read_to_string(pids).expect("it ran");
    assert_eq!(pids.lines().count(), 3, "{pids}");
    for pid in pids.lines() {
        assert!(gone(pid), "process {pid} is left");
    }
}

/// Killed processes take a moment to go, and longer to be collected by whoever inherits them.
fn gone(pid: &str) -> bool {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(10) {
        match fs::read_to_string(Path::new("/proc").join(pid).join("stat")) {
            Err(_) => return true,
            Ok(stat) if stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")) => return true,
            Ok(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    false
}

#[test]
fn req_e10_a_command_gets_no_credential_and_no_terminal_but_its_home() {
    let home = Home::new();
    let tool =
        script(&home, "env > \"$HOME/seen\"; ls /proc/$$/fd >> \"$HOME/seen\"; echo canary-5e1f0c77a9");
    configure(&home, "", &format!("{{ command = [\"{tool}\"] }}"));
    cofferdam(&home)
        .env("ACME_API_KEY", CANARY)
        .env("GITHUB_TOKEN", CANARY)
        .env("LD_PRELOAD", "/nowhere/evil.so")
        .env("SOMETHING", "else")
        .args(["secrets", "check"])
        .run()
        .expect_status(0);
    let seen = home.read("seen");
    assert!(seen.contains(&format!("HOME={}\n", home.path().display())), "{seen}");
    for absent in [CANARY, "LD_PRELOAD", "SOMETHING"] {
        assert!(!seen.contains(absent), "{seen}");
    }
}

#[test]
fn secrets_list_reads_nothing_and_names_every_source() {
    let home = Home::new();
    let tool = script(&home, "echo ran > \"$HOME/ran\"");
    configure(&home, "", &format!("{{ command = [\"{tool}\", \"--token={CANARY}\"] }}"));
    let outcome = cofferdam(&home).args(["secrets", "list"]).run().expect_status(0);
    assert!(
        outcome.stdout().contains(&format!("acme      command  command {tool}\n")),
        "{}",
        outcome.stdout()
    );
    assert!(!outcome.stdout().contains(CANARY), "arguments are not shown");
    assert!(!home.path().join("ran").exists());
    let json = cofferdam(&home).args(["secrets", "list", "--json"]).run().expect_status(0).stdout();
    for fact in [
        "\"provider\": \"acme\"",
        "\"source\": \"command\"",
        "\"unobservable\": true",
        "\"no_core_dump\": true",
    ] {
        assert!(json.contains(fact), "{json}");
    }
}

#[test]
fn req_e10_a_built_in_provider_is_found_by_its_variable() {
    let home = Home::new();
    let run = |arguments: &[&str]| cofferdam(&home).env("OPENAI_API_KEY", CANARY).args(arguments).run();
    let listed = run(&["secrets", "list"]).expect_status(0).stdout();
    assert!(listed.contains("environment  variable OPENAI_API_KEY\n"), "{listed}");
    let checked = run(&["secrets", "check"]).expect_status(0).stdout();
    assert!(checked.starts_with("ok: openai-api from variable OPENAI_API_KEY"), "{checked}");
    let unset = cofferdam(&home).args(["secrets", "check", "openai-api"]).run().expect_status(1).stdout();
    assert!(unset.contains("hint: set OPENAI_API_KEY"), "{unset}");
}

#[test]
fn nothing_configured_and_mistyped_names_are_told() {
    let home = Home::new();
    let outcome = cofferdam(&home).args(["secrets", "list"]).run().expect_status(0);
    assert!(outcome.stdout().starts_with("No provider has a secret"), "{}", outcome.stdout());
    let home = configured("{ env = \"KEY_OF_MINE\" }");
    let outcome = cofferdam(&home).args(["secrets", "check", "acne"]).run().expect_status(64);
    assert!(outcome.stderr().contains("hint: did you mean acme?"), "{}", outcome.stderr());
}
