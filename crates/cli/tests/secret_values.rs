//! No value of a secret is ever shown, whatever goes wrong, and nobody can look it up in the program.

use std::fs;
use std::path::Path;

use cofferdam_testkit::{Cofferdam, Home, Outcome, copy_program};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");
const CANARY: &str = "canary-77f00d1e5e";

fn provider(name: &str, secret: &str) -> String {
    format!(
        "[[provider]]\nname = \"{name}\"\nhosts = [\"{name}.example\"]\nvariables = [\"{}_API_KEY\"]\n\
         scheme = {{ header = \"x-api-key\" }}\nsecret = {secret}\n",
        name.to_uppercase()
    )
}

#[track_caller]
fn assert_silent(outcome: &Outcome) {
    let shown = format!("{}{}", outcome.stdout(), outcome.stderr());
    assert!(!shown.contains(CANARY), "{shown}");
    assert!(!shown.contains("panicked"), "{shown}");
}

/// Sources that have the value and cannot give it, each in another way.
fn failing(home: &Home) -> String {
    let tool = |name: &str, body: &str| {
        let path = home.write(name, format!("#!/bin/sh\n{body}\n"));
        home.chmod(name, 0o700);
        format!("{{ command = [\"{}\", \"{CANARY}\"], timeout = \"1s\" }}", path.display())
    };
    let open = home.write("open", CANARY);
    home.chmod("open", 0o644);
    home.write("lines", format!("{CANARY}\n{CANARY}\n{CANARY}\n"));
    home.write("binary", format!("{CANARY}\0{CANARY}"));
    home.write("broken.env", format!("{CANARY}\nKEY='{CANARY}\n"));
    home.write("broken.json", format!("{{\"token\": \"{CANARY}\", }}"));
    home.write("number.json", format!("{{\"{CANARY}\": 1, \"token\": {{\"a\": \"{CANARY}\"}}}}"));
    let sources = [
        tool("stderr.sh", &format!("echo {CANARY} >&2; exit 1")),
        tool("stdout.sh", &format!("echo {CANARY}; exit 1")),
        tool("signal.sh", &format!("echo {CANARY}; kill -9 $$")),
        tool("slow.sh", &format!("echo {CANARY}; echo {CANARY} >&2; exec sleep 600")),
        tool("endless.sh", &format!("while :; do echo {CANARY}; done")),
        tool("lines.sh", &format!("echo {CANARY}; echo {CANARY}")),
        format!("{{ file = \"{}\" }}", open.display()),
        "{ file = \"~/lines\" }".to_owned(),
        "{ file = \"~/binary\" }".to_owned(),
        "{ dotenv = \"~/broken.env\", key = \"KEY\" }".to_owned(),
        "{ file = \"~/broken.json\", key = \"token\" }".to_owned(),
        "{ file = \"~/number.json\", key = \"token\" }".to_owned(),
        "{ env = \"LINES_OF_MINE\" }".to_owned(),
    ];
    let named = |(index, source): (usize, &String)| provider(&format!("p{index}"), source);
    sources.iter().enumerate().map(named).collect()
}

#[test]
fn req_e28_no_command_and_no_failure_shows_a_value() {
    let home = Home::new();
    let config = failing(&home);
    let providers = config.matches("[[provider]]").count();
    home.write("cofferdam/config.toml", config);
    for arguments in [
        &["secrets", "list"][..],
        &["secrets", "list", "--json"],
        &["secrets", "check"],
        &["secrets", "check", "--json"],
        &["secrets", "check", "p0"],
    ] {
        let outcome = Cofferdam::new(BINARY, &home)
            .env("RUST_BACKTRACE", "1")
            .env("RUST_LOG", "trace")
            .env("LINES_OF_MINE", format!("{CANARY}\r\n{CANARY}"))
            .args(arguments)
            .run();
        assert_silent(&outcome);
        if arguments.ends_with(&["check"]) {
            assert_eq!(outcome.stdout().matches("failed: p").count(), providers, "{}", outcome.stdout());
        }
    }
}

#[test]
fn req_e28_a_value_that_is_read_is_not_shown_either_and_its_protection_is() {
    let home = Home::new();
    home.write("key", CANARY);
    home.write("cofferdam/config.toml", provider("acme", "{ file = \"~/key\" }"));
    let outcome = Cofferdam::new(BINARY, &home).args(["secrets", "check"]).run().expect_status(0);
    assert_silent(&outcome);
    let told = outcome.stdout();
    assert!(told.contains("locked in memory, not in core dumps, wiped on fork"), "{told}");
    let outcome = Cofferdam::new(BINARY, &home).args(["secrets", "check", "--json"]).run().expect_status(0);
    assert_silent(&outcome);
    assert!(outcome.stdout().contains("\"excluded_from_dumps\": true"), "{}", outcome.stdout());
}

/// The probe runs as the child of whatever is to be looked into, as an ordinary user.
const PROBE: &str = "if cat /proc/$PPID/environ > /dev/null 2>&1; then echo readable; else echo closed; fi > \
                     \"$HOME/environ\"\ngrep 'Max core' /proc/$PPID/limits > \"$HOME/core\"\necho canary-77f00d1e5e";

/// Runs a command as an ordinary user: root may look into everything, so that root's look proves nothing.
fn unprivileged(home: &Home, command: &[&str]) -> Outcome {
    if fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) != 0) {
        return Cofferdam::new(command[0], home).args(&command[1..]).run();
    }
    Cofferdam::new("/usr/bin/chown", home)
        .args(["-R", "65534:65534", home.path().to_str().expect("text")])
        .run()
        .expect_status(0);
    Cofferdam::new("/usr/bin/setpriv", home)
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .args(command)
        .run()
}

#[test]
fn req_e28_another_process_of_the_same_user_cannot_look_into_the_program() {
    let home = Home::new();
    let probe = home.write("probe.sh", format!("#!/bin/sh\n{PROBE}\n"));
    home.chmod("probe.sh", 0o700);
    let probe = probe.to_str().expect("text");
    let binary = home.path().join("cofferdam-copy");
    copy_program(Path::new(BINARY), &binary);
    home.write("cofferdam/config.toml", provider("acme", &format!("{{ command = [\"{probe}\"] }}")));

    unprivileged(&home, &["/bin/sh", "-c", &format!("{probe}; :")]).expect_status(0);
    assert_eq!(home.read("environ"), "readable\n", "an ordinary parent can be looked into");

    unprivileged(&home, &[binary.to_str().expect("text"), "secrets", "check"]).expect_status(0);
    assert_eq!(home.read("environ"), "closed\n");
    let core = home.read("core");
    // One byte, not none: only then does the kernel leave out a handler that core files are piped to.
    assert_eq!(core.split_whitespace().nth(4), Some("1"), "{core}");
}
