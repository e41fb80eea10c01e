//! A16: what was approved is what runs, whoever exchanges it meanwhile and wherever it is looked at.

mod scripts;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use cofferdam_testkit::processes::wait_until;
use cofferdam_testkit::{Cofferdam, Home, Outcome, copy_program};
use scripts::{COFFERDAM, OFF, Project, printed};
use sha2::{Digest, Sha256};

const REFUSED: i32 = 77;
/// Deletes a directory, so it has to be asked about; what it does depends on what the program is.
const COMMAND: [&str; 3] = ["./rm", "-rf", "src"];
/// Exchanges the program for another one and back, for as long as it is let.
const SWAPPER: &str = "import os\nwhile True:\n  for name in ('approved', 'other'):\n    os.link(name, 'next'); os.rename('next', 'rm')";

struct Place(Home);

impl Place {
    fn new() -> Self {
        let home = Home::outside_tmp();
        home.write("cofferdam/config.toml", "");
        home.chmod("cofferdam", 0o700);
        home.write("project/src/file", "");
        Self(home)
    }

    fn workspace(&self) -> PathBuf {
        self.0.path().join("project")
    }

    /// A program that does nothing, approved for a session that nobody watches, and one that would delete.
    fn with_rule() -> Self {
        let place = Self::new();
        let project = place.workspace();
        for (program, name) in
            [("/usr/bin/true", "approved"), ("/usr/bin/rm", "other"), ("/usr/bin/true", "rm")]
        {
            copy_program(Path::new(program), &project.join(name));
        }
        let digest = Sha256::digest(fs::read(project.join("approved")).expect("a program"));
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let (directory, path) = (project.display(), project.join("rm"));
        place.0.write(
            "cofferdam/approvals.toml",
            format!(
                "[[allow]]\nid = \"a\"\nsession = \"headless\"\ncommand = \"./rm -rf src\"\n\
                 directory = \"{directory}\"\nscripts = [\"sha256:{digest} {}\"]\n",
                path.display()
            ),
        );
        place
    }

    fn call(&self, args: &[&str]) -> Cofferdam {
        Cofferdam::new("/usr/bin/setsid", &self.0)
            .args(["-w", COFFERDAM])
            .args(args)
            .current_dir(&self.workspace())
    }

    fn run(&self, args: &[&str]) -> Outcome {
        self.call(args).run()
    }

    fn session(self) -> Session {
        self.run(&["session", "new", "--name", "one"]).expect_status(0);
        Session(self)
    }

    /// Runs the approved command again and again; whether it is refused or not, nothing is deleted.
    fn try_often(&self, way: &[&str]) {
        for _ in 0..30 {
            let outcome = self.call(way).args(COMMAND).run();
            assert!([0, REFUSED].contains(&outcome.status()), "{}: {}", outcome.status(), outcome.stderr());
            assert!(
                self.workspace().join("src").exists(),
                "what was not approved has run: {}",
                outcome.stderr()
            );
        }
    }

    /// The twin: left alone, each of the two does what it is there for.
    fn settled(&self, way: &[&str]) {
        let project = self.workspace();
        let put = |name: &str| {
            fs::hard_link(project.join(name), project.join("last")).expect("a second name");
            fs::rename(project.join("last"), project.join("rm")).expect("a rename");
            // Where both were names of one file already, nothing was renamed.
            let _ = fs::remove_file(project.join("last"));
        };
        put("approved");
        self.call(way).args(COMMAND).run().expect_status(0);
        put("other");
        self.call(way).args(COMMAND).run().expect_status(REFUSED);
        assert!(project.join("src").exists());
        self.run(&["run", "--", "./rm", "-rf", "src"]).expect_status(0);
        assert!(!project.join("src").exists(), "whoever types it has it run");
    }
}

/// Ends the session with the test.
struct Session(Place);

impl Drop for Session {
    fn drop(&mut self) {
        self.0.run(&["session", "kill", "one"]);
    }
}

#[test]
fn req_a16_a_program_that_the_host_exchanges_is_the_approved_one_or_none() {
    const WAY: [&str; 4] = ["run", "--session-kind", "headless", "--"];
    let place = Place::with_rule();
    let project = place.workspace();
    let enough = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !enough.load(Ordering::Relaxed) {
                for name in ["approved", "other"] {
                    fs::hard_link(project.join(name), project.join("next")).expect("a second name");
                    fs::rename(project.join("next"), project.join("rm")).expect("a rename");
                }
            }
        });
        let tried = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| place.try_often(&WAY)));
        enough.store(true, Ordering::Relaxed);
        tried.unwrap_or_else(|why| std::panic::resume_unwind(why));
    });
    place.settled(&WAY);
}

