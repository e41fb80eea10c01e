//! Sessions: what stays between two commands, what does not, and how everything ends.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
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

    /// A place with a session called `one`.
    fn with_session() -> Self {
        let place = Self::new();
        assert_eq!(place.session(&["new", "--name", "one"]).expect_status(0).stdout(), "one\n");
        place
    }

    fn call(&self, args: &[&str]) -> Cofferdam {
        Cofferdam::new(BINARY, &self.home).current_dir(&self.workspace).arg("session").args(args)
    }

    fn session(&self, args: &[&str]) -> Outcome {
        self.call(args).run()
    }

    /// Runs shell text in the session `one`.
    fn shell(&self, text: &str) -> Outcome {
        self.session(&["exec", "one", "-c", text])
    }

    fn keeper(&self) -> i32 {
        let listed = self.session(&["list", "--json"]).expect_status(0).stdout();
        let listed: serde_json::Value = serde_json::from_str(&listed).expect("what the program lists");
        i32::try_from(listed[0]["pid"].as_i64().expect("a number of a process"))
            .expect("a number of a process")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for name in ["one", "two"] {
            self.session(&["kill", name]);
        }
    }
}

fn kill(pid: i32, signal: Signal) {
    rustix::process::kill_process(Pid::from_raw(pid).expect("the process is there"), signal)
        .expect("the process is there");
}

fn pid(child: &Child) -> i32 {
    i32::try_from(child.id()).expect("a number of a process")
}

/// Reads until the line has come.
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

