//! How long it takes until the program runs: it stands in front of everything, so its start is paid for by
//! every command. The limit is a program that does nothing.

use crate::harness::{Bench, Case, Unit};
use crate::peer;

const TITLE: &str = "start of the program";

pub fn run(bench: &mut Bench) {
    let Some(cofferdam) = peer::cofferdam() else {
        bench.skip(TITLE, "the program is not built beside this one; use `cargo xtask bench`");
        return;
    };
    let mut cases = vec![case("cofferdam --version", cofferdam, "--version")];
    // `true` is the limit of fork and exec; the others are what a wrapper is often written in.
    let peers = [("true", "--"), ("env", "--version"), ("bash", "--version"), ("python3", "--version")];
    for (name, argument) in peers {
        if let Some(path) = peer::on_path(name) {
            cases.push(case(&format!("{name} {argument}"), path, argument));
        }
    }
    bench.side_by_side(TITLE, Unit::Seconds, 1.0, cases);
}

fn case(name: &str, program: std::path::PathBuf, argument: &'static str) -> Case<'static> {
    Case {
        name: name.to_owned(),
        round: Box::new(move || peer::finish(peer::command(&program).arg(argument))),
    }
}
