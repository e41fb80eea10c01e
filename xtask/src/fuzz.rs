//! `fuzz`: every target of `fuzz/`, for some seconds each.
//!
//! `cargo fuzz` wants a nightly compiler for its sanitizers. What finds the inputs is the coverage feedback,
//! and the passes for that are in every compiler; memory errors are the business of the one crate with
//! unsafe code. So the targets are built by cargo itself, with the stable compiler, and `cargo fuzz` still
//! works on the same layout for whoever has it.

use std::fs;
use std::path::PathBuf;

use crate::built::{Built, build};
use crate::failure::{Done, Failure};
use crate::process::Tool;
use crate::root::Root;

/// Coverage for libFuzzer: counters on every edge, a table of places, and the operands of comparisons.
const COVERAGE: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    target: Option<String>,
    seconds: u32,
}

impl Options {
    /// What is run in a test of everything: long enough to see that a target works and its seeds pass.
    pub fn brief() -> Self {
        Self { target: None, seconds: 3 }
    }

    pub fn parse(arguments: &[&str]) -> Result<Self, Failure> {
        let usage = |sentence: String| Failure::new(sentence).hint("fuzz [TARGET] [--seconds N]");
        let mut options = Self::brief();
        let mut arguments = arguments.iter();
        while let Some(&argument) = arguments.next() {
            if argument == "--seconds" {
                let number =
                    arguments.next().and_then(|number| number.parse().ok()).filter(|number| *number > 0);
                options.seconds =
                    number.ok_or_else(|| usage("--seconds needs a number above 0".to_owned()))?;
            } else if argument.starts_with('-') || options.target.is_some() {
                return Err(usage(format!("fuzz does not know {argument}")));
            } else {
                options.target = Some(argument.to_owned());
            }
        }
        Ok(options)
    }
}

pub fn run(root: &Root, options: &Options) -> Done {
    let sources = targets(root)?;
    if let Some(wanted) = options.target.as_ref().filter(|wanted| !sources.contains(wanted)) {
        let known = format!("the targets are {}", sources.join(", "));
        return Err(Failure::new(format!("no fuzz target {wanted}")).hint(known));
    }
    let built = build_targets(root)?;
    for source in &sources {
        if !built.iter().any(|target| target.name == *source) {
            return Err(Failure::new(format!("fuzz/fuzz_targets/{source}.rs is not built"))
                .hint("add a [[bin]] for it to fuzz/Cargo.toml"));
        }
    }
    for target in
        built.iter().filter(|target| options.target.as_ref().is_none_or(|wanted| *wanted == target.name))
    {
        one(root, target, options.seconds)?;
    }
    Ok(())
}

/// The names of the targets' sources.
fn targets(root: &Root) -> Result<Vec<String>, Failure> {
    let files = root.sources()?;
    let names = files.iter().filter_map(|file| file.strip_prefix("fuzz/fuzz_targets/")?.strip_suffix(".rs"));
    Ok(names.map(str::to_owned).collect())
}

fn build_targets(root: &Root) -> Result<Vec<Built>, Failure> {
    build(
        Tool::cargo()
            .args(["build", "--release", "--locked", "--bins"])
            .env("RUSTFLAGS", COVERAGE)
            .within(&root.join("fuzz")),
    )
}

/// Runs one target. Its findings stay in `fuzz/artifacts`, what it learned in `fuzz/corpus`; the seeds that
/// belong to the project are only read.
fn one(root: &Root, target: &Built, seconds: u32) -> Done {
    let directory = |kind: &str| -> Result<PathBuf, Failure> {
        let path = root.join("fuzz").join(kind).join(&target.name);
        fs::create_dir_all(&path).map_err(|error| Failure::at(&path, error))?;
        Ok(path)
    };
    let corpus = directory("corpus")?;
    let artifacts = directory("artifacts")?;
    let seeds = root.join("fuzz/seeds").join(&target.name);
    let ended = Tool::new(&target.executable)
        .arg(format!("-max_total_time={seconds}"))
        .args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"])
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg(corpus)
        .args(seeds.is_dir().then_some(seeds))
        .within(&root.join("fuzz"))
        .watch()?;
    if !ended.content {
        eprintln!("{}", ended.printed);
        return Err(Failure::new(format!("fuzz target {} found something", target.name)).hint(format!(
            "the input is in fuzz/artifacts/{0}; run it again with the built target",
            target.name
        )));
    }
    let runs = ended.printed.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    println!("fuzz {}: {} inputs in {seconds} s, nothing found", target.name, runs.map_or("?", str::trim));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_what_was_typed() {
        let parsed = Options::parse(&["config", "--seconds", "20"]).unwrap();
        assert_eq!(parsed, Options { target: Some("config".to_owned()), seconds: 20 });
        for wrong in [&["--seconds"][..], &["--seconds", "0"], &["--seconds", "x"], &["a", "b"], &["--fast"]]
        {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
