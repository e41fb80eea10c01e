//! `check-instructions`: the hot paths take no more instructions than `bench/instructions.toml` says.
//!
//! Times differ from one minute to the next; counts of instructions do not. A path is run twice, the second time with
//! twice as many turns, and the difference is what the turns alone took. A number may only rise together with a reason,
//! which stays in the file.

mod baseline;

use crate::bench;
use crate::failure::{Done, Failure, none_of};
use crate::process::Tool;
use crate::root::Root;

use baseline::{Baseline, Path};

const FILE: &str = "bench/instructions.toml";

#[derive(Debug, PartialEq, Eq)]
pub enum Wish {
    Check,
    Accept { path: String, because: String },
}

impl Wish {
    pub fn parse(arguments: &[&str]) -> Result<Self, Failure> {
        match arguments {
            [] => Ok(Self::Check),
            ["--accept", path, because] if !because.trim().is_empty() => {
                Ok(Self::Accept { path: (*path).to_owned(), because: (*because).to_owned() })
            }
            _ => Err(Failure::new("check-instructions does not know this")
                .hint("check-instructions [--accept PATH \"why it takes more now\"]")),
        }
    }
}

pub fn run(root: &Root, wish: &Wish) -> Done {
    if !Tool::new("valgrind").arg("--version").succeeds() {
        return Err(Failure::new("valgrind is not installed").hint("sudo apt-get install valgrind"));
    }
    let mut baseline = Baseline::read(&root.join(FILE))?;
    let program = bench::program(root, "instructions", &["cofferdam-bench"])?.executable;
    match wish {
        Wish::Check => {
            let mut findings = Vec::new();
            for path in &baseline.paths {
                let counted = count(&program, path)?;
                let allowed = path.allowed().map_or("none".to_owned(), |allowed| allowed.to_string());
                println!("{:<14}{counted:>9} instructions, {allowed} written down", path.name);
                findings.extend(path.judge(counted));
            }
            none_of(findings, "hot paths take more instructions than before").map_err(|failure| {
                failure
                    .hint("make it cheaper, or say why: cargo xtask check-instructions --accept PATH \"why\"")
            })
        }
        Wish::Accept { path, because } => {
            let path = baseline.path_mut(path)?;
            let counted = count(&program, path)?;
            path.accept(counted, because);
            baseline.write(&root.join(FILE))
        }
    }
}

/// Instructions for one turn.
fn count(program: &std::path::Path, path: &Path) -> Result<u64, Failure> {
    let once = collected(program, &path.name, path.turns)?;
    let twice = collected(program, &path.name, 2 * path.turns)?;
    Ok(twice.saturating_sub(once) / path.turns)
}

fn collected(program: &std::path::Path, name: &str, turns: u64) -> Result<u64, Failure> {
    let valgrind = Tool::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["--count", name, &turns.to_string()])
        .watch()?;
    let collected = valgrind.printed.lines().find_map(|line| line.split("Collected :").nth(1));
    let collected = collected.filter(|_| valgrind.content).and_then(|number| number.trim().parse().ok());
    collected
        .ok_or_else(|| Failure::new(format!("{name} could not be counted")).findings(vec![valgrind.printed]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_asked_for() {
        assert_eq!(Wish::parse(&[]).unwrap(), Wish::Check);
        assert!(Wish::parse(&["--accept", "gate", "a second parser"]).is_ok());
        assert!(Wish::parse(&["--accept", "gate", " "]).is_err());
        assert!(Wish::parse(&["--accept", "gate"]).is_err());
    }
}
