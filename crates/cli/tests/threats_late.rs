//! Secrets that the host puts into the workspace while a command runs (38 in the threat model), in every way of running.
//!
//! Between the appearance of a file and its cover is a moment in which it can be read. So the command waits until it
//! cannot, for much longer than that takes, and reads only then.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use cofferdam_testkit::{CANARY, Home, OnTerminal, Running, Scene, Way, Who};

const COFFERDAM: &str = env!("CARGO_BIN_EXE_cofferdam");

/// What appears, and how.
const MADE: &[&str] = &[".env.late", "later/deep/.env", "later/.aws/credentials"];
/// One that is hidden from the beginning, and gets another file under its name.
const REPLACED: &str = ".env";

/// Says that it runs, waits for the host, waits until nothing can be read any more, and reads.
const COMMAND: &str = r#": > runs
until [ -e changed ]; do sleep 0.01; done
for name in "$@"; do
  tries=0
  while cat "$name" >/dev/null 2>&1 && [ $tries -lt 1000 ]; do tries=$((tries+1)); sleep 0.01; done
  cat "$name"
done
echo over"#;

fn command() -> Vec<String> {
    let words = ["sh", "-c", COMMAND, "sh", REPLACED].iter().chain(MADE);
    words.map(|word| (*word).to_owned()).collect()
}

/// As soon as the command runs.
fn change(workspace: &Path) {
    while !workspace.join("runs").exists() {
        thread::sleep(Duration::from_millis(5));
    }
    for name in MADE {
        let path = workspace.join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
        fs::write(path, format!("{CANARY}\n")).expect("a file");
    }
    let new = workspace.join("new");
    fs::write(&new, CANARY).expect("a file");
    fs::rename(new, workspace.join(REPLACED)).expect("a rename");
    fs::write(workspace.join("changed"), "").expect("a file");
}

fn assert_covered(who: Who) {
    if !who.is_possible() {
        eprintln!("SKIPPED: {who:?} needs to be started by root");
        return;
    }
    for way in [Way::OneShot].into_iter().chain(Way::OTHERS) {
        let scene = Scene::new(COFFERDAM, who);
        let workspace = scene.workspace();
        let running = Running::begin(&scene, way);
        let host = thread::spawn(move || change(&workspace));
        let printed = running.run(&command());
        host.join().expect("the host");
        assert!(printed.contains("over"), "{who:?} {way:?}: {printed}");
        assert!(!printed.contains(CANARY), "{who:?} {way:?} has read it: {printed}");
        // The same files, without a sandbox around who reads them.
        for name in MADE.iter().chain([&REPLACED]) {
            let path = scene.workspace().join(name).display().to_string();
            let outside = scene.run_outside("read-file", &[path]).stdout();
            assert!(outside.contains("\"outcome\":\"open\""), "{name} outside: {outside}");
        }
    }
}

#[test]
fn req_i06_secrets_that_appear_later_are_out_of_reach_for_a_child_of_root() {
    assert_covered(Who::Root);
}

#[test]
fn req_i06_secrets_that_appear_later_are_out_of_reach_for_a_child_of_an_ordinary_user() {
    assert_covered(Who::Ordinary);
}

struct Project {
    home: Home,
}

impl Project {
    fn new() -> Self {
        let home = Home::new();
        home.write("project/README", "");
        Self { home }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join("project").join(name)
    }

    fn run(&self, options: &[&str], script: &str) -> cofferdam_testkit::Outcome {
        cofferdam_testkit::Cofferdam::new(COFFERDAM, &self.home)
            .current_dir(&self.path(""))
            .args(["run"])
            .args(options)
            .args(["--", "sh", "-c", script])
            .run()
    }
}

/// The kernel does not say who has made a file, and one that was made inside may be filled in by the person.
#[test]
fn req_i06_a_secret_that_was_made_inside_is_hidden_and_told_of() {
    let project = Project::new();
    let script = "sleep 0.3; echo A=1 > .env; tries=0
        while cat .env >/dev/null 2>&1 && [ $tries -lt 1000 ]; do tries=$((tries+1)); sleep 0.01; done; cat .env";
    let outcome = project.run(&[], script).expect_status(1);
    assert_eq!(outcome.stdout(), "");
    let told = format!("{} has appeared and is hidden from the command", project.path(".env").display());
    assert!(outcome.stderr().contains(&told), "{}", outcome.stderr());
    assert_eq!(fs::read_to_string(project.path(".env")).expect("it is there"), "A=1\n");
}