#[test]
fn req_a16_a_program_that_the_session_itself_exchanges_is_the_approved_one_or_none() {
    const WAY: [&str; 6] = ["session", "exec", "--session-kind", "headless", "one", "--"];
    let session = Place::with_rule().session();
    let place = &session.0;
    let swapper = ["session", "exec", "--background", "one", "--", "python3", "-c", SWAPPER];
    let process = place.run(&swapper).expect_status(0).stdout();
    place.try_often(&WAY);
    place.run(&["session", "kill", "one", process.trim()]).expect_status(0);
    // What is asked next is done next: by the end of this one the other is gone.
    place.run(&["session", "exec", "one", "--", "true"]).expect_status(0);
    let _ = fs::remove_file(place.workspace().join("next"));
    place.settled(&WAY);
}

#[test]
fn req_a16_a_program_that_somebody_could_still_write_to_is_not_started() {
    const WAY: [&str; 4] = ["run", "--session-kind", "headless", "--"];
    let place = Place::with_rule();
    let writer = fs::File::options().append(true).open(place.workspace().join("rm")).expect("a program");
    let outcome = place.call(&WAY).args(COMMAND).run().expect_status(REFUSED);
    assert!(outcome.stderr().contains("not what was approved"), "{}", outcome.stderr());
    drop(writer);
    // A process that another test is just starting may have it for a moment longer.
    wait_until("nobody writes to it", || place.call(&WAY).args(COMMAND).run().status() == 0);
}

/// The gate reads a file of the host; in the sandbox another one may have its name.
#[test]
fn req_a16_what_is_looked_at_is_what_the_sandbox_has() {
    let session = Place::new().session();
    let place = &session.0;
    let shared = Home::new();
    let path = shared.path().join("task.sh");
    fs::write(&path, "true # one\n").expect("a file");
    let task = path.to_str().expect("a path");
    let put = |text: &str| {
        let script = format!("mkdir -p {}; printf '%s\\n' '{text}' > {task}", shared.path().display());
        place.run(&["session", "exec", "one", "-c", &script]).expect_status(0);
    };
    put("touch ran");
    for way in [&["--", "sh", task][..], &["-c", &format!("sh {task}")]] {
        let outcome = place.call(&["session", "exec", "one"]).args(way).run().expect_status(REFUSED);
        assert!(outcome.stderr().contains("not what was approved"), "{}", outcome.stderr());
        assert!(!place.workspace().join("ran").exists(), "{way:?}");
    }
    put("true # one");
    place.run(&["session", "exec", "one", "--", "sh", task]).expect_status(0);
}

#[test]
fn req_a16_a_tool_of_a_script_runs_what_the_gate_has_seen() {
    let project = Project::new(OFF);
    let shared = Home::new();
    let path = shared.path().join("task.sh");
    fs::write(&path, "echo one\n").expect("a file");
    let text = format!(
        "
import cofferdam_tools as t, os
path = {path:?}
os.makedirs(os.path.dirname(path), exist_ok=True)
for text in ['echo two', 'echo one']:
    open(path, 'w').write(text + '\\n')
    try:
        print(t.terminal('sh ' + path)['output'], end='')
    except t.Denied as error:
        print('denied:', error)
"
    );
    let printed = printed(&project.python(&["--tools", "terminal"], &text));
    assert_eq!(printed, "denied: a file that it runs was changed after it was approved\none\n");
}

#[test]
fn req_a16_a_command_does_not_run_in_another_directory_than_it_was_approved_for() {
    let session = Place::new().session();
    let place = &session.0;
    place.0.write("project/src/ran/keep", "");
    let words = ["session", "exec", "--session-kind", "gateway", "one", "-c", "rm -rf file ran; touch ran"];
    for (elsewhere, status) in [("cd src", REFUSED), ("true", 0)] {
        let child = place.call(&words).spawn();
        let listed = || {
            let json = place.run(&["approvals", "list", "--json"]).expect_status(0).stdout();
            let listed: serde_json::Value = serde_json::from_str(&json).expect("what the program lists");
            listed["pending"][0]["id"].as_str().map(str::to_owned)
        };
        wait_until("a question waits", || listed().is_some());
        let id = listed().expect("it waits still");
        place.run(&["session", "exec", "one", "-c", elsewhere]).expect_status(0);
        place.run(&["approvals", "allow", &id]).expect_status(0);
        let output = child.wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{elsewhere}: {told}");
        assert_eq!(told.contains("another directory"), status == REFUSED, "{elsewhere}: {told}");
        assert!(status == 0 || place.workspace().join("src/ran/keep").exists(), "{elsewhere}");
    }
}

/// Whatever a program is started from, it is called what it was called, and finds itself.
#[test]
fn req_a16_a_program_keeps_its_name_and_finds_itself() {
    let place = Place::new();
    let program = place.workspace().join("tool");
    copy_program(Path::new("/usr/bin/python3"), &program);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    let text = "import os, sys; print(sys.orig_argv[0], os.readlink('/proc/self/exe'))";
    let outcome = place.run(&["run", "--", "./tool", "-c", text]).expect_status(0);
    assert_eq!(outcome.stdout(), format!("./tool {}\n", program.display()));
}

