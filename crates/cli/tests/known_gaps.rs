//! What a sandbox over the workspace itself does not stop. Each test shows the gap, so that it fails on the day it
//! is closed, and names the way around it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use cofferdam_testkit::{Cofferdam, Home, copy_program};

const COFFERDAM: &str = env!("CARGO_BIN_EXE_cofferdam");
const VALUE: &str = "written-while-it-runs";

/// Runs a command that waits, changes the host meanwhile, lets it read `.env`, and gives what it read.
fn read_after(home: &Home, change: impl FnOnce()) -> String {
    printed_after(home, "cat .env", change)
}

fn printed_after(home: &Home, then: &str, change: impl FnOnce()) -> String {
    let script = &format!("echo ready; read go; {then}");
    let mut child = Cofferdam::new(COFFERDAM, home)
        .current_dir(&home.path().join("project"))
        .args(["run", "--", "sh", "-c", script])
        .spawn();
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    change();
    child.stdin.take().expect("a pipe").write_all(b"go\n").expect("a line");
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("the rest");
    child.wait().expect("its end");
    rest
}

/// What the host writes into a file that is hidden stays hidden.
#[test]
fn req_i06_a_secret_that_the_host_rewrites_in_place_stays_hidden() {
    let home = Home::new();
    home.write("project/.env", "before");
    let read = read_after(&home, || {
        fs::write(home.path().join("project/.env"), VALUE).expect("a write");
    });
    assert_eq!(read, "");
}

/// What the rules let through is looked at when it starts, and nobody was asked to approve it: its scripts are opened by
/// their names, so that what a person edits while it runs is seen. A script that a person approved keeps its bytes
/// (`approved_bytes.rs`), until the host renames another one to its name.
#[test]
fn known_gap_a_script_that_nobody_was_asked_about_may_change_while_its_command_runs() {
    let home = Home::new();
    home.write("project/run.sh", "echo first");
    let printed = printed_after(&home, "sh run.sh", || {
        home.write("project/run.sh", "echo other");
    });
    assert_eq!(printed, "other\n", "closed: make it a row of approved_bytes.rs");
}

/// A clone is honest work, so new repositories below the workspace are left where they are; their hooks and
/// configuration run when the person goes there with git.
#[test]
fn known_gap_a_new_repository_below_the_workspace_keeps_its_hooks() {
    let home = Home::new();
    home.write("project/README", "");
    let script = "mkdir -p below/.git/hooks; echo x > below/.git/hooks/post-checkout";
    Cofferdam::new(COFFERDAM, &home)
        .current_dir(&home.path().join("project"))
        .args(["run", "--", "sh", "-c", script])
        .run()
        .expect_status(0);
    let hook = home.path().join("project/below/.git/hooks/post-checkout");
    assert!(hook.exists(), "closed: make it a row of threats_writes.rs");
}

/// The kernel lets nobody but root drop a group, and a file may be open to one.
#[test]
fn known_gap_an_ordinary_user_keeps_the_groups() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can choose the groups of a command");
        return;
    }
    let home = Home::outside_tmp();
    home.write("project/README", "");
    home.chmod("project", 0o777);
    // Its record is its own.
    home.chmod("", 0o777);
    let words = ["--reuid=54321", "--regid=54321", "--groups=54321,54322", "--inh-caps=-all", "--"];
    // The build directory may be closed to an ordinary user.
    let binary = home.path().join("cofferdam-binary");
    copy_program(Path::new(COFFERDAM), &binary);
    let outcome = Cofferdam::new("/usr/bin/setpriv", &home)
        .current_dir(&home.path().join("project"))
        .args(words)
        .arg(&binary)
        .args(["run", "--network", "none", "--", "grep", "Groups", "/proc/self/status"])
        .run()
        .expect_status(0);
    assert!(outcome.stdout().contains("65534"), "closed: {}", outcome.stdout());
}

/// Root has none left.
#[test]
fn req_i11_root_keeps_no_group() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: this is about root");
        return;
    }
    let home = Home::new();
    home.write("project/README", "");
    let outcome = Cofferdam::new("/usr/bin/setpriv", &home)
        .current_dir(&home.path().join("project"))
        .args(["--groups=4,27", "--", COFFERDAM, "run", "--", "grep", "Groups", "/proc/self/status"])
        .run()
        .expect_status(0);
    assert_eq!(outcome.stdout().trim(), "Groups:");
}
