//! What work costs once it is in a sandbox, next to the same work outside: starting a thousand programs, looking through
//! a tree of files, compiling. The limit is 3 % more. And what the process keeps in memory that waits meanwhile:
//! the limit is 3 MB.

use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::harness::{Bench, Case, Unit};
use crate::peer::{self, Call};

const TITLE: &str = "work inside";
const NAME: &str = "bench-inside";

/// What is done, and the program that it takes.
const WORK: &[(&str, &str, &str)] = &[
    ("a thousand programs", "true", "for i in $(seq 1000); do /bin/true; done"),
    ("a recursive grep", "grep", "grep -r -c -w include /usr/include >/dev/null; true"),
    (
        "a build",
        "cc",
        "for i in 1 2 3 4 5; do echo '#include <stdio.h>\nint main(void) { puts(\"x\"); }' | cc -O2 -x c -o /dev/null -; done",
    ),
];

pub fn run(bench: &mut Bench) {
    let Some(cofferdam) = peer::cofferdam() else {
        bench.skip(TITLE, "the program is not built beside this one; use `cargo xtask bench`");
        return;
    };
    let home = bench.cache().join("inside");
    if let Err(error) = std::fs::create_dir_all(home.join("project")) {
        bench.skip(TITLE, &format!("no workspace: {error}"));
        return;
    }
    let call = |words: &[&str]| here(peer::command(&cofferdam), &home, words);
    // One may be left of a run that was interrupted.
    let _ = call(&["session", "kill", NAME]).output();
    let new = ["session", "new", "--name", NAME, "--network", "none"];
    if !call(&new).output().is_ok_and(|made| made.status.success()) {
        bench.skip(TITLE, "no session can be made here; `cofferdam doctor` says why");
        return;
    }
    for (title, program, text) in WORK {
        let title = format!("{TITLE}: {title}");
        if peer::on_path(program).is_none() {
            bench.skip(&title, &format!("there is no {program}"));
            continue;
        }
        let cases = vec![
            case("outside", || here(peer::command(Path::new("/bin/sh")), &home, &["-c", text])),
            case("in a session", || call(&["session", "exec", NAME, "--", "/bin/sh", "-c", text])),
        ];
        bench.side_by_side(&title, Unit::Seconds, 1.0, cases);
    }
    let _ = call(&["session", "kill", NAME]).output();
    memory(bench, call(&["run", "--network", "none", "--", "sh", "-c", "echo ready; exec sleep 60"]));
}

fn here(mut command: Call, home: &Path, words: &[&str]) -> Call {
    command.env("HOME", home).env("COFFERDAM_HOME", home.join("cofferdam"));
    command.current_dir(home.join("project")).args(words);
    command
}

fn case<'a>(name: &str, command: impl Fn() -> Call + 'a) -> Case<'a> {
    Case { name: name.to_owned(), round: Box::new(move || peer::finish(&mut command())) }
}

/// What a launcher has in memory while it waits for a command that does nothing.
fn memory(bench: &mut Bench, mut command: Call) {
    let title = "memory of a waiting launcher";
    let Ok(mut launcher) = command.stdout(Stdio::piped()).spawn() else {
        return bench.skip(title, "it could not be started");
    };
    let mut ready = [0; 6];
    let runs = launcher.stdout.take().is_some_and(|mut stdout| stdout.read_exact(&mut ready).is_ok());
    // It comes to rest when nothing has happened for a moment.
    std::thread::sleep(Duration::from_secs(1));
    let resident = resident(launcher.id());
    let _ = launcher.kill();
    let _ = launcher.wait();
    match resident.filter(|_| runs) {
        Some(bytes) => bench.taken(title, Unit::Bytes, vec![("cofferdam run".to_owned(), vec![bytes])]),
        None => bench.skip(title, "it ended before it was looked at"),
    }
}

fn resident(process: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_ascii_whitespace().next()?.parse::<f64>().ok()? * 1024.0)
}
