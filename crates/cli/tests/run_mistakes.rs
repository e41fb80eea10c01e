//! What a person gets wrong, and what a hostile project puts in the way: a clear sentence and the right status,
//! never a run without a sandbox.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use cofferdam_testkit::{Cofferdam, Home, Outcome};

const COFFERDAM: &str = env!("CARGO_BIN_EXE_cofferdam");

fn project() -> Home {
    let home = Home::new();
    home.write("project/README", "a project\n");
    home
}

fn run(home: &Home, words: &[&str]) -> Outcome {
    Cofferdam::new(COFFERDAM, home).current_dir(&home.path().join("project")).arg("run").args(words).run()
}

#[track_caller]
fn refused(home: &Home, words: &[&str], status: i32, sentence: &str) {
    let outcome = run(home, words).expect_status(status);
    assert!(outcome.stderr().contains(sentence), "{}", outcome.stderr());
    assert_eq!(outcome.stdout(), "", "nothing was started");
}

#[test]
fn req_i05_a_command_that_cannot_be_started_says_why() {
    let home = project();
    refused(&home, &["--", "no-such-program"], 127, "was not found");
    refused(&home, &["--", "./no-such-program"], 127, "was not found");
    refused(&home, &["--", "./README"], 126, "cannot be executed");
    refused(&home, &["--", "/"], 126, "cannot be executed");
    run(&home, &[]).expect_status(64);
}

#[test]
fn req_i06_a_workspace_that_is_more_than_a_project_is_refused() {
    let home = project();
    let at = home.path().to_str().expect("a plain path");
    refused(&home, &["--workspace", at, "--", "true"], 125, "is the home directory");
    refused(&home, &["--workspace", "/", "--", "true"], 125, "belongs to the system");
    for system in ["/usr", "/etc", "/proc", "/usr/share", "/tmp", "/var"] {
        refused(&home, &["--workspace", system, "--", "true"], 125, "belongs to the system");
    }
    let above = home.path().parent().and_then(|above| above.to_str()).expect("a plain path");
    run(&home, &["--workspace", above, "--", "true"]).expect_status(125);
    refused(&home, &["--workspace", "README", "--", "true"], 125, "is not a directory");
    refused(&home, &["--workspace", "missing", "--", "true"], 125, "cannot use missing");
    fs::create_dir_all(home.path().join(".ssh")).expect("a directory");
    let ssh = format!("{at}/.ssh");
    refused(&home, &["--workspace", &ssh, "--", "true"], 125, "is hidden");
}

#[test]
fn req_i06_a_linked_workspace_is_the_one_it_leads_to() {
    let home = project();
    symlink("project", home.path().join("link")).expect("a link");
    let link = home.path().join("link");
    let outcome = run(&home, &["--workspace", link.to_str().expect("plain"), "--", "cat", "README"]);
    assert_eq!(outcome.expect_status(0).stdout(), "a project\n");
    // A link to the home is the home.
    symlink(home.path(), home.path().join("project/home")).expect("a link");
    refused(&home, &["--workspace", "home", "--", "true"], 125, "is the home directory");
}

#[test]
fn req_i06_what_is_hidden_cannot_be_asked_for() {
    let home = project();
    home.write(".ssh/id_rsa", "");
    home.write("project/private/file", "");
    home.write("cofferdam/config.toml", "");
    let at = |name: &str| home.path().join(name).to_str().expect("a plain path").to_owned();
    for option in ["--read", "--write"] {
        for place in [at(".ssh"), at(".ssh/id_rsa"), at("cofferdam"), at("cofferdam/config.toml")] {
            refused(&home, &[option, &place, "--", "true"], 125, "is hidden");
        }
        refused(&home, &["--hide", "private", option, "private", "--", "true"], 125, "is hidden");
        for place in ["/", "/proc", "/dev", "/sys", "/run"] {
            refused(&home, &[option, place, "--", "true"], 125, "belongs to the system");
        }
        refused(&home, &[option, "missing", "--", "true"], 125, "cannot use missing");
    }
}

