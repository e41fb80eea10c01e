//! What the configuration, the project's file and the command line say about one run, and who wins.
#![expect(clippy::unwrap_used, reason = "a test that cannot prepare its files has failed")]

use std::path::PathBuf;

use cofferdam_testkit::{Cofferdam, Home, Outcome};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

struct Place {
    home: Home,
    workspace: PathBuf,
}

impl Place {
    fn new(config: &str) -> Self {
        let home = Home::new();
        let workspace = home.path().join("project");
        std::fs::create_dir(&workspace).unwrap();
        home.write("cofferdam/config.toml", config);
        Self { home, workspace }
    }

    fn run(&self, args: &[&str]) -> Outcome {
        Cofferdam::new(BINARY, &self.home)
            .env("BUILD_FLAVOUR", "spicy")
            .current_dir(&self.workspace)
            .arg("run")
            .args(args)
            .run()
    }
}

#[test]
fn the_configured_limit_holds_and_a_typed_one_replaces_it() {
    let place = Place::new("[sandbox.limits]\nprocesses = 77\n");
    let shown = |args: &[&str]| place.run(args).expect_status(0).stdout();
    assert_eq!(shown(&["--", "sh", "-c", "ulimit -p || ulimit -u"]).trim(), "77");
    assert_eq!(shown(&["--pids", "99", "--", "sh", "-c", "ulimit -p || ulimit -u"]).trim(), "99");
}

#[test]
fn a_project_lowers_a_limit_and_never_raises_one() {
    let place = Place::new("[sandbox.limits]\nprocesses = 77\n");
    let limit = || place.run(&["--", "sh", "-c", "ulimit -p || ulimit -u"]).expect_status(0).stdout();
    std::fs::write(place.workspace.join(".cofferdam.toml"), "[sandbox.limits]\nprocesses = 500\n").unwrap();
    assert_eq!(limit().trim(), "77");
    std::fs::write(place.workspace.join(".cofferdam.toml"), "[sandbox.limits]\nprocesses = 55\n").unwrap();
    assert_eq!(limit().trim(), "55");
}

#[test]
fn req_i06_a_path_hidden_by_the_configuration_or_the_project_is_not_there() {
    let place = Place::new("[sandbox]\nhide = [\"~/project/of-the-user\"]\n");
    for name in ["of-the-user", "of-the-project", "of-nobody"] {
        std::fs::write(place.workspace.join(name), "canary").unwrap();
    }
    std::fs::write(place.workspace.join(".cofferdam.toml"), "[sandbox]\nhide = [\"of-the-project\"]\n")
        .unwrap();
    place.run(&["--", "cat", "of-nobody"]).expect_status(0);
    for name in ["of-the-user", "of-the-project"] {
        let outcome = place.run(&["--", "cat", name]).expect_status(1);
        assert!(!outcome.stdout().contains("canary"), "{name}");
    }
}

#[test]
fn req_s03_a_variable_is_passed_when_the_user_says_so_and_not_otherwise() {
    let asked = ["--", "sh", "-c", "echo ${BUILD_FLAVOUR-none}"];
    assert_eq!(Place::new("").run(&asked).expect_status(0).stdout().trim(), "none");
    let place = Place::new("[sandbox.env]\npass = [\"BUILD_FLAVOUR\"]\n");
    assert_eq!(place.run(&asked).expect_status(0).stdout().trim(), "spicy");
}

#[test]
fn a_broken_configuration_or_project_file_starts_nothing() {
    let place = Place::new("[sandbox]\nprofil = \"strict\"\n");
    place.run(&["--", "touch", "made"]).expect_status(78);
    let place = Place::new("");
    std::fs::write(place.workspace.join(".cofferdam.toml"), "[sandbox]\nisolation = \"best-effort\"\n")
        .unwrap();
    let outcome = place.run(&["--", "touch", "made"]).expect_status(78);
    assert!(outcome.stderr().contains("isolation"), "{}", outcome.stderr());
    assert!(!place.workspace.join("made").exists());
}
