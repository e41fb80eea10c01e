//! Every way in which a run ends: the status is exact, the streams are exact, and nothing is left.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::Child;

use cofferdam_testkit::processes::{marker, wait_until, with_argument};
use cofferdam_testkit::{Cofferdam, Home, Outcome};
use rustix::process::{Pid, Signal};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

struct Place {
    home: Home,
    workspace: PathBuf,
}

impl Place {
    fn new() -> Self {
        let home = Home::new();
        let workspace = home.path().join("project");
        fs::create_dir(&workspace).expect("a directory");
        Self { home, workspace }
    }

    fn call(&self, args: &[&str]) -> Cofferdam {
        Cofferdam::new(BINARY, &self.home).current_dir(&self.workspace).arg("run").args(args)
    }

    fn shell(&self, text: &str) -> Outcome {
        self.call(&["--", "bash", "-c", text]).run()
    }
}

fn kill(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a number of a process"))
        .expect("a number of a process");
    rustix::process::kill_process(pid, signal).expect("the process is there");
}

fn await_line(child: &mut Child, line: &str) {
    let (mut seen, mut byte) = (Vec::new(), [0]);
    while !seen.ends_with(line.as_bytes()) {
        assert_eq!(
            child
                .stdout
                .as_mut()
                .expect("standard output is a pipe")
                .read(&mut byte)
                .expect("standard output is a pipe"),
            1,
            "{seen:?}"
        );
        seen.push(byte[0]);
    }
}

