//! What a sandbox costs: the same small command started plainly, in a sandbox with every layer on, and by the tool
//! that others build on. The limit is 3.5 times the plain start.

use std::path::{Path, PathBuf};

use crate::harness::{Bench, Case, Unit};
use crate::peer;

const TITLE: &str = "run -- true, every layer on";
const COMMAND: &str = "/bin/true";

pub fn run(bench: &mut Bench) {
    let Some(cofferdam) = peer::cofferdam() else {
        bench.skip(TITLE, "the program is not built beside this one; use `cargo xtask bench`");
        return;
    };
    let workspace = bench.cache().join("workspace");
    let made = ["workspace", "home"].map(|name| std::fs::create_dir_all(bench.cache().join(name)));
    if let Err(error) = made.into_iter().collect::<Result<Vec<()>, _>>() {
        bench.skip(TITLE, &format!("no workspace could be made: {error}"));
        return;
    }
    let mut cases = vec![
        case("fork and exec", &workspace, PathBuf::from(COMMAND), &[]),
        case("cofferdam run", &workspace, cofferdam, &["run", "--network", "none", "--", COMMAND]),
    ];
    // The nearest flags; no Landlock, no filter, no private /etc and home.
    let nearest =
        ["--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"];
    let arguments: Vec<&'static str> = nearest.into_iter().chain(["--tmpfs", "/tmp", COMMAND]).collect();
    if let Some(bubblewrap) = peer::on_path("bwrap") {
        cases.push(case("bubblewrap", &workspace, bubblewrap, &arguments));
    }
    match peer::on_path("firejail") {
        Some(firejail) => {
            let nearest =
                ["--quiet", "--noprofile", "--net=none", "--private-tmp", "--caps.drop=all", "--seccomp"];
            let arguments: Vec<&'static str> = nearest.into_iter().chain([COMMAND]).collect();
            cases.push(case("firejail", &workspace, firejail, &arguments));
        }
        None => bench.skip("firejail", "it is not installed"),
    }
    bench.side_by_side(TITLE, Unit::Seconds, 1.0, cases);
}

fn case(name: &str, workspace: &Path, program: PathBuf, arguments: &[&'static str]) -> Case<'static> {
    let (workspace, arguments) = (workspace.to_owned(), arguments.to_vec());
    Case {
        name: name.to_owned(),
        round: Box::new(move || {
            let mut command = peer::command(&program);
            // A home that holds nothing but the workspace.
            command.args(&arguments).current_dir(&workspace).env("HOME", workspace.with_file_name("home"));
            peer::finish(&mut command);
        }),
    }
}
