//! A01, A05, A06, A13, A16, A17: whatever starts a command asks the gate first, and what was approved is what runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use cofferdam_testkit::processes::wait_until;
use cofferdam_testkit::{Cofferdam, Home, Outcome};

const COFFERDAM: &str = env!("CARGO_BIN_EXE_cofferdam");
/// Leaves a mark if it is run, and has to be asked about.
const MARKS: &str = "touch ran; git push --force";
const REFUSED: i32 = 77;

/// A home with a workspace, outside of where a sandbox has files of its own.
fn place(config: &str) -> Home {
    let home = Home::outside_tmp();
    home.write("cofferdam/config.toml", config);
    home.chmod("cofferdam", 0o700);
    fs::create_dir(home.path().join("project")).expect("a directory");
    home
}

/// Without a terminal, whatever runs the tests.
fn call(home: &Home, args: &[&str]) -> Cofferdam {
    Cofferdam::new("/usr/bin/setsid", home)
        .args(["-w", COFFERDAM])
        .args(args)
        .current_dir(&home.path().join("project"))
}

fn run(home: &Home, args: &[&str]) -> Outcome {
    call(home, args).run()
}

fn ran(home: &Home) -> bool {
    let mark = home.path().join("project/ran");
    let there = mark.exists();
    if there {
        fs::remove_file(mark).expect("the mark");
    }
    there
}

/// The question that waits for an answer.
fn question(home: &Home) -> String {
    let first = || {
        let json = run(home, &["approvals", "list", "--json"]).expect_status(0).stdout();
        let listed: serde_json::Value = serde_json::from_str(&json).expect("what the program lists");
        listed["pending"][0]["id"].as_str().map(str::to_owned)
    };
    wait_until("a question waits", || first().is_some());
    first().expect("it waits still")
}

/// Ends the session with the test.
struct Session<'a>(&'a Home);

impl<'a> Session<'a> {
    fn new(home: &'a Home) -> Self {
        run(home, &["session", "new", "--name", "one"]).expect_status(0);
        Self(home)
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        run(self.0, &["session", "kill", "one"]);
    }
}

#[test]
fn req_a01_a06_nothing_that_an_agent_made_up_starts_where_nobody_watches() {
    let home = place("");
    let session = Session::new(&home);
    for kind in ["cron", "headless", "interactive"] {
        let ways: [&[&str]; 4] = [
            &["run", "--session-kind", kind, "--", "sh", "-c", MARKS],
            &["session", "exec", "--session-kind", kind, "one", "-c", MARKS],
            &["session", "exec", "--session-kind", kind, "--background", "one", "--", "sh", "-c", MARKS],
            &["session", "attach", "--session-kind", kind, "one", "--", "sh", "-c", MARKS],
        ];
        for way in ways {
            let outcome = run(&home, way);
            assert_eq!(outcome.status(), REFUSED, "{way:?}: {}", outcome.stderr());
            assert!(outcome.stderr().contains("overwrites history"), "{way:?}: {}", outcome.stderr());
            assert!(!ran(&home), "{way:?}");
        }
        run(&home, &["run", "--session-kind", kind, "--", "touch", "ran"]).expect_status(0);
        assert!(ran(&home), "what is harmless runs");
    }
    drop(session);
}

#[test]
fn req_a04_a05_whoever_typed_it_is_not_asked_and_the_floor_holds_for_them_too() {
    let home = place("");
    run(&home, &["run", "--", "sh", "-c", "touch ran; sudo true"]);
    assert!(ran(&home), "the caller's own words");
    let policy = home.path().join("cofferdam/config.toml");
    let policy = policy.to_str().expect("a path");
    assert_eq!(run(&home, &["run", "--", "cat", policy]).status(), 1, "theirs to name, and not there inside");
    let agents = ["run", "--session-kind", "headless", "--", "tee", policy];
    assert_eq!(run(&home, &agents).status(), REFUSED, "not an agent's");
    for floor in [&["rm", "-rf", "/"][..], &["sh", "-c", "touch ran; rm -rf ~"], &["mkfs.ext4", "/dev/sda1"]]
    {
        let outcome = call(&home, &["run", "--"]).args(floor).run();
        assert_eq!(outcome.status(), REFUSED, "{floor:?}: {}", outcome.stderr());
        assert!(!ran(&home), "{floor:?}");
    }
}

