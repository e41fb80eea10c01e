//! The checks, run as a person runs them on a copy of the whole tree, first as it is and then with a mistake
//! planted: a check that cannot fail shows nothing.

use std::fs;
use std::path::{Path, PathBuf};

use cofferdam_testkit::{Cofferdam, Home, Outcome};

/// A copy of the project in a throw-away home.
struct Copy {
    home: Home,
}

impl Copy {
    fn new() -> Self {
        let copy = Self { home: Home::new() };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the project is above this crate");
        copy_tree(root, &copy.path());
        copy
    }

    fn path(&self) -> PathBuf {
        self.home.path().join("project")
    }

    fn edit(&self, file: &str, change: impl FnOnce(String) -> String) {
        let path = self.path().join(file);
        let text = fs::read_to_string(&path).expect("a file of the project");
        let changed = change(text.clone());
        assert_ne!(changed, text, "nothing was planted in {file}");
        fs::write(path, changed).expect("a file of the copy");
    }

    /// The task, with the toolchain of whoever runs the tests and without a network.
    fn xtask(&self, arguments: &[&str]) -> Outcome {
        let mut call = Cofferdam::new(env!("CARGO_BIN_EXE_xtask"), &self.home)
            .args(arguments)
            .current_dir(&self.path())
            .env("CARGO_NET_OFFLINE", "true");
        for name in ["PATH", "HOME", "CARGO", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
            if let Some(value) = std::env::var_os(name) {
                call = call.env(name, value);
            }
        }
        call.run()
    }
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory of the copy");
    for entry in fs::read_dir(from).expect("a directory of the project") {
        let entry = entry.expect("an entry of a directory");
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().expect("a kind of file");
        if kind.is_dir()
            && !["target", ".git", ".cache", "corpus"].iter().any(|made| entry.file_name() == *made)
        {
            copy_tree(&source, &target);
        } else if kind.is_file() {
            fs::copy(&source, &target).expect("a file of the project can be copied");
        }
    }
}

#[test]
fn layers_fail_on_an_arrow_that_points_sideways() {
    let copy = Copy::new();
    copy.xtask(&["check-layers"]).expect_status(0);
    copy.edit("crates/audit/Cargo.toml", |text| {
        text.replacen("[dependencies]", "[dependencies]\ncofferdam-secrets.workspace = true", 1)
    });
    let outcome = copy.xtask(&["check-layers"]).expect_status(1);
    let stderr = outcome.stderr();
    assert!(stderr.contains("cofferdam-audit \u{2192} cofferdam-secrets: points sideways"), "{stderr}");
    assert!(stderr.contains("the record cannot hold what it cannot name"), "{stderr}");
}

#[test]
fn layers_fail_on_a_pure_crate_that_reads_a_file_or_allows_unsafe_code() {
    let copy = Copy::new();
    copy.edit("crates/policy/src/lib.rs", |text| {
        text + "\nfn peek() -> bool { std::fs::exists(\"/\").is_ok() }\n"
    });
    copy.edit("crates/secrets/Cargo.toml", |text| text.replacen("[lints]\nworkspace = true", "", 1));
    let stderr = copy.xtask(&["check-layers"]).expect_status(1).stderr();
    assert!(stderr.contains("a pure crate does not say `std::fs`"), "{stderr}");
    assert!(stderr.contains("cofferdam-secrets: does not take the workspace's lints"), "{stderr}");
}

#[test]
fn req_s05_a_second_place_that_starts_processes_fails_the_check() {
    let copy = Copy::new();
    copy.xtask(&["check-spawns"]).expect_status(0);
    copy.edit("crates/cli/src/places.rs", |text| text + "\nuse std::process::{Child, Command as Start};\n");
    let stderr = copy.xtask(&["check-spawns"]).expect_status(1).stderr();
    assert!(
        stderr.contains("crates/cli/src/places.rs:") && stderr.contains("`process::Command`"),
        "{stderr}"
    );
}

#[test]
fn promises_fail_when_a_test_is_gone_and_are_filled_in_again() {
    let copy = Copy::new();
    copy.xtask(&["check-promises"]).expect_status(0);
    copy.edit("xtask/src/check_spawns.rs", |text| {
        text.replace("fn req_s05_only_the_named_places", "fn req_s05_renamed_only_the_named_places")
    });
    let stderr = copy.xtask(&["check-promises"]).expect_status(1).stderr();
    assert!(stderr.contains("S05: there is no test"), "{stderr}");
    assert!(stderr.contains("is not listed"), "{stderr}");
    copy.xtask(&["check-promises", "--write"]).expect_status(0);
    copy.xtask(&["check-promises"]).expect_status(0);
}

#[test]
fn promises_fail_when_a_kept_one_has_no_test() {
    let copy = Copy::new();
    copy.home.write("project/docs/promises.md", {
        let document = copy.home.read("project/docs/promises.md");
        let row = document.lines().find(|line| line.starts_with("| P06 |")).expect("the last shim promise");
        document.replace(row, "| P06 | Words | kept | |")
    });
    let stderr = copy.xtask(&["check-promises"]).expect_status(1).stderr();
    assert!(stderr.contains("P06: said to be kept, and no test shows it"), "{stderr}");
}

#[test]
fn an_unknown_task_is_an_error_with_the_list_of_tasks() {
    let stderr = Copy::new().xtask(&["tset"]).expect_status(1).stderr();
    assert!(stderr.contains("no such task: tset") && stderr.contains("check-promises"), "{stderr}");
}
