//! A command with a terminal: what the person's terminal gets, and how it is left.

use std::path::PathBuf;

use cofferdam_testkit::processes::{marker, wait_until, with_argument};
use cofferdam_testkit::{Cofferdam, Home};
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
        std::fs::create_dir(&workspace).expect("a directory");
        Self { home, workspace }
    }

    fn run(&self, args: &[&str]) -> Cofferdam {
        Cofferdam::new(BINARY, &self.home).current_dir(&self.workspace).arg("run").args(args)
    }
}

fn signal(pid: i32, signal: Signal) {
    rustix::process::kill_process(Pid::from_raw(pid).expect("the process is there"), signal)
        .expect("the process is there");
}

/// Waiting for time to pass, and not stopped.
fn is_asleep(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") S "))
}

#[test]
fn req_i02_a_shell_has_job_control_on_a_terminal_of_its_own() {
    let place = Place::new();
    let mut shell = place.run(&["--", "bash", "--norc", "--noediting"]).env("PS1", "").on_terminal();
    shell.type_in("PS1='ready> '; tty; echo $((6*7))\r");
    assert!(shell.until("42").contains("/dev/pts/0"), "the host's terminal is not in the sandbox");
    shell.until("ready> ");
    let marker = marker();
    shell.type_in(&format!("sleep {marker}\r"));
    // Until the shell has handed the terminal to the job, a key would stop nobody.
    wait_until("the job runs", || !with_argument(&marker).is_empty());
    shell.type_in("\x1a");
    shell.until("Stopped");
    shell.type_in("fg\r");
    wait_until("the job runs again", || with_argument(&marker).iter().any(|pid| is_asleep(*pid)));
    shell.type_in("\x03");
    shell.until("ready> ");
    shell.type_in("exit 7\r");
    assert_eq!(shell.end().0, 7);
}

#[test]
fn req_i02_the_size_of_the_window_is_followed() {
    let place = Place::new();
    let script = "trap 'stty size; exit 0' WINCH; stty size; echo ready; while :; do sleep 0.01; done";
    let mut program = place.run(&["-t", "--", "bash", "-c", script]).on_terminal();
    program.until("ready");
    program.resize(41, 123);
    assert!(program.until("41 123").contains("41 123"));
    assert_eq!(program.end().0, 0);
}

#[test]
fn req_i02_the_terminal_is_raw_only_while_the_command_runs() {
    let place = Place::new();
    let begin = || {
        let mut program = place.run(&["--", "sh", "-c", "echo ready; read line; exit 4"]).on_terminal();
        program.until("ready");
        wait_until("raw mode", || program.is_raw());
        program
    };
    let mut program = begin();
    program.type_in("\r");
    assert_eq!(program.end().0, 4, "`end` also checks that the terminal is not raw any more");
    for (sent, status) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130), (Signal::QUIT, 131)] {
        let program = begin();
        signal(program.pid(), sent);
        assert_eq!(program.end().0, status);
    }
    let mut program =
        place.run(&["--timeout", "1s", "--", "sh", "-c", "echo ready; read line"]).on_terminal();
    program.until("ready");
    assert_eq!(program.end().0, 124);
    let program = place.run(&["--", "no-such-program"]).on_terminal();
    assert_eq!(program.end().0, 127);
}

#[test]
fn req_i02_a_stopped_launcher_gives_the_terminal_back() {
    let place = Place::new();
    let mut program = place.run(&["--", "sh", "-c", "echo ready; read line; echo got $line"]).on_terminal();
    program.until("ready");
    wait_until("raw mode", || program.is_raw());
    signal(program.pid(), Signal::TSTP);
    wait_until("the terminal is given back", || !program.is_raw());
    signal(program.pid(), Signal::CONT);
    wait_until("raw mode again", || program.is_raw());
    program.type_in("it\r");
    program.until("got it");
    assert_eq!(program.end().0, 0);
}

#[test]
fn req_i02_ctrl_c_and_ctrl_d_go_through_the_terminal() {
    let place = Place::new();
    let script = "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.01; done";
    let mut program = place.run(&["--", "bash", "-c", script]).on_terminal();
    program.until("ready");
    program.type_in("\x03");
    program.until("caught");
    assert_eq!(program.end().0, 5);

    let mut program = place.run(&["--", "sh", "-c", "echo ready; cat; echo over"]).on_terminal();
    program.until("ready");
    program.type_in("line\r\x04");
    program.until("over");
    assert_eq!(program.end().0, 0);
}

#[test]
fn req_i02_sequences_that_ask_or_write_the_clipboard_are_dropped() {
    let place = Place::new();
    let script = r"printf 'a\033]52;c;Y2FuYXJ5\007b\033[6nc\033[21td\033P$qm\033\\e\033[31mred\033[0m.end'";
    let shown = |option: &[&str]| {
        let args: Vec<&str> = option.iter().copied().chain(["--", "bash", "-c", script]).collect();
        let mut program = place.run(&args).on_terminal();
        let shown = program.until(".end");
        assert_eq!(program.end().0, 0);
        shown
    };
    // Where the cursor is may be asked: line editors wait for it, and the answer is two numbers.
    assert_eq!(shown(&["-t", "--network", "none"]), "ab\x1b[6ncde\x1b[31mred\x1b[0m.end");
    let raw = shown(&["--danger-raw-terminal"]);
    assert!(raw.contains("\x1b]52;c;Y2FuYXJ5\x07") && raw.contains("\x1b[21t"), "{raw:?}");
}

#[test]
fn req_i02_modes_that_a_command_leaves_behind_are_undone() {
    let place = Place::new();
    let script = r"printf '\033[?1049h\033[?1000h\033[?25lready'";
    let mut program = place.run(&["--", "bash", "-c", script]).on_terminal();
    program.until("ready");
    let (_, last) = program.end();
    assert_eq!(last, "\x1b[?1049l\x1b[?1000l\x1b[?25h\x1b[0m");
}

#[test]
fn req_i02_a_redirected_stream_means_no_terminal_unless_one_is_asked_for() {
    let place = Place::new();
    let test = "test -t 1 && echo terminal || echo none";
    let outcome = place.run(&["--", "sh", "-c", test]).run().expect_status(0);
    assert_eq!(outcome.stdout(), "none\n");
    let outcome = place.run(&["-t", "--", "sh", "-c", test]).run().expect_status(0);
    assert_eq!(outcome.stdout(), "terminal\r\n");
    let mut program = place.run(&["--no-tty", "--", "sh", "-c", "tty </dev/tty; echo over"]).on_terminal();
    let seen = program.until("over");
    assert!(!seen.contains("/dev/pts"), "{seen}");
    assert_eq!(program.end().0, 0);
}

#[test]
fn req_i02_input_that_is_no_terminal_ends_as_one() {
    let place = Place::new();
    let outcome = place.run(&["-t", "--", "sh", "-c", "cat; echo over"]).input("typed\n").run();
    let outcome = outcome.expect_status(0);
    assert!(outcome.stdout().contains("typed\r\n") && outcome.stdout().ends_with("over\r\n"), "{outcome:?}");
}

#[test]
fn req_i03_closing_the_terminal_ends_everything() {
    let place = Place::new();
    let marker = marker();
    let script = format!("trap '' HUP TERM; setsid sleep {marker} & sleep {marker} & echo ready; wait; wait");
    let mut program = place.run(&["--", "bash", "-c", &script]).on_terminal();
    program.until("ready");
    wait_until("both sleep", || with_argument(&marker).len() == 2);
    program.close();
    assert!(with_argument(&marker).is_empty(), "a process is left");
}
