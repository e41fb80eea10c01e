//! A command in a session by the short way, before the C library: it is taken, and nobody can tell by what comes of it.

use std::fs;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Child;

use cofferdam_testkit::processes::wait_until;
use cofferdam_testkit::{Cofferdam, Home, Outcome};
use rustix::process::{Pid, Signal};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");
/// An option that changes nothing here, and that the short way does not know.
const LONG_WAY: [&str; 2] = ["--timeout", "1h"];

struct Place {
    home: Home,
    workspace: PathBuf,
}

impl Place {
    fn with_session() -> Self {
        let home = Home::new();
        let workspace = home.path().join("project");
        fs::create_dir(&workspace).expect("a directory");
        let place = Self { home, workspace };
        place.call(&["new", "--name", "one"]).run().expect_status(0);
        place
    }

    fn call(&self, args: &[&str]) -> Cofferdam {
        Cofferdam::new(BINARY, &self.home).current_dir(&self.workspace).arg("session").args(args)
    }

    fn short(&self, command: &[&str]) -> Cofferdam {
        self.call(&["exec", "one"]).args(command)
    }

    fn long(&self, command: &[&str]) -> Cofferdam {
        self.call(&["exec", "one"]).args(LONG_WAY).args(command)
    }

    /// Everything that is on record.
    fn record(&self) -> String {
        Cofferdam::new(BINARY, &self.home).args(["audit", "export"]).run().expect_status(0).stdout()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.call(&["kill", "one"]).run();
    }
}

/// The signals that a process catches, once it is this program and not the test any more.
fn caught(child: &Child) -> u64 {
    let status = || fs::read_to_string(format!("/proc/{}/status", child.id())).expect("a process");
    wait_until("it waits for its command", || status().contains("State:\tS"));
    let status = status();
    let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("its signals");
    u64::from_str_radix(line.trim(), 16).expect("a set")
}

/// What the standard library begins with is handlers for two signals. Without it there is none.
#[test]
fn req_i13_a_plain_command_goes_the_short_way_and_one_with_an_option_the_long_way() {
    let place = Place::with_session();
    for (call, is_short) in [(place.short(&["--", "cat"]), true), (place.long(&["--", "cat"]), false)] {
        let mut child = call.spawn();
        assert_eq!(caught(&child) == 0, is_short);
        drop(child.stdin.take());
        assert!(child.wait().expect("its end").success());
    }
}

#[test]
fn req_i14_both_ways_tell_the_same_and_write_the_same_down() {
    let place = Place::with_session();
    fs::write(place.workspace.join("plain.txt"), "no program").expect("a file");
    let told = |outcome: &Outcome| (outcome.status(), outcome.stdout(), outcome.stderr());
    for command in [
        &["--", "true"][..],
        &["--", "sh", "-c", "echo out; echo err >&2; exit 3"],
        &["--", "sh", "-c", "kill -9 $$"],
        &["--", "/no/such/program"],
        &["--", "no-such-program"],
        &["--", "./plain.txt"],
        &["--", "rm", "-rf", "/"],
        &["-c", "cd /tmp; pwd; exit 4"],
        &["-c", "cd -; pwd"],
        &["-c", "rm -rf --no-preserve-root /"],
    ] {
        let before = place.record().lines().count();
        let short = place.short(command).run();
        let between = place.record().lines().count();
        let long = place.long(command).run();
        assert_eq!(told(&short), told(&long), "{command:?}");
        assert_eq!(between - before, place.record().lines().count() - between, "{command:?}");
        assert!(between > before, "{command:?}: on record");
    }
}

/// All that a process has written to its memory.
fn memory(pid: i64) -> Vec<u8> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).expect("its memory");
    let file = fs::File::open(format!("/proc/{pid}/mem")).expect("its memory");
    let mut all = Vec::new();
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (start, end) = line.split(' ').next().and_then(|range| range.split_once('-')).expect("a range");
        let [start, end] = [start, end].map(|at| u64::from_str_radix(at, 16).expect("an address"));
        let mut part = vec![0; usize::try_from(end - start).expect("a size")];
        if file.read_exact_at(&mut part, start).is_ok() {
            all.extend(part);
        }
    }
    all
}

