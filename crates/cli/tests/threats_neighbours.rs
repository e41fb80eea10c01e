//! What reaches a sandbox, or its launcher, from beside it: other sandboxes, other users, a tree that changes while it
//! is shown (rows 15, 27, 28, 40, 50 and 100 of the threat model).

mod scripts;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use cofferdam_testkit::processes::{marker, wait_until, with_argument};
use cofferdam_testkit::{Cofferdam, Home, Outcome, copy_program};
use rustix::fs::{CWD, RenameFlags};
use rustix::process::{Pid, Signal};
use scripts::{COFFERDAM, OFF, Project, printed};

const CANARY: &str = "a-canary-of-the-neighbour";

/// Starts a command that may dump its memory, crashes it, and tells whether a dump was left beside it.
fn crash_leaves_core(home: &Home, directory: &Path, command: &[&str]) -> bool {
    let text = r#"ulimit -c unlimited; exec "$@""#;
    let mut child = Cofferdam::new("/bin/bash", home)
        .current_dir(directory)
        .args(["-c", text, "bash"])
        .args(command)
        .spawn();
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a number")).expect("a number");
    rustix::process::kill_process(pid, Signal::ABORT).expect("it runs");
    child.wait().expect("its end");
    let names = fs::read_dir(directory).expect("a directory").flatten();
    names.into_iter().any(|name| name.file_name().to_string_lossy().starts_with("core"))
}

/// Row 15: what a launcher has in its memory is not written to a file by making it crash.
#[test]
fn req_i01_a_launcher_that_crashes_leaves_no_core_and_no_child() {
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    if pattern.starts_with('|') || pattern.contains('/') {
        eprintln!("SKIPPED: this host keeps core dumps elsewhere: {pattern}");
        return;
    }
    let (home, marker) = (Home::new(), marker());
    for place in ["plain", "project"] {
        fs::create_dir(home.path().join(place)).expect("a directory");
    }
    let script = format!("echo ready; exec sleep {marker}");
    let inside = [COFFERDAM, "run", "--network", "none", "--", "sh", "-c", &script];
    assert!(!crash_leaves_core(&home, &home.path().join("project"), &inside), "a core of the launcher");
    wait_until("the command is gone", || with_argument(&marker).is_empty());
    if !crash_leaves_core(
        &home,
        &home.path().join("plain"),
        &["bash", "-c", "echo ready; while :; do :; done"],
    ) {
        eprintln!("SKIPPED: no program leaves a core dump here");
    }
}

/// Row 40: a directory of the workspace is exchanged with a link to secrets, over and over, while sandboxes are made.
#[test]
fn req_i06_a_directory_that_turns_into_a_link_shows_no_secret() {
    let home = Home::outside_tmp();
    home.write("project/sub/.env", "what is here");
    home.write("project/sub/key", "what is here");
    home.write("secrets/key", CANARY);
    home.write("secrets/.env", CANARY);
    let project = home.path().join("project");
    let (sub, link) = (project.join("sub"), home.path().join("link"));
    std::os::unix::fs::symlink(home.path().join("secrets"), &link).expect("a link");
    let stop = AtomicBool::new(false);
    let read = ["cat", "sub/key", "sub/.env"];
    let call = |program: &str, words: &[&str]| -> Outcome {
        Cofferdam::new(program, &home).current_dir(&project).args(words).args(&read[1..]).run()
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, &sub, CWD, &link, RenameFlags::EXCHANGE).expect("an exchange");
                std::thread::sleep(std::time::Duration::from_micros(300));
            }
        });
        let shown: Vec<String> = (0..20)
            .map(|_| {
                let outcome = call(COFFERDAM, &["run", "--network", "none", "--", read[0]]);
                outcome.stdout() + &outcome.stderr()
            })
            .collect();
        let outside = (0..2000).any(|_| call("/bin/cat", &[]).stdout().contains(CANARY));
        stop.store(true, Ordering::Relaxed);
        assert!(shown.iter().all(|shown| !shown.contains(CANARY)), "{shown:?}");
        assert!(outside, "without a sandbox the link is followed");
    });
}