/// A key that is known by what it holds is what a command makes for its own work, and what the sandbox keeps to itself is
/// its own.
#[test]
fn req_i06_what_a_command_makes_for_its_work_stays_readable() {
    let project = Project::new();
    let script = "sleep 0.3; echo '-----BEGIN PRIVATE KEY-----' > test.pem; echo A=1 > /tmp/.env; echo A > .env.example
        echo A=1 > .env; while cat .env >/dev/null 2>&1; do sleep 0.01; done; cat test.pem /tmp/.env .env.example";
    let outcome = project.run(&["--timeout", "20s"], script).expect_status(0);
    assert_eq!(outcome.stdout(), "-----BEGIN PRIVATE KEY-----\nA=1\nA\n");
}

/// A link by the name of a secret hides nothing but itself: what would run on the host later is set aside all the same.
#[test]
fn req_i06_a_link_by_a_secrets_name_does_not_cover_what_it_leads_to() {
    let project = Project::new();
    for target in [".", ".mcp.json", ".vscode"] {
        let script = format!(
            "sleep 0.3; echo {{}} > .mcp.json; mkdir .vscode; echo {{}} > .vscode/tasks.json; ln -s {target} .env; echo A > .env.x
             while cat .env.x >/dev/null 2>&1; do sleep 0.01; done; rm .env; ls -A"
        );
        let outcome = project.run(&["--timeout", "20s"], &script).expect_status(0);
        assert!(outcome.stdout().contains(".mcp.json"), "{target}: {}", outcome.stdout());
        for name in [".mcp.json", ".vscode/tasks.json"] {
            assert!(!project.path(name).exists(), "{target}: {name} is left where it runs");
        }
    }
}

/// A command that makes such names without end is told of in a few lines, and the watch ends with it.
#[test]
fn req_i06_a_flood_of_names_is_told_of_in_few_lines() {
    let project = Project::new();
    let script = "sleep 0.3; i=0; while [ $i -lt 200 ]; do : > .env.$i; i=$((i+1)); done
        while cat .env.199 >/dev/null 2>&1; do sleep 0.01; done; sleep 0.2";
    let outcome = project.run(&["--timeout", "20s"], script).expect_status(0);
    let lines = outcome.stderr().lines().filter(|line| line.contains("appeared")).count();
    assert_eq!(lines, 20, "{}", outcome.stderr());
}

/// A name of the person's own, which nothing has when the command starts.
#[test]
fn req_i06_a_hidden_name_is_hidden_when_it_appears() {
    let project = Project::new();
    let hide = project.path("notes.txt").display().to_string();
    let script = "sleep 0.3; echo A > notes.txt; tries=0
        while cat notes.txt >/dev/null 2>&1 && [ $tries -lt 1000 ]; do tries=$((tries+1)); sleep 0.01; done; cat notes.txt";
    let outcome = project.run(&["--hide", &hide], script).expect_status(1);
    assert_eq!(outcome.stdout(), "");
}

/// In a layer the host's files are told from those that the command makes.
#[test]
fn req_i06_in_a_layer_what_was_made_inside_stays_readable() {
    let project = Project::new();
    let outcome = project.run(&["--overlay"], "echo A=1 > .env; sleep 0.5; cat .env").expect_status(0);
    assert_eq!(outcome.stdout(), "A=1\n");
}

/// What is told must not get into the picture of a command that has the terminal.
#[test]
fn req_i06_on_a_terminal_it_is_told_at_the_end() {
    let project = Project::new();
    let script = "sleep 0.3; echo A=1 > .env; while cat .env >/dev/null 2>&1; do sleep 0.01; done; echo last";
    let terminal: OnTerminal = cofferdam_testkit::Cofferdam::new(COFFERDAM, &project.home)
        .current_dir(&project.path(""))
        .args(["run", "-t", "--timeout", "20s", "--", "sh", "-c", script])
        .on_terminal();
    let printed = terminal.end().1;
    let (last, told) = (printed.find("last"), printed.find("has appeared and is hidden"));
    assert!(last.is_some() && last < told, "{printed}");
}

/// There is an end to what the kernel watches for a user, and the nearest directories come first.
#[test]
fn req_i06_more_directories_than_are_watched_are_told_of() {
    const FEW: &str = r#"echo 20 >/proc/sys/user/max_inotify_watches; exec "$@""#;
    let project = Project::new();
    for number in 0..30 {
        fs::create_dir_all(project.path(&format!("many/{number}"))).expect("a directory");
    }
    let script = "sleep 0.5; echo A=1 > .env; tries=0
        while cat .env >/dev/null 2>&1 && [ $tries -lt 1000 ]; do tries=$((tries+1)); sleep 0.01; done; cat .env";
    let outcome = cofferdam_testkit::Cofferdam::new("/usr/bin/unshare", &project.home)
        .current_dir(&project.path(""))
        .args(["--user", "--map-root-user", "sh", "-c", FEW, "sh"])
        .args([COFFERDAM, "run", "--", "sh", "-c", script])
        .run()
        .expect_status(1);
    let told = "20 directories are watched for secrets that appear, and there are more";
    assert_eq!(outcome.stderr().matches(told).count(), 1, "{}", outcome.stderr());
}
