//! The gate as a process, as an agent's hook calls it: next to a program that does nothing, and to the programs that
//! people have read shell scripts with so far. Those find mistakes of style; none of them says what a command would do.

use crate::harness::{Bench, Case, Unit};
use crate::peer::{self, Call};

const TITLE: &str = "one verdict, as a process";
const COMMAND: &str = "git status && rm -rf ./build";

pub fn run(bench: &mut Bench) {
    let Some(cofferdam) = peer::cofferdam() else {
        bench.skip(TITLE, "the program is not built beside this one; use `cargo xtask bench`");
        return;
    };
    let home = bench.cache().join("verdict");
    let script = home.join("script.sh");
    if let Err(error) = std::fs::create_dir_all(&home).and_then(|()| std::fs::write(&script, COMMAND)) {
        bench.skip(TITLE, &format!("no directory: {error}"));
        return;
    }
    let check = || {
        let mut call = peer::command(&cofferdam);
        call.args(["approvals", "check", COMMAND]).env("HOME", &home).current_dir(&home);
        call
    };
    let plain = || peer::command("/bin/true");
    let mut cases = vec![case("fork and exec", plain), case("cofferdam approvals check", check)];
    for (name, arguments) in [("shellcheck", &["-s", "bash"][..]), ("shfmt", &["-tojson"])] {
        match peer::on_path(name) {
            Some(program) => {
                let script = script.clone();
                cases.push(case(&format!("{name}, a reader of scripts"), move || {
                    let mut call = peer::command(&program);
                    call.args(arguments).arg(&script);
                    call
                }));
            }
            None => bench.skip(name, "it is not installed"),
        }
    }
    bench.side_by_side(TITLE, Unit::Seconds, 1.0, cases);
}

/// Whatever the verdict is: allow is 0, ask is 2, and a complaint about style is 1.
fn case<'a>(name: &str, call: impl Fn() -> Call + 'a) -> Case<'a> {
    let round = move || {
        let status = call().status().expect("a program that was found starts");
        assert!(status.code().is_some_and(|code| code <= 3), "it ended with {status}");
    };
    Case { name: name.to_owned(), round: Box::new(round) }
}
