use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use cofferdam_policy::environment::ChildEnvironment;
use rustix::process::Pid;
use zeroize::Zeroizing;

use super::descendants::Lineage;
use super::program::search;
use super::*;

const LIMITS: Limits =
    Limits { timeout: Duration::from_secs(20), stdout: Keep::UpTo(65536), stderr: Keep::UpTo(65536) };

fn shell(script: &str, input: Input, limits: Limits) -> Result<Captured, ChildError> {
    let environment = ChildEnvironment::empty();
    let program = Program::new("/bin/sh").expect("an absolute path");
    run_captured(ChildCommand::new(program, &environment).args(["-c", script]).input(input), limits)
}

fn stdout(script: &str) -> String {
    let captured = shell(script, Input::Nothing, LIMITS).expect("the shell runs");
    String::from_utf8(captured.stdout.bytes.to_vec()).expect("text")
}

fn gone_or_zombie(pid: &str) -> bool {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Err(_) => true,
        Ok(stat) => stat.rsplit(')').next().expect("fields").trim_start().starts_with('Z'),
    }
}

/// A killed process takes a moment to go.
fn eventually(condition: impl Fn() -> bool) -> bool {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(10) {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn output_status_and_input_pass_through() {
    let captured =
        shell("cat; echo oops >&2; exit 3", Input::Bytes(Zeroizing::new(b"hello".to_vec())), LIMITS)
            .expect("the shell runs");
    assert_eq!(captured.status, Ended::Exited(3));
    assert_eq!(**captured.stdout.bytes, *b"hello");
    assert_eq!(**captured.stderr.bytes, *b"oops\n");
    let killed = shell("kill -9 $$", Input::Nothing, LIMITS).expect("the shell runs");
    assert_eq!(killed.status, Ended::Signalled(9));
}

#[test]
fn input_larger_than_a_pipe_does_not_deadlock_and_may_be_ignored() {
    let much = vec![b'x'; 1 << 20];
    let limits = Limits { stdout: Keep::UpTo(2 << 20), ..LIMITS };
    let captured = shell("cat", Input::Bytes(Zeroizing::new(much.clone())), limits).expect("the shell runs");
    assert!(*captured.stdout.bytes == much);
    shell("exit 0", Input::Bytes(Zeroizing::new(much)), limits).expect("the shell runs");
}

#[test]
fn the_environment_and_descriptors_are_not_inherited() {
    // Both are in this process: PATH is set by cargo, and the descriptor is open without close-on-exec.
    assert!(std::env::var_os("PATH").is_some());
    let file = fs::File::open("/dev/null").expect("/dev/null");
    let kept = rustix::io::dup(&file).expect("a copy");
    rustix::io::fcntl_setfd(&kept, rustix::io::FdFlags::empty()).expect("no close-on-exec");
    let printed = stdout("/usr/bin/env; echo --; for fd in /proc/$$/fd/*; do echo ${fd##*/}; done");
    let (environment, descriptors) = printed.split_once("--\n").expect("two parts");
    for line in environment.lines() {
        let name = line.split('=').next().expect("a name");
        assert!(["PWD", "OLDPWD", "SHLVL", "_"].contains(&name), "{line}");
    }
    // The shell opens one for the directory it lists in some versions; none of ours is among them.
    assert!(descriptors.starts_with("0\n1\n2\n"), "{descriptors}");
    use std::os::fd::AsRawFd;
    assert!(!descriptors.lines().any(|fd| fd == kept.as_raw_fd().to_string()), "{descriptors}");
}

#[test]
fn every_restriction_is_in_force() {
    let printed =
        stdout("cat /proc/self/status /proc/self/limits; pwd; cut -d' ' -f6 /proc/$$/stat; echo $$");
    assert!(printed.contains("NoNewPrivs:\t1"), "{printed}");
    let core = printed.lines().find(|line| line.starts_with("Max core file size")).expect("a limit");
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
    let tail: Vec<&str> = printed.lines().rev().take(3).collect();
    assert_eq!(tail[0], tail[1], "the session is the child's own");
    assert_eq!(tail[2], "/");
}

#[test]
fn the_deadline_ends_the_whole_tree_even_what_left_the_session() {
    let directory = tempfile::tempdir().expect("a directory");
    let list = directory.path().join("pids");
    // A child in the group, one that ignores SIGTERM, and one in a session of its own.
    let script = format!(
        "cd {}; sleep 600 & (trap '' TERM; sleep 600) & setsid sh -c 'echo $$ >> pids; sleep 600' & \
         echo $$ $! >> pids; sleep 600",
        directory.path().display()
    );
    let limits = Limits { timeout: Duration::from_millis(700), ..LIMITS };
    let environment = ChildEnvironment::empty();
    let program = Program::new("/bin/sh").expect("an absolute path");
    let script = format!("PATH=/usr/bin:/bin; export PATH; {script}");
    let result = run_captured(ChildCommand::new(program, &environment).args(["-c", &script]), limits);
    assert!(matches!(result, Err(ChildError::TimedOut { .. })));
    let pids = fs::read_to_string(&list).expect("the processes were started");
    assert!(pids.split_whitespace().count() >= 3, "{pids}");
    for pid in pids.split_whitespace() {
        assert!(eventually(|| gone_or_zombie(pid)), "{pid} is left");
    }
}

#[test]
fn a_process_left_behind_that_holds_the_pipe_is_not_waited_for() {
    let started = Instant::now();
    let printed = stdout("PATH=/usr/bin:/bin; sleep 600 & echo $!");
    assert!(started.elapsed() < Duration::from_secs(15), "it waited for the pipe");
    assert!(eventually(|| gone_or_zombie(printed.trim())), "it is left");
}

#[test]
fn endless_output_is_cut_and_ends_the_command() {
    let limits = Limits { stdout: Keep::UpTo(1000), ..LIMITS };
    let captured = shell("while :; do echo yyyyyyyy; done", Input::Nothing, limits).expect("it ends");
    assert!(captured.stdout.truncated);
    assert_eq!(captured.stdout.bytes.len(), 1000);
    assert!(!captured.status.success());
}

#[test]
fn dropping_a_bound_child_kills_it_and_a_detached_one_stays() {
    let environment = ChildEnvironment::empty();
    let command = || {
        let program = Program::new("/bin/sleep").expect("an absolute path");
        ChildCommand::new(program, &environment).args(["600"])
    };
    let bound = command().spawn().expect("it starts");
    let pid = bound.id().to_string();
    drop(bound);
    assert!(!Path::new(&format!("/proc/{pid}")).exists());

    let detached = command().lifetime(Lifetime::Detached).spawn().expect("it starts");
    let pid = Pid::from_raw(detached.id().try_into().expect("a pid")).expect("not zero");
    drop(detached);
    assert!(!gone_or_zombie(&pid.as_raw_pid().to_string()));
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("our own child");
}

#[test]
fn a_bound_child_dies_with_the_thread_that_started_it() {
    let starter = std::thread::spawn(|| {
        let program = Program::new("/bin/sleep").expect("an absolute path");
        let environment = ChildEnvironment::empty();
        let running = ChildCommand::new(program, &environment).args(["600"]).spawn().expect("it starts");
        let pid = running.id().to_string();
        // As if the launcher had been killed: nothing is cleaned up.
        std::mem::forget(running);
        pid
    });
    let pid = starter.join().expect("the thread ends");
    assert!(eventually(|| gone_or_zombie(&pid)), "it is left");
}

#[test]
fn what_cannot_run_is_told_apart() {
    let directory = tempfile::tempdir().expect("a directory");
    let plain = directory.path().join("plain");
    fs::write(&plain, "text").expect("a file");
    let environment = ChildEnvironment::empty();
    let start = |program: &OsStr| {
        Program::new(program).and_then(|program| ChildCommand::new(program, &environment).spawn()).err()
    };
    let status = |program: &OsStr| start(program).expect("it does not start").shell_status();
    assert_eq!(status(directory.path().join("absent").as_os_str()), 127);
    assert_eq!(status(plain.as_os_str()), 126);
    assert_eq!(status(directory.path().as_os_str()), 126);
    assert!(matches!(start(OsStr::new("./plain")), Some(ChildError::RelativeProgram { .. })));
    assert!(matches!(start(OsStr::new("")), Some(ChildError::RelativeProgram { .. })));
    assert!(matches!(start(OsStr::new("sh")), Some(ChildError::NoSearchPath { .. })));
    fs::write(&plain, "#!/nowhere/interpreter").expect("a file");
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o700)).expect("chmod");
    assert_eq!(status(plain.as_os_str()), 127, "its interpreter is missing");
}

#[test]
fn the_search_path_never_means_the_current_directory() {
    let found = search(Path::new("sh"), OsStr::new("/nowhere:/bin")).expect("the shell");
    assert_eq!(found, Path::new("/bin/sh"));
    for path in ["", ":", ".", "bin:../bin", "/nowhere"] {
        assert!(matches!(search(Path::new("sh"), OsStr::new(path)), Err(ChildError::NotFound { .. })));
    }
}

#[test]
fn lineage_survives_hostile_process_names() {
    let parse = |stat: &str| Lineage::parse(stat.as_bytes()).map(|l| (l.parent, l.session));
    let pid = |raw| Pid::from_raw(raw).expect("not zero");
    assert_eq!(parse("9 (sh) S 7 8 6 0 -1"), Some((pid(7), pid(6))));
    assert_eq!(parse("9 (a) S 1 1 1) S 7 8 6 0"), Some((pid(7), pid(6))));
    assert_eq!(parse("9 (sh) S 0 0 0 0"), None);
    assert_eq!(parse("9 (sh"), None);
}