/// A tree that does everything to survive: it ignores requests, leaves its session, is stopped, forks on.
fn stubborn(marker: &str) -> String {
    format!(
        "trap '' TERM INT HUP QUIT
        (setsid bash -c \"trap '' TERM INT HUP; sleep {marker} & wait; wait\" &)
        (setsid bash -c \"trap '' TERM; while :; do sleep {marker} & wait; done\" >/dev/null 2>&1 &)
        bash -c 'kill -STOP $$; true' stopped {marker} &
        sleep {marker} &
        echo ready; while :; do sleep {marker}; done"
    )
}

#[test]
fn req_i03_the_status_is_the_commands_own() {
    let place = Place::new();
    for (text, status) in [
        ("exit 0", 0),
        ("exit 1", 1),
        ("exit 255", 255),
        ("kill -TERM $$", 143),
        ("kill -KILL $$", 137),
        ("kill -SEGV $$", 139),
        ("kill -USR1 $$", 138),
    ] {
        place.shell(text).expect_status(status);
    }
    place.call(&["--", "no-such-program"]).run().expect_status(127);
    place.call(&["--", "/etc/os-release"]).run().expect_status(126);
}

#[test]
fn req_i03_streams_are_exact() {
    let place = Place::new();
    let bytes: Vec<u8> =
        (0..8_000_000u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let outcome = place.call(&["--", "cat"]).input(bytes.clone()).run().expect_status(0);
    assert!(outcome.stdout_bytes() == bytes, "binary data through cat");
    let outcome = place.shell("printf out; printf err >&2; exec >&- 2>&-").expect_status(0);
    assert_eq!((outcome.stdout().as_str(), outcome.stderr().as_str()), ("out", "err"));
}

#[test]
fn req_i03_a_gigabyte_goes_through() {
    const GIGABYTE: u64 = 1 << 30;
    let place = Place::new();
    let mut child = place.call(&["--", "head", "-c", &GIGABYTE.to_string(), "/dev/zero"]).spawn();
    let mut stdout = child.stdout.take().unwrap();
    let (mut total, mut buffer) = (0, vec![0; 1 << 20]);
    loop {
        let count = stdout.read(&mut buffer).unwrap();
        if count == 0 {
            break;
        }
        assert!(buffer[..count].iter().all(|byte| *byte == 0));
        total += count as u64;
    }
    assert_eq!((total, child.wait().unwrap().code()), (GIGABYTE, Some(0)));
}

#[test]
fn req_i03_a_closed_pipe_ends_the_writer_as_outside() {
    let place = Place::new();
    let mut child = place.call(&["--", "yes"]).spawn();
    await_line(&mut child, "y\n");
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(141));
    // Standard input that is closed at once is an end of file, not an error.
    let mut child = place.call(&["--", "cat"]).spawn();
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn req_i03_an_orphan_neither_survives_nor_delays_the_end() {
    let place = Place::new();
    let marker = marker();
    // It holds the command's output open; reading to the end of it would last for ever.
    let outcome =
        place.shell(&format!("setsid sleep {marker} & (sleep {marker} &) ; echo done")).expect_status(0);
    assert_eq!(outcome.stdout(), "done\n");
    assert!(with_argument(&marker).is_empty());
}

#[test]
fn req_i03_the_first_process_holds_no_stream_of_the_command() {
    let place = Place::new();
    // The command closes its output and lives on: whoever reads it must see the end.
    let mut child = place.call(&["--", "bash", "-c", "exec >&-; read line; exit 3"]).spawn();
    // The launcher itself has the pipe, too; what the first process and the command have is looked at from outside.
    let mut rest = Vec::new();
    let launcher = child.id();
    // By our own end of it: nobody but root looks into the launcher.
    let own = child.stdout.as_ref().expect("standard output is a pipe").as_raw_fd();
    let pipe = fs::read_link(format!("/proc/self/fd/{own}")).unwrap();
    let holders = || {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| *pid != std::process::id() && *pid != launcher)
            .filter(|pid| {
                fs::read_dir(format!("/proc/{pid}/fd")).is_ok_and(|fds| {
                    fds.flatten().any(|fd| fs::read_link(fd.path()).is_ok_and(|link| link == pipe))
                })
            })
            .count()
    };
    wait_until("nobody inside has the pipe", || holders() == 0);
    drop(child.stdin.take());
    child.stdout.take().unwrap().read_to_end(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn req_i03_timeout_and_signals_end_the_whole_tree() {
    let place = Place::new();
    let left = marker();
    let outcome = place.call(&["--timeout", "1s", "--", "bash", "-c", &stubborn(&left)]).run();
    outcome.expect_status(124);
    assert!(with_argument(&left).is_empty(), "after a timeout");
    for signal in [Signal::TERM, Signal::HUP, Signal::KILL] {
        let marker = marker();
        let mut child = place.call(&["--", "bash", "-c", &stubborn(&marker)]).spawn();
        await_line(&mut child, "ready\n");
        wait_until("the tree is there", || with_argument(&marker).len() >= 5);
        kill(&child, signal);
        child.wait().unwrap();
        wait_until("the tree is gone", || with_argument(&marker).is_empty());
    }
    let mut child = place
        .call(&["--", "bash", "-c", "trap 'exit 9' INT; echo ready; while :; do sleep 0.01; done"])
        .spawn();
    await_line(&mut child, "ready\n");
    kill(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(9), "an interrupt is the command's to answer");
}

#[test]
fn req_i03_no_signal_from_inside_reaches_the_first_process() {
    let place = Place::new();
    // In a file of its own: on the command line the gate would not have it.
    let script = "kill -TERM 1; kill -INT 1; kill -KILL 1; kill -HUP 1; sleep 0.1; echo alive";
    fs::write(place.workspace.join("signals.sh"), script).unwrap();
    let outcome = place.shell("sh signals.sh");
    assert_eq!(outcome.expect_status(0).stdout(), "alive\n");
}

#[test]
fn req_i03_a_launcher_killed_at_any_moment_leaves_nothing() {
    let place = Place::new();
    let before = mounts();
    for step in 0..40u32 {
        let marker = marker();
        let child =
            place.call(&["--", "bash", "-c", &format!("(setsid sleep {marker} &); sleep {marker}")]).spawn();
        // From before the first namespace to well after the command has started.
        std::thread::sleep(std::time::Duration::from_micros(u64::from(step) * 500));
        kill(&child, Signal::KILL);
        let mut child = child;
        child.wait().unwrap();
        wait_until("all is gone", || with_argument(&marker).is_empty());
    }
    assert_eq!(mounts(), before);
    let names: Vec<_> = fs::read_dir(&place.workspace).unwrap().collect();
    assert!(names.is_empty(), "{names:?}");
}

/// Ctrl-C is for the whole group: for every process that is making the sandbox just then, and not for the launcher alone.
#[test]
fn req_i03_an_interrupt_while_the_sandbox_is_made_ends_it() {
    let place = Place::new();
    for step in 0..60u32 {
        let marker = marker();
        let mut child = Cofferdam::new("/usr/bin/setsid", &place.home)
            .current_dir(&place.workspace)
            .args([BINARY, "run", "--network", "none", "--", "sleep", &marker])
            .spawn();
        std::thread::sleep(std::time::Duration::from_micros(u64::from(step) * 200));
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process");
        // Until it has a group of its own it is not there.
        wait_until("there is a group", || rustix::process::kill_process_group(group, Signal::INT).is_ok());
        assert!(!child.wait().expect("its end").success());
        wait_until("all is gone", || with_argument(&marker).is_empty());
    }
}

/// The first process of the sandbox is begun before anything has looked at what this one was started with.
#[test]
fn req_i03_however_the_launcher_was_started_the_status_is_the_commands_own() {
    let place = Place::new();
    for (before, behind) in
        [("", "<&-"), ("", "<&- >&- 2>&-"), ("env --ignore-signal=CHLD", ""), ("setsid -w", "")]
    {
        let text = format!("exec {before} {BINARY} run -- bash -c 'echo once >>seen; exit 7' {behind}");
        let outcome =
            Cofferdam::new("/bin/bash", &place.home).current_dir(&place.workspace).args(["-c", &text]).run();
        assert_eq!(outcome.status(), 7, "{before} {behind}: {}", outcome.stderr());
        assert_eq!(place.home.read("project/seen"), "once\n", "{before} {behind}");
        fs::remove_file(place.workspace.join("seen")).expect("the command has made it");
    }
}

#[test]
fn req_i03_no_descriptor_of_the_caller_is_inherited() {
    let place = Place::new();
    let script = format!("exec 7</etc/passwd 9>/dev/null 50</ ; exec {BINARY} run -- ls /proc/self/fd");
    let outcome = Cofferdam::new("/bin/bash", &place.home)
        .current_dir(&place.workspace)
        .args(["-c", &script])
        .run()
        .expect_status(0);
    // The fourth is the directory that is being listed.
    assert_eq!(outcome.stdout(), "0\n1\n2\n3\n");
}

#[test]
fn req_i03_two_hundred_runs_leave_nothing() {
    let place = Place::new();
    let marker = marker();
    // The first run begins the record; what is left of a run is what the others add.
    place.shell("exit 3").expect_status(3);
    let (files, mounted) = (files(&place), mounts());
    for _ in 0..200 {
        place.shell(&format!("(setsid sleep {marker} &); exit 3")).expect_status(3);
        assert!(with_argument(&marker).is_empty());
    }
    assert_eq!(self::files(&place), files);
    assert_eq!(mounts(), mounted);
    let ours = fs::canonicalize(BINARY).unwrap();
    let left = || {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let runs =
            processes.filter(|entry| fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == ours));
        // Other tests of this file run at the same time, in other homes.
        runs.filter(|entry| {
            fs::read(entry.path().join("environ")).is_ok_and(|environ| {
                String::from_utf8_lossy(&environ).contains(&*place.home.path().to_string_lossy())
            })
        })
        .count()
    };
    wait_until("no process is left", || left() == 0);
}

/// Without those in the throw-away places of tests that run at the same time, such as those of container engines.
fn mounts() -> BTreeSet<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").expect("it can be read");
    let points = table.lines().filter_map(|line| line.split(' ').nth(4));
    points.filter(|point| !point.starts_with("/var/tmp/cd-")).map(str::to_owned).collect()
}

fn files(place: &Place) -> BTreeSet<PathBuf> {
    fn walk(directory: &std::path::Path, found: &mut BTreeSet<PathBuf>) {
        for entry in fs::read_dir(directory).expect("a directory").flatten() {
            found.insert(entry.path());
            if entry.file_type().expect("it can be read").is_dir() {
                walk(&entry.path(), found);
            }
        }
    }
    let mut found = BTreeSet::new();
    walk(place.home.path(), &mut found);
    found
}