/// A place where whoever is asked says yes, and a script.
fn with_yes() -> Place {
    let place = Place::new();
    let yes = "#!/bin/sh\ndigest=$(sed 's/.*\"digest\": *\"//;s/\".*//' | head -n 1)\n\
        printf '{\"digest\": \"%s\", \"answer\": \"allow\", \"scope\": \"once\"}' \"$digest\"\n";
    let notify = place.0.write("notify.sh", yes);
    fs::set_permissions(&notify, fs::Permissions::from_mode(0o700)).expect("a program");
    let notify = notify.to_str().expect("a path").to_owned();
    place.0.write("cofferdam/config.toml", format!("[approval]\nnotify = [{notify:?}]\n"));
    place.0.write("project/run.sh", "echo approved");
    place
}

/// With this in a command, somebody is asked.
const ASKS: &str = "git push --force 2>/dev/null; true";

const RUN: [&str; 4] = ["run", "--session-kind", "gateway", "--"];
const EXEC: [&str; 6] = ["session", "exec", "--session-kind", "gateway", "one", "--"];

/// What a script prints that the host writes to while its command runs.
fn printed_after_a_write(place: &Place, way: &[&str], last: &str) -> String {
    let later = format!("touch ready; until [ -e go ]; do sleep 0.01; done; sh run.sh; {last}");
    let project = place.workspace();
    let child = place.call(way).args(["sh", "-c", &later]).spawn();
    wait_until("the command runs", || project.join("ready").exists());
    fs::write(project.join("run.sh"), "echo other").expect("a write");
    fs::write(project.join("go"), "").expect("a file");
    let output = child.wait_with_output().expect("its end");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn req_a16_a_script_that_a_person_approved_keeps_its_bytes_while_its_command_runs() {
    assert_eq!(printed_after_a_write(&with_yes(), &RUN, ASKS), "approved\n");
    assert_eq!(printed_after_a_write(&with_yes(), &RUN, "true"), "other\n", "nobody was asked about it");
}

#[test]
fn req_a16_a_script_that_a_person_approved_keeps_its_bytes_in_a_session_until_its_command_has_ended() {
    let session = with_yes().session();
    let place = &session.0;
    assert_eq!(printed_after_a_write(place, &EXEC, ASKS), "approved\n");
    // The next command sees the file as it is, by whichever way it comes.
    for way in [&["--timeout", "1h"][..], &[]] {
        let next = place.call(&["session", "exec", "one"]).args(way).args(["--", "cat", "run.sh"]).run();
        assert_eq!(next.expect_status(0).stdout(), "echo other");
    }
    let write = "echo 'echo third' > run.sh; sh run.sh";
    let written = place.run(&["session", "exec", "one", "-c", write]).expect_status(0);
    assert_eq!(written.stdout(), "third\n");
    let session = with_yes().session();
    assert_eq!(printed_after_a_write(&session.0, &EXEC, "true"), "other\n", "nobody was asked about it");
}

#[test]
fn req_a16_nothing_in_a_session_changes_a_script_that_a_person_approved() {
    const CHANGER: &str = "while :; do echo 'echo other' > new; mv -f new run.sh; touch go; done 2>/dev/null";
    let session = with_yes().session();
    let place = &session.0;
    let run = |last: &str| {
        let script = format!("touch ready; until [ -e go ]; do sleep 0.01; done; sh run.sh; {last}");
        place.0.write("project/run.sh", "echo approved");
        let child = place.call(&EXEC).args(["sh", "-c", &script]).spawn();
        wait_until("the command runs", || place.workspace().join("ready").exists());
        let process =
            place.run(&["session", "exec", "--background", "one", "-c", CHANGER]).expect_status(0).stdout();
        let output = child.wait_with_output().expect("its end");
        place.run(&["session", "kill", "one", process.trim()]).expect_status(0);
        place.run(&["session", "exec", "one", "--", "rm", "-f", "ready", "go", "new"]).expect_status(0);
        String::from_utf8(output.stdout).expect("text")
    };
    assert_eq!(run(ASKS), "approved\n");
    assert_eq!(run("true"), "other\n", "nobody was asked about it");
}

#[test]
fn req_a16_nothing_inside_changes_a_script_that_a_person_approved() {
    const CHANGES: &str = "echo 'echo other' > new; mv -f new run.sh; sh run.sh";
    let place = with_yes();
    let run = |last: &str| {
        let command = format!("{CHANGES}; {last}");
        place.call(&["run", "--session-kind", "gateway", "--", "sh", "-c", &command]).run().stdout()
    };
    assert_eq!(run(ASKS), "approved\n");
    assert_eq!(place.0.read("project/run.sh"), "echo approved");
    assert_eq!(run("true"), "other\n", "nobody was asked about it");
}
