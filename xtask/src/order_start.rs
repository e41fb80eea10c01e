//! `order-start`: which functions a start runs, so that they can be linked next to each other.

use std::fs;

use crate::built::build;
use crate::failure::{Done, Failure};
use crate::process::Tool;
use crate::root::Root;
use crate::scratch::Scratch;

/// Starts that somebody waits for. What the first one runs comes first.
const STARTS: &[&[&str]] =
    &[&["run", "--network", "none", "--", "/bin/true"], &["approvals", "check", "rm -r build | tee log"]];
const ORDER: &str = "crates/cli/start-order.txt";
const TRACER: &str = "xtask/trace/functions.py";

pub fn run(root: &Root) -> Done {
    let cargo = Tool::cargo().args(["build", "--locked", "--release", "--package", "cofferdam"]);
    let built = build(cargo.within(root.path()))?.into_iter().find(|built| built.name == "cofferdam");
    let program = built.ok_or_else(|| Failure::new("cargo built no program"))?.executable;
    let scratch = Scratch::new(&std::env::temp_dir(), 0o700)?;
    let mut names: Vec<String> = Vec::new();
    for start in STARTS {
        let tracer = Tool::new("python3").arg(root.path().join(TRACER)).arg(&program).arg("--").args(*start);
        let run = tracer.env("HOME", scratch.path()).within(scratch.path()).output()?;
        let new: Vec<_> = run.lines().map(str::to_owned).filter(|name| !names.contains(name)).collect();
        names.extend(new);
    }
    let text = names.join("\n") + "\n";
    fs::write(root.path().join(ORDER), text)
        .map_err(|error| Failure::new(format!("cannot write {ORDER}: {error}")))?;
    println!("{} functions in {ORDER}", names.len());
    Ok(())
}