#[test]
fn req_i13_directory_variables_functions_and_aliases_stay() {
    let place = Place::with_session();
    place
        .shell(
            "mkdir sub; cd sub; export FLAVOUR='two words\nand a line'; plain=5; list=(1 '2 3')
            greet() { echo hello $1; }; alias say='echo said'; set -o pipefail; shopt -s extglob; exit 3",
        )
        .expect_status(3);
    let outcome = place.shell(
        r#"pwd; echo "$FLAVOUR"; echo "$plain ${list[1]}"; greet you; say it; false | true; echo $? $#; shopt -p extglob"#,
    );
    let expected = format!(
        "{}\ntwo words\nand a line\n5 2 3\nhello you\nsaid it\n1 0\nshopt -s extglob\n",
        place.workspace.join("sub").display()
    );
    assert_eq!(outcome.expect_status(0).stdout(), expected);
    let outcome = place.session(&["exec", "one", "--", "sh", "-c", r#"pwd; echo "$FLAVOUR" "$plain""#]);
    let expected = format!("{}\ntwo words\nand a line \n", place.workspace.join("sub").display());
    assert_eq!(outcome.expect_status(0).stdout(), expected, "exported to a plain command as well");
    place.shell("unset FLAVOUR; cd ..; rmdir sub").expect_status(0);
    assert_eq!(place.shell("echo [$FLAVOUR]").stdout(), "[]\n");
}

#[test]
fn req_i13_a_value_of_any_bytes_stays_as_it_is() {
    let place = Place::with_session();
    let value = r#"$'a"b$c`d\\e\'f\ng\th\x01\x1b\x7f\xff \\\n ü \u200b end '"#;
    let expected = place.shell(&format!("printf %s {value}")).expect_status(0);
    place
        .shell(&format!("export ODD={value} lower=1; declare -ix N=5; export LIST=(1 2) EMPTY="))
        .expect_status(0);
    let outcome = place.session(&["exec", "one", "--", "printenv", "ODD"]).expect_status(0);
    assert_eq!(outcome.stdout_bytes(), [expected.stdout_bytes(), b"\n"].concat());
    let outcome = place.shell("printf %s \"$ODD\"; N=N+1").expect_status(0);
    assert_eq!(outcome.stdout_bytes(), expected.stdout_bytes());
    let outcome = place.session(&["exec", "one", "--", "sh", "-c", "echo $lower $N [$EMPTY] ${EMPTY-unset}"]);
    assert_eq!(outcome.stdout(), "1 6 []\n");
}

#[test]
fn req_i13_nothing_that_a_command_prints_changes_what_stays() {
    let place = Place::with_session();
    place.shell("kept=yes").expect_status(0);
    let forged = r"forged=1\0/etc\0FORGED=1\0\0\0whole\0";
    let script = format!("printf '{forged}'; printf '{forged}' >&2; printf '{forged}' > account");
    place.shell(&script).expect_status(0);
    let outcome = place.session(&["exec", "one", "--", "sh", "-c", &script]).expect_status(0);
    assert!(outcome.stdout().contains("whole"), "it was printed");
    let outcome = place.shell("echo [$kept$forged$FORGED] $PWD").expect_status(0);
    assert_eq!(outcome.stdout(), format!("[yes] {}\n", place.workspace.display()));
}

#[test]
fn req_i13_a_broken_account_harms_nobody() {
    let place = Place::with_session();
    place.shell("kept=yes").expect_status(0);
    for text in [
        // Rubbish before the account, an account that does not fit, none at all, a relative directory.
        "echo rubbish >&$__cofferdam_account",
        "huge=$(head -c 2000000 /dev/zero | tr '\\0' x)",
        "exec {__cofferdam_account}>&-",
        "kill -9 $$",
        "trap - EXIT; printf 'x\\0relative\\0A=1\\0\\0\\0whole\\0' >&$__cofferdam_account",
        "exec true",
        "cd /; readonly PWD; set -eu",
    ] {
        place.shell(text);
        assert_eq!(place.shell("echo alive").expect_status(0).stdout(), "alive\n", "after {text}");
    }
    assert_eq!(place.shell("echo $kept").stdout(), "yes\n");
}

#[test]
fn req_i13_what_one_session_exports_reaches_no_other_and_not_the_launcher() {
    let place = Place::with_session();
    place.session(&["new", "--name", "two"]).expect_status(0);
    let poison =
        "export PATH=/nowhere LD_PRELOAD=/nowhere/evil.so FROM_ONE=1; alias ls=false; cd() { false; }";
    place.shell(poison).expect_status(0);
    assert!(place.session(&["exec", "one", "--", "/bin/sh", "-c", "echo $FROM_ONE"]).stdout().contains('1'));
    let clean = "echo [$FROM_ONE$LD_PRELOAD]; cd /; ls / > /dev/null && echo fine";
    let outcome = place.session(&["exec", "two", "-c", clean]).expect_status(0);
    assert_eq!(outcome.stdout(), "[]\nfine\n");
    let outcome = Cofferdam::new(BINARY, &place.home)
        .current_dir(&place.workspace)
        .args(["run", "--", "sh", "-c", clean])
        .run();
    assert_eq!(outcome.expect_status(0).stdout(), "[]\nfine\n");
    // The keeper is closed to other processes; who may look all the same finds nothing.
    match fs::read(format!("/proc/{}/environ", place.keeper())) {
        Ok(environment) => assert_eq!(environment, b"", "the keeper itself has none at all"),
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied),
    }
}

#[test]
fn req_i14_a_command_runs_once_even_when_the_session_is_lost_under_it() {
    let place = Place::with_session();
    let mut client = place.call(&["exec", "one", "-c", "echo ran >> count; echo ready; sleep 1000"]).spawn();
    await_line(&mut client, "ready\n");
    kill(place.keeper(), Signal::KILL);
    let output = client.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_to_string(place.workspace.join("count")).unwrap(), "ran\n");
}