/// The keeper was started with an empty environment, and does not get to know the caller's.
#[test]
fn req_e01_a_keeper_never_holds_the_credentials_of_those_who_ask() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can look into a keeper");
        return;
    }
    let place = Place::with_session();
    let listed = place.call(&["list", "--json"]).run().expect_status(0).stdout();
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("what the program lists");
    let keeper = listed[0]["pid"].as_i64().expect("a number of a process");
    let call = place.short(&["--", "sh", "-c", "echo ready; cat", "said-with-the-command-7731"]);
    let mut child = call.env("ACME_API_KEY", "kept-in-the-environment-7731").spawn();
    let mut ready = [0; 6];
    child.stdout.as_mut().expect("a pipe").read_exact(&mut ready).expect("a line");
    let memory = memory(keeper);
    let holds = |text: &str| memchr::memmem::find(&memory, text.as_bytes()).is_some();
    assert!(holds("said-with-the-command-7731"), "what is looked at is its memory");
    assert!(!holds("kept-in-the-environment-7731"));
    drop(child.stdin.take());
    assert!(child.wait().expect("its end").success());
}

/// The keeper keeps the gate from one command to the next, and its rules for no longer than they hold.
#[test]
fn req_a01_what_changes_in_the_configuration_holds_from_the_next_command_on() {
    let place = Place::with_session();
    place.short(&["--", "true"]).run().expect_status(0);
    place.home.write("cofferdam/config.toml", "nonsense = 1\n");
    let refused = place.short(&["--", "true"]).run();
    assert_eq!(refused.status(), place.long(&["--", "true"]).run().status());
    assert!(refused.stderr().contains("nonsense"), "{}", refused.stderr());
    place.home.write("cofferdam/config.toml", "");
    place.short(&["--", "true"]).run().expect_status(0);
    place.home.write("cofferdam/approvals.toml", "more nonsense\n");
    let refused = place.short(&["--", "true"]).run();
    assert!(refused.status() != 0 && refused.stderr().contains("approvals.toml"), "{}", refused.stderr());
}

/// A record that is taken away is begun again, though the keeper had it open.
#[test]
fn req_e15_a_record_that_is_taken_away_under_the_keeper_is_begun_again() {
    let place = Place::with_session();
    place.short(&["--", "true"]).run().expect_status(0);
    fs::remove_dir_all(place.home.path().join("cofferdam/state/audit")).expect("the record");
    let again = place.short(&["--", "true"]).run();
    let on_record = || place.record().contains("approval-decided");
    assert!(again.status() != 0 || on_record(), "nothing runs without being on record");
}

/// A stream that is closed is no place for the connection to the keeper: the command would speak to it in the person's name.
#[test]
fn req_a01_closed_streams_do_not_hand_the_keeper_to_the_command() {
    let place = Place::with_session();
    let exec = "exec \"$0\" session exec one -c 'printf %s \"\\\"EndSession\\\"\"; sleep 0.2'";
    for closed in ["<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&-", "<&- >&- 2>&-"] {
        Cofferdam::new("/bin/sh", &place.home)
            .current_dir(&place.workspace)
            .args(["-c", &format!("{exec} {closed}"), BINARY])
            .run();
        place.short(&["--", "true"]).run().expect_status(0);
    }
}