#[test]
fn req_i06_a_tree_that_is_shown_keeps_its_secrets() {
    let home = project();
    home.write(".ssh/id_rsa", "hidden");
    home.write("notes/.env", "hidden");
    home.write("notes/text", "shown");
    let at = home.path().to_str().expect("a plain path").to_owned();
    let script = format!("cat {at}/notes/text {at}/notes/.env {at}/.ssh/id_rsa; echo x > {at}/notes/text");
    for options in [&["--read", &at][..], &["--profile", "home"]] {
        let mut words = options.to_vec();
        words.extend(["--", "sh", "-c", &script]);
        let outcome = run(&home, &words);
        assert_eq!(outcome.stdout(), "shown", "{}", outcome.stderr());
        assert_eq!(home.read("notes/text"), "shown");
    }
    // Without the option there is nothing of it.
    assert_eq!(run(&home, &["--", "sh", "-c", &script]).stdout(), "");
}

#[test]
fn req_i06_a_hidden_name_of_the_persons_own_is_hidden() {
    let home = project();
    home.write("project/plan.txt", "mine");
    assert_eq!(run(&home, &["--", "cat", "plan.txt"]).stdout(), "mine");
    assert_eq!(run(&home, &["--hide", "plan.txt", "--", "cat", "plan.txt"]).stdout(), "");
    let slip = run(&home, &["--hide", "plam.txt", "--", "true"]).expect_status(0);
    assert!(slip.stderr().contains("it is hidden when it appears"), "{}", slip.stderr());
}

#[test]
fn req_i06_a_service_without_a_home_of_its_own_still_runs() {
    let home = project();
    for place in ["/", "/nonexistent", "/usr"] {
        let outcome = Cofferdam::new(COFFERDAM, &home)
            .env("HOME", place)
            .current_dir(&home.path().join("project"))
            .args(["run", "--", "cat", "README"])
            .run();
        assert_eq!(outcome.expect_status(0).stdout(), "a project\n", "HOME={place}");
    }
}

#[test]
fn req_i15_names_of_any_bytes_are_handled_and_shown_escaped() {
    let home = project();
    let odd: [&[u8]; 4] = [b"a\nb.pem", b"\xff\xfe.key", b"\x1b]0;title\x07.pfx", b"quote'\".p12"];
    for name in odd {
        fs::write(home.path().join("project").join(OsStr::from_bytes(name)), "hidden").expect("a file");
    }
    let plan = run(&home, &["--dry-run", "--", "true"]).expect_status(0);
    assert!(plan.stdout_bytes().iter().all(|byte| *byte >= b' ' || *byte == b'\n'), "no control characters");
    assert!(plan.stdout().contains(r"a\x0ab.pem"), "{}", plan.stdout());
    let read = run(&home, &["--", "sh", "-c", "cat -- *.pem *.key *.pfx *.p12"]);
    assert_eq!(read.stdout(), "", "{}", read.stderr());
}

#[test]
fn req_i06_a_dry_run_names_all_that_is_mounted() {
    let home = project();
    let plan = run(&home, &["--dry-run", "--", "true"]).expect_status(0).stdout();
    let mounted =
        run(&home, &["--", "cut", "-d", " ", "-f", "5", "/proc/self/mountinfo"]).expect_status(0).stdout();
    let mounted: Vec<&str> = mounted.lines().collect();
    for expected in ["/usr", "/tmp", "/run", "/dev/null", "/proc"] {
        assert!(mounted.contains(&expected), "{expected}: {mounted:?}");
    }
    let named = |path: &str| plan.split_whitespace().any(|word| word == path);
    // What is hidden of the kernel's own files is for the step that shows the others.
    for path in mounted.into_iter().filter(|path| !path.starts_with("/proc/")) {
        assert!(named(path), "{path} is in no line of the plan: {plan}");
    }
}