/// Row 50: what one sandbox keeps in private places is in no other, whichever way it is asked for.
#[test]
fn req_i02_two_sandboxes_of_one_project_share_the_project_and_nothing_else() {
    const PLACES: &str = "/tmp/x /var/tmp/x /dev/shm/x /run/x ~/x";
    let home = Home::outside_tmp();
    home.write("project/README", "");
    let call = |words: &[&str]| {
        Cofferdam::new(COFFERDAM, &home).current_dir(&home.path().join("project")).args(words).run()
    };
    let look = format!("cat {PLACES} 2>/dev/null; cat /proc/[0-9]*/cmdline; true");
    let exec = ["session", "exec", "first", "-c"];
    call(&["session", "new", "--name", "first", "--network", "none"]).expect_status(0);
    let plant = format!(
        "for place in {PLACES}; do echo {CANARY} > $place; done; bash -c 'while :; do sleep 99; done' {CANARY} >/dev/null 2>&1 &"
    );
    call(&[&exec[..], &[&plant]].concat()).expect_status(0);
    let own = call(&[&exec[..], &[&look]].concat()).stdout();
    let other = call(&["run", "--network", "none", "--", "bash", "-c", &look]).expect_status(0).stdout();
    call(&["session", "new", "--name", "second", "--network", "none"]).expect_status(0);
    let session = call(&["session", "exec", "second", "-c", &look]).expect_status(0).stdout();
    for name in ["first", "second"] {
        call(&["session", "kill", name]).expect_status(0);
    }
    assert_eq!(own.matches(CANARY).count(), 6, "the first sees its own: {own}");
    assert!(!other.contains(CANARY) && !session.contains(CANARY), "{other}{session}");
}

/// Row 100: the way into a session is its owner's.
#[test]
fn req_i13_a_session_does_not_take_commands_of_another_user() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can be two users");
        return;
    }
    let home = Home::outside_tmp();
    home.write("project/README", "");
    for (place, mode) in [("project", 0o777), ("", 0o777)] {
        home.chmod(place, mode);
    }
    let binary = home.path().join("cofferdam-binary");
    copy_program(Path::new(COFFERDAM), &binary);
    let call = |user: u32, words: &[&str]| {
        let who = [format!("--reuid={user}"), format!("--regid={user}")];
        Cofferdam::new("/usr/bin/setpriv", &home)
            .current_dir(&home.path().join("project"))
            .args(who.iter().map(String::as_str).chain(["--clear-groups", "--inh-caps=-all", "--"]))
            .arg(&binary)
            .arg("session")
            .args(words)
            .run()
    };
    call(54_321, &["new", "--name", "mine", "--network", "none"]).expect_status(0);
    let own = call(54_321, &["exec", "mine", "--", "echo", CANARY]);
    let other = call(54_322, &["exec", "mine", "--", "echo", CANARY]);
    call(54_321, &["kill", "mine"]).expect_status(0);
    assert_eq!(own.expect_status(0).stdout().trim(), CANARY);
    assert!(other.status() != 0 && !other.stdout().contains(CANARY), "{}", other.stdout());
}

/// Rows 27 and 28: a descriptor that a script sends along is not kept by whoever serves its tools, and it cannot say
/// that it is another process.
#[test]
fn req_i02_a_tool_socket_takes_neither_descriptors_nor_a_false_name() {
    let project = Project::new(OFF);
    let text = "
import array, cofferdam_tools, os, select, socket, struct
def kept_by(other):
    'Whether somebody still holds a pipe that was sent, when nobody here does.'
    reader, writer = os.pipe()
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [writer] * 100))
    other.sendmsg([b'\\0'], [rights])
    os.close(writer)
    return not select.select([reader], [], [], 5)[0]
here, there = socket.socketpair()
print('a plain socket keeps it:', kept_by(here))
tools = [socket.socket(fileno=os.dup(fd)) for fd in range(3, 20) if os.path.exists(f'/proc/self/fd/{fd}')
         and os.readlink(f'/proc/self/fd/{fd}').startswith('socket:') and fd not in (here.fileno(), there.fileno())]
print('tool sockets:', len(tools) > 0)
for tool in tools:
    name = (socket.SOL_SOCKET, socket.SCM_CREDENTIALS, struct.pack('iII', 1, os.getuid(), os.getgid()))
    try:
        tool.sendmsg([b'\\0'], [name])
        print('another name was taken')
    except OSError:
        pass
    try:
        if kept_by(tool): print('a tool socket keeps it')
    except OSError:
        pass
";
    let result = project.python(&[], text);
    assert_eq!(printed(&result), "a plain socket keeps it: True\ntool sockets: True\n", "{result:#}");
}