#[test]
fn req_a02_a_gateway_is_asked_and_its_answer_counts_once() {
    let home = place("");
    for (answer, status) in [("allow", 0), ("deny", REFUSED)] {
        let command = ["run", "--session-kind", "gateway", "--approval-session", "chat", "--", "sh", "-c"];
        let child = call(&home, &command).arg("touch ran; env > /dev/null; : sudo; rm -rf src").spawn();
        let id = question(&home);
        assert!(!ran(&home), "it waits");
        run(&home, &["approvals", answer, &id]).expect_status(0);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(
            output.status.code(),
            Some(status),
            "{answer}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(ran(&home), status == 0, "{answer}");
    }
}

#[test]
fn req_a16_a_script_that_changed_after_the_yes_does_not_run() {
    for (edit, status) in [("echo 'echo two' > run.sh", REFUSED), ("true", 0)] {
        let home = place("");
        let script = "touch ran\n# git push --force\n";
        home.write("project/run.sh", script);
        let notify = home.write(
            "notify.sh",
            format!(
                "#!/bin/sh\ndigest=$(sed 's/.*\"digest\": *\"//;s/\".*//' | head -n 1)\ncd {}\n{edit}\n\
                 printf '{{\"digest\": \"%s\", \"answer\": \"allow\", \"scope\": \"once\"}}' \"$digest\"\n",
                home.path().join("project").display()
            ),
        );
        fs::set_permissions(&notify, fs::Permissions::from_mode(0o700)).expect("a program");
        home.write(
            "cofferdam/config.toml",
            format!("[approval]\nnotify = [{:?}]\n", notify.to_str().expect("a path")),
        );
        let outcome = run(
            &home,
            &["run", "--session-kind", "gateway", "--", "sh", "-c", "sh run.sh; git push --force; true"],
        );
        assert_eq!(outcome.status(), status, "{edit}: {}", outcome.stderr());
        assert_eq!(ran(&home), status == 0, "{edit}");
    }
}

#[test]
fn req_a17_what_an_agent_types_into_a_terminal_passes_the_gate() {
    let home = place("");
    let session = Session::new(&home);
    let refused = run(&home, &["session", "send", "--session-kind", "headless", "one", MARKS]);
    assert_eq!(refused.status(), REFUSED, "{}", refused.stderr());
    assert!(!ran(&home));
    let attached = run(&home, &["session", "attach", "--session-kind", "headless", "one"]);
    assert_eq!(attached.status(), 64, "no terminal without a gate");
    run(&home, &["session", "send", "one", "two\nlines"]).expect_status(64);
    let process = run(&home, &["session", "send", "--session-kind", "headless", "one", "touch ran; exit"])
        .expect_status(0)
        .stdout();
    run(&home, &["session", "logs", "one", process.trim(), "--follow"]).expect_status(0);
    assert!(ran(&home), "what is harmless is typed");
    drop(session);
}

#[test]
fn req_a01_every_start_is_in_the_record_with_the_decision_that_let_it() {
    let home = place("");
    run(&home, &["run", "--", "sh", "-c", "exit 3"]).expect_status(3);
    run(&home, &["run", "--session-kind", "cron", "--", "sh", "-c", MARKS]).expect_status(REFUSED);
    let record = run(&home, &["audit", "export", "--format", "json"]).expect_status(0).stdout();
    for said in ["\"approval-decided\"", "\"sandbox-started\"", "\"sandbox-ended\"", "\"session-kind\""] {
        assert!(record.contains(said), "{said}:\n{record}");
    }
    assert_eq!(record.matches("\"sandbox-started\"").count(), 1, "what was refused did not start:\n{record}");
    run(&home, &["audit", "verify"]).expect_status(0);
}

#[test]
fn req_a18_a_refusal_does_not_say_how_to_get_around_it() {
    let home = place("");
    let told =
        run(&home, &["run", "--session-kind", "headless", "--", "sh", "-c", MARKS]).stderr().to_lowercase();
    for word in ["config", "mode", "--session-kind", "disable", "toml", "approvals", "\"off\""] {
        assert!(!told.contains(word), "{word}: {told}");
    }
}

#[test]
fn req_a08_whatever_would_ask_says_at_its_start_that_nobody_can_answer() {
    const POINTED_OUT: &str = "nobody can be asked here";
    for (config, pointed_out) in [("", true), ("[approval]\nmode = \"off\"\n", false)] {
        let home = place(config);
        let session = Session::new(&home);
        let ways: [&[&str]; 4] = [
            &["run", "--session-kind", "interactive", "--", "true"],
            &["session", "exec", "--session-kind", "interactive", "one", "--", "true"],
            &["session", "send", "--session-kind", "interactive", "one", "true"],
            &["exec-code", "--session-kind", "interactive", "--language", "bash", "-"],
        ];
        for way in ways {
            let outcome = call(&home, way).input("true\n").run();
            assert_eq!(outcome.stderr().contains(POINTED_OUT), pointed_out, "{way:?}: {}", outcome.stderr());
        }
        drop(session);
    }
}

/// What a program finds that would be told a password, or could use one: the helper that asks for it, the tickets of
/// passwords that were given before, and the right to become somebody else.
const PASSWORDS: &str = "echo helper=$SUDO_ASKPASS; [ -e /run/sudo ] && echo tickets; \
                         grep NoNewPrivs /proc/self/status";

#[test]
fn req_a13_no_password_is_taken_from_a_sandbox_or_shown_to_it() {
    let home = place("");
    let asked = |args: &[&str]| call(&home, args).env("SUDO_ASKPASS", "/usr/bin/ask-for-it").run();
    let inside = asked(&["run", "--", "sh", "-c", PASSWORDS]).expect_status(0).stdout();
    assert_eq!(inside, "helper=\nNoNewPrivs:\t1\n", "a password would be of no use there");
    let outside = Cofferdam::new("/bin/sh", &home)
        .args(["-c", PASSWORDS])
        .env("SUDO_ASKPASS", "/usr/bin/ask-for-it")
        .run()
        .stdout();
    assert!(
        outside.contains("helper=/usr/bin/ask-for-it") && outside.contains("NoNewPrivs:\t0"),
        "{outside}"
    );
    // A password on the way to sudo is a question of its own, whoever handed it over.
    let told =
        asked(&["run", "--session-kind", "headless", "--", "sh", "-c", "touch ran; echo x | sudo -S id"]);
    assert_eq!(told.status(), REFUSED, "{}", told.stderr());
    assert!(told.stderr().contains("password"), "{}", told.stderr());
    assert!(!ran(&home));
}

#[test]
fn req_a14_nothing_that_governs_a_session_is_there_inside() {
    let home = place("[approval]\nmode = \"manual\"\n");
    run(&home, &["run", "--session-kind", "cron", "--", "sh", "-c", MARKS]).expect_status(REFUSED);
    let own = home.path().join("cofferdam");
    let mut served = call(&home, &["approvals", "serve"]).spawn();
    wait_until("the socket is served", || own.join("run/approvals.sock").exists());
    let all = home.path().to_str().expect("a path");
    let find = format!("find {} -type f -o -type s; echo x >> {}/config.toml", own.display(), own.display());
    let outside = Cofferdam::new("/bin/sh", &home).args(["-c", &find.replace("echo x >>", "true")]).run();
    for there in ["config.toml", "approvals.sock", "audit"] {
        assert!(outside.stdout().contains(there), "{there}: {}", outside.stdout());
    }
    for profile in ["strict", "workspace", "home"] {
        // Even where the person shows the whole home, and lets it be written to.
        let args = ["run", "--profile", profile, "--write", all, "--workspace", ".", "--", "sh", "-c", &find];
        let inside = run(&home, &args);
        assert_eq!(inside.stdout(), "", "{profile}: {}", inside.stderr());
        assert!(!home.read("cofferdam/config.toml").contains('x'), "{profile}");
    }
    served.kill().expect("it is ours");
    served.wait().expect("it ends");
}