fn keeper(place: &Place) -> Pid {
    let listed = place.call(&["list", "--json"]).run().expect_status(0).stdout();
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("what the program lists");
    listed[0]["pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)).expect("a process")
}

fn send(to: Pid, signal: Signal) {
    rustix::process::kill_process(to, signal).expect("the process is there");
}

/// A keeper that sends a call back has not seen the signal that came meanwhile; the long way must not run the command.
#[test]
fn req_i03_an_interrupt_before_the_keeper_answers_ends_the_call() {
    let place = Place::with_session();
    let keeper = keeper(&place);
    // Longer than what a keeper judges itself.
    let long = "x".repeat(5000);
    send(keeper, Signal::STOP);
    let mut child = place.short(&["--", "sh", "-c", "touch ran", &long]).spawn();
    caught(&child);
    let client = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process");
    send(client, Signal::INT);
    // Once it was read it does not come a second time.
    let pending = || fs::read_to_string(format!("/proc/{}/status", child.id())).expect("a process");
    wait_until("the signal was read", || pending().contains("ShdPnd:\t0000000000000000"));
    send(keeper, Signal::CONT);
    let end = child.wait().expect("its end");
    assert!(end.signal() == Some(2) || end.code() == Some(130), "{end:?}");
    assert!(!place.workspace.join("ran").exists());
}

/// Nobody reads the interrupt; and what was asked for before it is not done once somebody reads again.
#[test]
fn req_i03_an_interrupt_ends_the_call_to_a_keeper_that_hangs() {
    let place = Place::with_session();
    let keeper = keeper(&place);
    send(keeper, Signal::STOP);
    let mut child = place.short(&["--", "touch", "ran"]).spawn();
    caught(&child);
    send(i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process"), Signal::INT);
    assert_eq!(child.wait().expect("its end").code(), Some(130));
    send(keeper, Signal::CONT);
    place.short(&["--", "true"]).run().expect_status(0);
    assert!(!place.workspace.join("ran").exists());
    place.short(&["--", "touch", "ran"]).run().expect_status(0);
    assert!(place.workspace.join("ran").exists(), "the twin: a keeper that reads");
}

/// The answer comes from the sandbox itself; whoever has it finds a keeper that knows.
#[test]
fn req_i14_whoever_has_the_answer_finds_what_the_command_has_left() {
    let place = Place::with_session();
    for round in 0..20 {
        let left = format!("export ROUND={round}; cd /tmp; mkdir -p {round}; cd {round}");
        place.short(&["-c", &left]).run().expect_status(0);
        let next = place.short(&["--", "sh", "-c", "echo $ROUND; pwd"]).run().expect_status(0);
        assert_eq!(next.stdout(), format!("{round}\n/tmp/{round}\n"));
        let listed = place.call(&["ps", "one", "--json"]).run().expect_status(0).stdout();
        assert_eq!(listed.trim(), "[]");
    }
}

/// What there is to say comes with the command that it is about, whoever answers.
#[test]
fn req_i06_what_has_appeared_meanwhile_is_told_by_the_short_way_as_well() {
    let place = Place::with_session();
    let wait = "touch ready; until [ -e go ]; do sleep 0.05; done; sleep 1";
    let child = place.short(&["--", "sh", "-c", wait]).spawn();
    wait_until("the command runs", || place.workspace.join("ready").exists());
    // The watch begins a moment after the session.
    std::thread::sleep(std::time::Duration::from_millis(500));
    fs::write(place.workspace.join(".env"), "TOKEN=one").expect("a file");
    fs::write(place.workspace.join("go"), "").expect("a file");
    let output = child.wait_with_output().expect("its end");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains(".env has appeared"), "{told}");
}

/// What the sandbox answers by is not the command's to have.
#[test]
fn req_i14_a_command_has_nothing_open_but_its_streams() {
    let place = Place::with_session();
    let open = place.short(&["--", "sh", "-c", "ls /proc/self/fd"]).run().expect_status(0).stdout();
    // The last one is the directory that is being read.
    assert_eq!(open, "0\n1\n2\n3\n");
}

/// Whoever hands a command on stays on one processor; the command does not.
#[test]
fn req_i14_a_command_may_run_on_every_processor() {
    let place = Place::with_session();
    let allowed = "grep Cpus_allowed: /proc/self/status";
    let outside = fs::read_to_string("/proc/self/status").expect("its own status");
    let outside = outside.lines().find(|line| line.starts_with("Cpus_allowed:")).expect("a set");
    for _ in 0..5 {
        for command in [place.short(&["--", "sh", "-c", allowed]), place.long(&["-c", allowed])] {
            assert_eq!(command.run().expect_status(0).stdout().trim_end(), outside);
        }
    }
}

/// What is moved away is not written to any more.
#[test]
fn req_e15_a_record_that_is_moved_away_is_begun_again_where_it_belongs() {
    let place = Place::with_session();
    place.short(&["--", "true"]).run().expect_status(0);
    let state = place.home.path().join("cofferdam/state");
    fs::rename(state.join("audit"), state.join("moved")).expect("a rename");
    place.short(&["--", "true"]).run().expect_status(0);
    assert!(place.record().contains("approval-decided"));
}
