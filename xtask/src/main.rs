//! `cargo xtask`: everything that is done to the project rather than by it.
//!
//! It stands on the standard library and two parsers, so that it is there seconds after a fresh clone. One
//! file per task; what a task starts, it starts through [`process`].

mod bench;
mod built;
mod check_instructions;
mod check_layers;
mod check_licences;
mod check_promises;
mod check_spawns;
mod failure;
mod fuzz;
mod install;
mod licence;
mod metadata;
mod order_start;
mod process;
mod promises;
mod root;
mod rust_text;
mod scratch;
mod soak;
mod test;

use std::process::ExitCode;

use failure::{Done, Failure};
use root::Root;

const USAGE: &str = "\
cargo xtask TASK

  test [--quick] [--keep-going]   everything a change must pass; --quick leaves the slow steps out
  check-layers                    no dependency points up or sideways
  check-spawns                    processes are started in one place
  check-promises [--write]        docs/promises.md tells the truth; --write fills in its tests
  check-licences                  licences and sources of all dependencies
  check-instructions              the hot paths take no more instructions than written down
    --accept PATH WHY             write a higher number down, with the reason
  bench [NAME…]                   speed, side by side, as tables and as a picture (.cache/bench/report.svg)
    [--quick] [--json] [--plot FILE]
  install [DIRECTORY]             the release build, put where programs are looked for (default ~/.local/bin)
  order-start                     traces a start of the release build, and writes down what is linked together for it
  soak [--minutes N]              the daemon under load while everything goes wrong (default 10)
  fuzz [TARGET] [--seconds N]     every fuzz target, or one, for N seconds each (default 3)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report();
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Done {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Some((&task, rest)) = words.split_first() else {
        return Err(Failure::new("no task named").hint(USAGE.trim_end()));
    };
    let root = Root::find()?;
    match (task, rest) {
        ("test", options) => test::run(&root, &test::Options::parse(options)?),
        ("check-layers", []) => check_layers::run(&root),
        ("check-spawns", []) => check_spawns::run(&root),
        ("check-promises", []) => check_promises::run(&root),
        ("check-promises", ["--write"]) => check_promises::write(&root),
        ("check-licences", []) => check_licences::run(&root),
        ("check-instructions", options) => {
            check_instructions::run(&root, &check_instructions::Wish::parse(options)?)
        }
        ("bench", options) => bench::run(&root, options),
        ("install", []) => install::run(&root, None),
        ("install", [directory]) if !directory.starts_with('-') => install::run(&root, Some(directory)),
        ("order-start", []) => order_start::run(&root),
        ("soak", options) => soak::run(&root, &soak::Options::parse(options)?),
        ("fuzz", options) => fuzz::run(&root, &fuzz::Options::parse(options)?),
        ("help" | "--help" | "-h", []) => {
            print!("{USAGE}");
            Ok(())
        }
        _ => Err(Failure::new(format!("no such task: {}", words.join(" "))).hint(USAGE.trim_end())),
    }
}
