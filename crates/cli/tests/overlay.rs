//! `run --overlay`: the workspace stays as it is until a person has said otherwise.
#![expect(clippy::unwrap_used, reason = "a test that cannot prepare its files has failed")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use cofferdam_testkit::{Cofferdam, Home, Outcome};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

struct Place {
    home: Home,
    workspace: PathBuf,
}

impl Place {
    fn new() -> Self {
        let home = Home::new();
        let workspace = home.path().join("project");
        fs::create_dir_all(workspace.join("old/deep")).unwrap();
        for (name, contents) in [("kept", "1"), ("changed", "2"), ("gone", "3"), ("old/deep/file", "4")] {
            fs::write(workspace.join(name), contents).unwrap();
        }
        // The clock of files is coarse; what is written before the layer must be older than it.
        std::thread::sleep(std::time::Duration::from_millis(20));
        Self { home, workspace }
    }

    fn cofferdam(&self, args: &[&str]) -> Outcome {
        Cofferdam::new(BINARY, &self.home).current_dir(&self.workspace).args(args).run()
    }

    /// Runs a script with a layer and gives the name of the layer.
    fn layer(&self, script: &str) -> String {
        self.cofferdam(&["run", "--overlay", "--", "sh", "-ec", script]).expect_status(0);
        let list = self.cofferdam(&["overlay", "list"]).expect_status(0).stdout();
        list.lines().last().unwrap().split(' ').next().unwrap().to_owned()
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.workspace.join(name)).ok()
    }

    fn layers(&self) -> usize {
        fs::read_dir(self.home.path().join("cofferdam/state/overlays")).map_or(0, Iterator::count)
    }
}

const WORK: &str = "echo new >added; echo two >>changed; rm gone; rm -r old; mkdir -p d/e; echo x >d/e/f";

#[test]
fn nothing_reaches_the_workspace_before_apply_and_everything_does_then() {
    let place = Place::new();
    let id = place.layer(WORK);
    assert_eq!(place.read("changed").unwrap(), "2");
    assert!(place.read("added").is_none() && place.read("gone").is_some());
    let diff = place.cofferdam(&["overlay", "diff", &id]).expect_status(0).stdout();
    for line in [
        "added     added (4 bytes)",
        "modified  changed",
        "deleted   gone",
        "deleted   old/",
        "added     d/e/f",
    ] {
        assert!(diff.contains(line), "{line} is not in\n{diff}");
    }
    place.cofferdam(&["overlay", "apply", &id]).expect_status(0);
    assert_eq!(place.read("changed").unwrap(), "2two\n");
    assert_eq!((place.read("added").unwrap(), place.read("d/e/f").unwrap()), ("new\n".into(), "x\n".into()));
    assert!(place.read("gone").is_none() && !place.workspace.join("old").exists());
    assert_eq!(place.read("kept").unwrap(), "1");
    assert_eq!(place.layers(), 0);
}

#[test]
fn discard_leaves_nothing_and_the_workspace_as_it_was() {
    let place = Place::new();
    let id = place.layer(&format!("{WORK}; mkdir locked; touch locked/f; chmod 0 locked"));
    place.cofferdam(&["overlay", "discard", &id]).expect_status(0);
    assert_eq!(place.layers(), 0);
    assert!(place.read("added").is_none() && place.read("gone").is_some());
    place.cofferdam(&["overlay", "diff", &id]).expect_status(64);
}

#[test]
fn a_run_that_changes_nothing_leaves_no_layer() {
    let place = Place::new();
    place.cofferdam(&["run", "--overlay", "--", "cat", "kept"]).expect_status(0);
    assert_eq!(place.layers(), 0);
}

#[test]
fn what_was_changed_meanwhile_is_not_overwritten() {
    let place = Place::new();
    let id = place.layer(&format!("{WORK}; echo mine >both"));
    fs::write(place.workspace.join("changed"), "theirs").unwrap();
    fs::write(place.workspace.join("both"), "theirs").unwrap();
    fs::write(place.workspace.join("old/deep/more"), "theirs").unwrap();
    let outcome = place.cofferdam(&["overlay", "apply", &id]).expect_status(1);
    for line in ["modified  changed", "both", "deleted   old/"] {
        assert!(outcome.stdout().contains(line), "{line} is not in\n{}", outcome.stdout());
    }
    assert_eq!(place.read("changed").unwrap(), "theirs");
    assert_eq!(place.read("both").unwrap(), "theirs");
    assert_eq!(place.read("old/deep/more").unwrap(), "theirs");
    // The rest was carried over, and a second call has only these left.
    assert_eq!(place.read("added").unwrap(), "new\n");
    let left = place.cofferdam(&["overlay", "diff", &id]).expect_status(0).stdout();
    assert!(!left.contains("added     added"), "{left}");
}

#[test]
fn req_i15_what_could_hurt_the_host_stays_in_the_layer() {
    let place = Place::new();
    fs::create_dir_all(place.workspace.join(".git/hooks")).unwrap();
    fs::write(place.workspace.join(".env"), "KEY=canary").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    let id = place.layer(
        "echo evil >.git/hooks/post-checkout; mkdir -p sub/.vscode; echo evil >sub/.vscode/tasks.json
         ln -s /etc/passwd out; ln -s ../../x up; ln -s kept fine; mkfifo pipe
         echo '#!/bin/sh' >tool; chmod 4755 tool || chmod 755 tool; printf x >\"$(printf 'odd\\n\\033[31mname')\"",
    );
    let outcome = place.cofferdam(&["overlay", "apply", &id]).expect_status(1);
    for name in [".git/hooks/post-checkout", "sub/.vscode/tasks.json", "out", "up", "pipe"] {
        assert!(fs::symlink_metadata(place.workspace.join(name)).is_err(), "{name} was applied");
        assert!(outcome.stdout().contains(name), "{name} is not told of:\n{}", outcome.stdout());
    }
    assert_eq!(fs::read_link(place.workspace.join("fine")).unwrap(), PathBuf::from("kept"));
    assert_eq!(fs::metadata(place.workspace.join("tool")).unwrap().permissions().mode() & 0o7777, 0o755);
    assert_eq!(place.read(".env").unwrap(), "KEY=canary");
    assert!(!outcome.stdout().contains('\u{1b}'));
    assert!(place.workspace.join("odd\n\u{1b}[31mname").exists());
}

#[test]
fn a_mode_is_carried_over_and_a_touch_is_no_change() {
    let place = Place::new();
    let id = place.layer("chmod 700 kept; touch changed");
    let diff = place.cofferdam(&["overlay", "diff", &id]).expect_status(0).stdout();
    assert_eq!(diff, "mode      kept 644 -> 700\n");
    place.cofferdam(&["overlay", "apply", &id]).expect_status(0);
    assert_eq!(fs::metadata(place.workspace.join("kept")).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn req_i03_a_launcher_that_is_killed_leaves_its_layer_listed() {
    let place = Place::new();
    let mut child = Cofferdam::new(BINARY, &place.home)
        .current_dir(&place.workspace)
        .args(["run", "--overlay", "--", "sh", "-c", "echo x >added; echo ready; sleep 60"])
        .spawn();
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let list = place.cofferdam(&["overlay", "list", "--json"]).expect_status(0).stdout();
    assert!(list.contains("\"changes\": 1"), "{list}");
    assert!(place.read("added").is_none());
}
