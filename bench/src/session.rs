//! A command in a session that is there already, next to the same command without one. What is measured is the whole
//! program as a person calls it: two processes start instead of one.

use std::path::Path;

use crate::harness::{Bench, Case, Unit};
use crate::peer::{self, Call};

const TITLE: &str = "a command in a warm session";
const NAME: &str = "bench";

pub fn run(bench: &mut Bench) {
    let Some(cofferdam) = peer::cofferdam() else {
        bench.skip(TITLE, "the program is not built beside this one; use `cargo xtask bench`");
        return;
    };
    let home = bench.cache().join("session");
    let workspace = home.join("project");
    if let Err(error) = std::fs::create_dir_all(&workspace) {
        bench.skip(TITLE, &format!("no workspace: {error}"));
        return;
    }
    let call = |arguments: &[&str]| session(&cofferdam, &home, arguments);
    // One may be left of a run that was interrupted.
    let _ = call(&["kill", NAME]).output();
    if !call(&["new", "--name", NAME]).output().is_ok_and(|made| made.status.success()) {
        bench.skip(TITLE, "no session can be made here; `cofferdam doctor` says why");
        return;
    }
    let shell = ["--noprofile", "--norc", "-c", "true"];
    let cases = vec![
        case("fork and exec of true", || peer::command(Path::new("/bin/true"))),
        case("session exec -- true", || call(&["exec", NAME, "--", "/bin/true"])),
        case("bash -c true", || {
            let mut command = peer::command(Path::new("/bin/bash"));
            command.args(shell);
            command
        }),
        case("session exec -c true", || call(&["exec", NAME, "-c", "true"])),
    ];
    bench.side_by_side(TITLE, Unit::Seconds, 1.0, cases);
    let _ = call(&["kill", NAME]).output();
}

fn session(cofferdam: &Path, home: &Path, arguments: &[&str]) -> Call {
    let mut command = peer::command(cofferdam);
    command.env("HOME", home).env("COFFERDAM_HOME", home.join("cofferdam"));
    command.current_dir(home.join("project")).arg("session").args(arguments);
    command
}

fn case<'a>(name: &str, command: impl Fn() -> Call + 'a) -> Case<'a> {
    Case { name: name.to_owned(), round: Box::new(move || peer::finish(&mut command())) }
}
