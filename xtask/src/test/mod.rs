//! `test`: everything a change must pass, in the order in which it is cheapest to fail.

mod clients;
mod machine;
mod ordinary_user;
mod summary;
mod tree;

use std::path::Path;

use crate::failure::{Done, Failure};
use crate::process::Tool;
use crate::root::Root;
use crate::{check_layers, check_licences, check_promises, check_spawns, fuzz};

use summary::Summary;
use tree::Tree;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    extent: Extent,
    on_failure: OnFailure,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Extent {
    #[default]
    Full,
    /// Without documentation, the ordinary user and fuzzing.
    Quick,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum OnFailure {
    #[default]
    Stop,
    Continue,
}

impl Options {
    pub fn parse(arguments: &[&str]) -> Result<Self, Failure> {
        let mut options = Self::default();
        for argument in arguments {
            match *argument {
                "--quick" => options.extent = Extent::Quick,
                "--keep-going" => options.on_failure = OnFailure::Continue,
                other => {
                    return Err(Failure::new(format!("test does not know {other}"))
                        .hint("test [--quick] [--keep-going]"));
                }
            }
        }
        Ok(options)
    }
}

pub fn run(root: &Root, options: &Options) -> Done {
    let mut steps = Summary::new(options.on_failure == OnFailure::Continue);
    steps.step("what this machine needs", machine::prepare)?;
    steps.step("format", || format(root))?;
    steps.step("layers", || check_layers::run(root))?;
    steps.step("spawns", || check_spawns::run(root))?;
    steps.step("promises", || check_promises::run(root))?;
    steps.step("licences and sources", || check_licences::run(root))?;
    if Tool::cargo().args(["deny", "--version"]).succeeds() {
        steps.step("cargo deny", || Tool::cargo().args(["deny", "check"]).within(root.path()).run())?;
    } else {
        steps.left_out("cargo deny", "not installed; licences and sources are checked above");
    }
    steps.step("lint", || lint(root))?;
    let tree = if is_root() { Tree::for_everyone(root)? } else { Tree::Checkout(root) };
    steps.step("clients", || clients::install(root, &tree))?;
    steps.step(if is_root() { "tests as root" } else { "tests" }, || tests(&tree))?;
    if options.extent == Extent::Full {
        slow_steps(&mut steps, root, &tree)?;
    }
    steps.end()
}

fn slow_steps(steps: &mut Summary, root: &Root, tree: &Tree<'_>) -> Done {
    steps.step("tests in the documentation", || {
        tree.cargo().args(["test", "--workspace", "--all-features", "--locked", "--doc", "--quiet"]).run()
    })?;
    if is_root() {
        steps.step("tests as an ordinary user", || ordinary_user::run(tree))?;
    } else {
        steps.left_out("tests as root", "not root; `sudo -E cargo xtask test` does both");
    }
    steps.step("documentation", || {
        Tool::cargo()
            .args([
                "doc",
                "--workspace",
                "--all-features",
                "--locked",
                "--no-deps",
                "--document-private-items",
                "--quiet",
            ])
            .env("RUSTDOCFLAGS", "-D warnings")
            .within(root.path())
            .run()
    })?;
    steps.step("fuzzing, briefly", || fuzz::run(root, &fuzz::Options::brief()))
}

fn format(root: &Root) -> Done {
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
        Tool::cargo()
            .args(["fmt", "--all", "--check", "--manifest-path", manifest])
            .within(root.path())
            .run()?;
    }
    Ok(())
}

fn lint(root: &Root) -> Done {
    Tool::cargo()
        .args([
            "clippy",
            "--workspace",
            "--all-features",
            "--all-targets",
            "--locked",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ])
        .within(root.path())
        .run()
}

/// With nextest where it is installed (a process for each test), otherwise with cargo's own harness (threads
/// in one process). The run as an ordinary user always uses the second, so a test has to stand both.
fn tests(tree: &Tree<'_>) -> Done {
    if Tool::cargo().args(["nextest", "--version"]).succeeds() {
        let options =
            ["--workspace", "--all-features", "--locked", "--no-fail-fast", "--status-level", "fail"];
        return tree.cargo().args(["nextest", "run"]).args(options).run();
    }
    tree.cargo()
        .args(["test", "--workspace", "--all-features", "--locked", "--no-fail-fast", "--quiet"])
        .args(["--bins", "--lib", "--tests"])
        .run()
}

/// Whether this process is root. The owner of what it can see of itself tells, without a system call of our own.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(Path::new("/proc/self")).is_ok_and(|metadata| metadata.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_what_was_typed() {
        assert_eq!(Options::parse(&[]).unwrap(), Options::default());
        let both = Options { extent: Extent::Quick, on_failure: OnFailure::Continue };
        assert_eq!(Options::parse(&["--keep-going", "--quick"]).unwrap(), both);
        assert!(Options::parse(&["--quik"]).is_err());
    }
}
