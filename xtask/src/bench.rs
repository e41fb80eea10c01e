//! `bench`: speed, side by side, in a release build.

use crate::built::build;
use crate::failure::{Done, Failure};
use crate::process::Tool;
use crate::root::Root;

pub fn run(root: &Root, options: &[&str]) -> Done {
    if let Some(unknown) = options.iter().find(|option| option.starts_with('-') && **option != "--json") {
        return Err(
            Failure::new(format!("bench has no option {unknown}")).hint("bench [NAME\u{2026}] [--json]")
        );
    }
    // The program that is measured is built beside the one that measures it, which finds it there.
    let packages = ["--package", "cofferdam", "--package", "cofferdam-bench"];
    let built =
        build(Tool::cargo().args(["build", "--release", "--locked"]).args(packages).within(root.path()))?;
    let bench = built
        .iter()
        .find(|built| built.name == "cofferdam-bench")
        .ok_or_else(|| Failure::new("cargo built no benchmarks"))?;
    Tool::new(&bench.executable)
        .args(options)
        .env("COFFERDAM_BENCH_CACHE", root.join(".cache/bench"))
        .within(root.path())
        .run()
}