#[test]
fn req_i15_what_cannot_be_read_does_not_stop_a_run() {
    let home = project();
    home.write("project/closed/file", "");
    home.write("project/key.pem", "");
    home.chmod("project/closed", 0o000);
    home.chmod("project/key.pem", 0o000);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        home.path().join("project/pipe.pem"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .expect("a pipe");
    symlink("loop", home.path().join("project/loop")).expect("a link");
    symlink(".envrc", home.path().join("project/.envrc")).expect("a link");
    let outcome = run(&home, &["--", "cat", "README"]).expect_status(0);
    assert_eq!(outcome.stdout(), "a project\n");
    home.chmod("project/closed", 0o700);
}

/// Traps for whoever looks over the workspace at the end.
#[test]
fn req_i15_what_is_set_aside_cannot_be_kept_by_a_trick() {
    for (trick, script) in [
        (
            "names that are taken",
            "echo x > .envrc; for n in '' $(seq -f -%g 0 999); do echo > .envrc.held$n; done",
        ),
        ("a directory without the right to write", "echo x > .envrc; chmod 500 ."),
        ("a link on the way", "mkdir /tmp/cargo; echo x > /tmp/cargo/config.toml; ln -s /tmp/cargo .cargo"),
        ("a link itself", "ln -s /etc/passwd .envrc"),
    ] {
        let home = project();
        let outcome = run(&home, &["--", "sh", "-c", script]).expect_status(0);
        assert!(outcome.stderr().contains(".held"), "{trick}: {}", outcome.stderr());
        for name in [".envrc", ".cargo"] {
            let left = home.path().join("project").join(name);
            assert!(left.symlink_metadata().is_err(), "{trick}: {name} is still there");
        }
    }
}

/// Traps for the launcher, which writes when the command has ended: what is over the name, or on the way to it.
#[test]
fn req_i15_a_report_is_led_nowhere_else() {
    const PRECIOUS: &str = "a file of the person's\n";
    let report = |home: &Home, name: &str, script: &str| {
        let outcome = run(home, &["--report", name, "--", "sh", "-c", script]);
        assert_eq!(home.read("precious"), PRECIOUS, "{script}: {}", outcome.stderr());
        outcome
    };
    for trap in ["ln -s ../precious report", "mkfifo report", "ln -s /no/such/place report"] {
        let home = project();
        home.write("precious", PRECIOUS);
        // The second time it is there before the command is.
        for _ in 0..2 {
            report(&home, "report", &format!("rm -f report; {trap}")).expect_status(0);
            assert!(home.read("project/report").contains("\"exited\""), "{trap}");
            run(&home, &["--", "sh", "-c", &format!("rm -f report; {trap}")]).expect_status(0);
        }
    }
    let home = project();
    home.write("precious", PRECIOUS);
    home.write("elsewhere/keep", "");
    home.write("project/out/keep", "");
    report(&home, "out/report", "mv out gone; ln -s ../elsewhere out").expect_status(0);
    assert!(home.read("project/gone/report").contains("\"exited\""), "in the directory that was meant");
    let told = report(&home, "out/report", "true").expect_status(125).stderr();
    assert!(told.contains("no report can be written") && told.contains("hint: "), "{told}");
    assert!(!home.path().join("elsewhere/report").exists());
}

/// The twin: a link or a pipe where no command can write is the person's own.
#[test]
fn req_i15_a_report_goes_where_the_person_points() {
    let home = project();
    let piped = run(&home, &["--report", "/dev/stdout", "--", "true"]).expect_status(0);
    assert!(piped.stdout().contains("\"exited\""), "{}", piped.stdout());
    symlink("real", home.path().join("report")).expect("a link");
    home.write("real", "before, and longer than it will be: ".repeat(500));
    run(&home, &["--report", "../report", "--", "true"]).expect_status(0);
    assert!(home.read("real").starts_with('{') && home.read("real").ends_with("}\n"));
}