#[test]
fn req_i03_status_signals_and_streams_are_exact() {
    let place = Place::with_session();
    for (text, status) in [("exit 0", 0), ("exit 255", 255), ("kill -9 $$", 137), ("kill -SEGV $$", 139)] {
        place.shell(text).expect_status(status);
    }
    place.session(&["exec", "one", "--", "no-such-program"]).expect_status(127);
    place.session(&["exec", "one", "--", "/etc/os-release"]).expect_status(126);
    let bytes: Vec<u8> =
        (0..3_000_000u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let outcome = place.call(&["exec", "one", "--", "cat"]).input(bytes.clone()).run().expect_status(0);
    assert!(outcome.stdout_bytes() == bytes, "binary data through cat");
    let outcome = place.shell("echo out; echo err >&2").expect_status(0);
    assert_eq!((outcome.stdout().as_str(), outcome.stderr().as_str()), ("out\n", "err\n"));
    let mut client = place.call(&["exec", "one", "--", "yes"]).spawn();
    await_line(&mut client, "y\n");
    drop(client.stdout.take());
    assert_eq!(client.wait().unwrap().code(), Some(141), "a closed pipe ends the writer");
}

#[test]
fn req_i02_background_processes_keep_their_output_and_their_status() {
    let place = Place::with_session();
    let script = "echo to out; echo to err >&2; read line || echo no input; exit 4";
    let number = place.session(&["exec", "one", "--background", "-c", script]).expect_status(0).stdout();
    let number = number.trim();
    let followed = place.session(&["logs", "one", number, "--follow"]).expect_status(4);
    assert_eq!(followed.stdout(), "to out\nto err\nno input\n");
    assert_eq!(place.session(&["logs", "one", number]).expect_status(0).stdout(), followed.stdout());
    let listed = place.session(&["ps", "one", "--json"]).expect_status(0).stdout();
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!((&listed[0]["running"], &listed[0]["status"]), (&false.into(), &4.into()));
    // Only the last part of much output is kept, and the loss is told.
    let number = place
        .session(&["exec", "one", "--background", "--", "sh", "-c", "head -c 3000000 /dev/zero; echo end"])
        .stdout();
    let followed = place.session(&["logs", "one", number.trim(), "-f"]).expect_status(0);
    assert!(followed.stdout().ends_with("end\n"));
    let kept = place.session(&["logs", "one", number.trim()]).expect_status(0);
    assert_eq!(kept.stdout_bytes().len(), 1 << 20);
    assert!(kept.stderr().contains("not kept"), "{}", kept.stderr());
    place.session(&["logs", "one", "999"]).expect_status(69);
}

/// A tree that does everything to survive: it ignores requests, leaves its session, is stopped, hides.
fn stubborn(marker: &str) -> String {
    format!(
        "trap '' TERM INT HUP
        (setsid bash -c \"trap '' TERM INT HUP; sleep {marker} & wait; wait\" &)
        bash -c 'kill -STOP $$; true' stopped {marker} &
        setsid python3 -c 'import ctypes,os,time; ctypes.CDLL(None).prctl(4, 0); os.fork(); time.sleep(9e5)' {marker} &
        sleep {marker} &
        echo ready; while :; do sleep {marker}; done"
    )
}

#[test]
fn req_i03_a_timeout_ends_the_tree_of_its_command_and_nothing_else() {
    let place = Place::with_session();
    let (mine, others) = (marker(), marker());
    let number = place.session(&["exec", "one", "--background", "--", "sleep", &others]).stdout();
    let outcome = place.session(&["exec", "one", "--timeout", "1s", "-c", &stubborn(&mine)]);
    assert_eq!(outcome.expect_status(124).stdout(), "ready\n");
    wait_until("the tree is gone", || with_argument(&mine).is_empty());
    assert_eq!(with_argument(&others).len(), 1, "the other command lives");
    place.session(&["kill", "one", number.trim()]).expect_status(0);
    wait_until("the other is gone", || with_argument(&others).is_empty());
    assert_eq!(place.shell("echo alive").stdout(), "alive\n");
}

#[test]
fn req_i03_a_client_that_dies_takes_its_command_along() {
    let place = Place::with_session();
    for signal in [Signal::KILL, Signal::TERM, Signal::HUP] {
        let marker = marker();
        let mut client = place.call(&["exec", "one", "-c", &stubborn(&marker)]).spawn();
        await_line(&mut client, "ready\n");
        wait_until("the tree is there", || with_argument(&marker).len() >= 5);
        kill(pid(&client), signal);
        client.wait().unwrap();
        wait_until("the tree is gone", || with_argument(&marker).is_empty());
        assert_eq!(place.shell("echo alive").stdout(), "alive\n");
    }
    let mut client = place
        .call(&["exec", "one", "-c", "trap 'exit 6' INT; echo ready; while :; do sleep 0.01; done"])
        .spawn();
    await_line(&mut client, "ready\n");
    kill(pid(&client), Signal::INT);
    assert_eq!(client.wait().unwrap().code(), Some(6), "an interrupt is passed on");
}

#[test]
fn req_i03_killing_a_session_or_its_keeper_leaves_nothing() {
    for how in [None, Some(Signal::TERM), Some(Signal::KILL)] {
        let place = Place::with_session();
        let marker = marker();
        place.session(&["exec", "one", "--background", "-c", &stubborn(&marker)]).expect_status(0);
        wait_until("the tree is there", || with_argument(&marker).len() >= 5);
        let keeper = place.keeper();
        match how {
            None => drop(place.session(&["kill", "one"]).expect_status(0)),
            Some(signal) => kill(keeper, signal),
        }
        wait_until("the tree is gone", || with_argument(&marker).is_empty());
        wait_until("the keeper is gone", || {
            fs::read(format!("/proc/{keeper}/cmdline")).unwrap_or_default().is_empty()
        });
        assert_eq!(place.session(&["list", "--json"]).expect_status(0).stdout(), "[]\n");
        let left = fs::read_dir(place.home.path().join("cofferdam/run/sessions")).unwrap().count();
        assert_eq!(left, 0, "no socket is left");
        place.shell("true").expect_status(125);
    }
}

#[test]
fn req_i03_what_a_command_leaves_running_stays_until_the_session_ends() {
    let place = Place::with_session();
    let marker = marker();
    let outcome = place.shell(&format!("sleep {marker} >/dev/null 2>&1 & echo started")).expect_status(0);
    assert_eq!(outcome.stdout(), "started\n");
    wait_until("it has become its program", || with_argument(&marker).len() == 1);
    place.shell("for i in 1 2 3 4 5 6 7 8; do (true &); done").expect_status(0);
    let zombies = "grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l";
    wait_until("the dead are collected", || place.shell(zombies).stdout().trim() == "0");
    place.session(&["kill", "one"]).expect_status(0);
    assert!(with_argument(&marker).is_empty());
}

#[test]
fn req_i03_an_idle_session_ends_when_that_was_asked_for() {
    let place = Place::new();
    place.session(&["new", "--name", "one", "--idle-timeout", "1s"]).expect_status(0);
    wait_until("the session is gone", || place.session(&["list", "--json"]).stdout() == "[]\n");
}

#[test]
fn req_i02_a_terminal_is_left_and_found_again() {
    let place = Place::with_session();
    let mut first = place.call(&["attach", "one"]).on_terminal();
    first.type_in("PS1='ready> '; kept=42; tty\r");
    first.until("/dev/pts/0");
    first.until("ready> ");
    first.type_in("\x1d");
    first.until("left running");
    assert_eq!(first.end().0, 0);
    let mut second = place.call(&["attach", "one"]).on_terminal();
    second.type_in("echo kept=$kept\r");
    second.until("kept=42");
    let other = place.session(&["attach", "one"]).expect_status(69);
    assert!(other.stderr().contains("in use elsewhere"), "{}", other.stderr());
    // A client that is killed leaves the terminal running, too.
    kill(second.pid(), Signal::TERM);
    assert_eq!(second.end().0, 0);
    let mut third = place.call(&["attach", "one"]).on_terminal();
    third.type_in("exit $kept\r");
    assert_eq!(third.end().0, 42);
}

#[test]
fn req_i01_the_keeper_is_out_of_reach_from_inside() {
    let place = Place::new();
    // As bad as it gets: what Cofferdam keeps lies in the workspace.
    let inside = place.workspace.join("state");
    let call = |args: &[&str]| {
        let call = Cofferdam::new(BINARY, &place.home).env("COFFERDAM_HOME", &inside);
        call.current_dir(&place.workspace).arg("session").args(args).run()
    };
    call(&["new", "--name", "one"]).expect_status(0);
    let socket = inside.join("run/sessions/one.sock");
    let metadata = fs::symlink_metadata(&socket).unwrap();
    assert!(metadata.file_type().is_socket() && metadata.mode() & 0o777 == 0o600, "{:o}", metadata.mode());
    let directory = fs::metadata(socket.parent().unwrap()).unwrap();
    assert_eq!(directory.mode() & 0o777, 0o700);
    let look = "ls state 2>/dev/null | wc -l; cat /proc/1/environ 2>/dev/null | wc -c; readlink /proc/1/fd/* /proc/1/exe /proc/1/cwd 2>/dev/null | wc -l";
    assert_eq!(call(&["exec", "one", "-c", look]).expect_status(0).stdout(), "0\n0\n0\n");
    call(&["kill", "one"]).expect_status(0);
}

#[test]
fn bad_names_and_missing_sessions_are_told() {
    let place = Place::with_session();
    place.session(&["new", "--name", "../one"]).expect_status(64);
    let taken = place.session(&["new", "--name", "one"]).expect_status(125);
    assert!(taken.stderr().contains("already"), "{}", taken.stderr());
    for call in
        [&["exec", "none", "--", "true"][..], &["attach", "none"], &["kill", "../one"], &["ps", "none"]]
    {
        let outcome = place.session(call).expect_status(125);
        assert!(outcome.stderr().contains("there is no session"), "{}", outcome.stderr());
    }
    assert_eq!(place.shell("echo alive").stdout(), "alive\n");
}

#[test]
fn req_i15_a_session_over_a_layer_leaves_the_workspace_as_it_is() {
    let place = Place::new();
    let told = place.session(&["new", "--name", "one", "--overlay"]).expect_status(0).stderr();
    let layer = told.split("layer ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("a layer");
    place.shell("echo first > made").expect_status(0);
    assert_eq!(place.shell("cat made").stdout(), "first\n", "it is there for the next command");
    assert!(!place.workspace.join("made").exists());
    place.session(&["kill", "one"]).expect_status(0);
    let overlay = |verb: &str| {
        Cofferdam::new(BINARY, &place.home).current_dir(&place.workspace).args(["overlay", verb, layer]).run()
    };
    assert!(overlay("diff").stdout().contains("made"));
    overlay("apply").expect_status(0);
    assert_eq!(fs::read_to_string(place.workspace.join("made")).expect("what was applied"), "first\n");
}

#[test]
fn req_i08_what_a_session_has_kept_is_shown_without_secrets() {
    // Nothing that looks like a key: only whoever knows the value can find it.
    const SECRET: &str = "four-plain-words-of-a-secret";
    let place = Place::with_session();
    fs::write(place.workspace.join("given"), SECRET).expect("a file");
    let print =
        "cat given; echo; base64 given; head -c 9 given; sleep 0.2; tail -c +10 given; echo; echo over";
    let number = place.session(&["exec", "--background", "one", "--", "sh", "-c", print]).expect_status(0);
    let number = number.stdout();
    let logs = |known: bool| {
        let call = place.call(&["logs", "one", number.trim(), "--follow"]);
        let call = if known { call.env("OPENAI_API_KEY", SECRET) } else { call };
        call.run().expect_status(0).stdout()
    };
    let shown = logs(true);
    for form in [SECRET, "Zm91ci1wbGFpbi13b3Jkcy1v", "four-plain"] {
        assert!(!shown.contains(form), "{form}: {shown}");
        assert!(logs(false).contains(form), "{form}");
    }
    assert!(shown.matches("[redacted:").count() >= 3 && shown.ends_with("over\n"), "{shown}");
}
