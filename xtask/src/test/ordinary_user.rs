//! The tests once more, as an ordinary user.
//!
//! Root passes checks that nobody else passes, so a promise about modes and owners that only root tested is
//! not tested. The binaries are built already; they are run here the way cargo runs them, with nothing of the
//! builder's environment. The toolchain may be out of that user's reach, so what needs it is left out.

use std::os::unix::fs::chown;
use std::path::Path;

use super::tree::{NOBODY, Tree};
use crate::built::{Built, build};
use crate::failure::{Done, Failure};
use crate::process::Tool;
use crate::scratch::Scratch;

/// Packages whose tests start cargo.
const NEED_THE_TOOLCHAIN: &[&str] = &["xtask"];

pub fn run(tree: &Tree<'_>) -> Done {
    if !Tool::new("true").user(NOBODY).succeeds() {
        return Err(Failure::new("this machine does not let root become another user (uid 65534)")
            .hint("run `cargo xtask test` as an ordinary user as well, and this with --keep-going"));
    }
    let home = Scratch::new(Path::new("/tmp"), 0o700)?;
    chown(home.path(), Some(NOBODY), Some(NOBODY)).map_err(|error| Failure::at(home.path(), error))?;
    let built = build(tree.cargo().args(["test", "--workspace", "--all-features", "--locked", "--no-run"]))?;
    let tests = built.iter().filter(|built| built.is_test && !needs_the_toolchain(built));
    let mut failed = Vec::new();
    for test in tests {
        if !passes(test, home.path())? {
            failed.push(test.name.clone());
        }
    }
    crate::failure::none_of(failed, "tests fail as an ordinary user")
}

fn needs_the_toolchain(built: &Built) -> bool {
    built.directory.file_name().is_some_and(|name| NEED_THE_TOOLCHAIN.iter().any(|package| name == *package))
}

fn passes(test: &Built, home: &Path) -> Result<bool, Failure> {
    let ended = Tool::new(&test.executable)
        .empty_environment()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", home)
        .env("TMPDIR", home)
        .env("USER", "nobody")
        .env("CARGO_MANIFEST_DIR", &test.directory)
        .within(&test.directory)
        .user(NOBODY)
        .watch()?;
    if !ended.content {
        println!("{}", ended.printed);
    }
    let result = ended.printed.lines().find_map(|line| line.strip_prefix("test result: "));
    println!("{}: {}", test.name, result.unwrap_or("ended without a result"));
    Ok(ended.content)
}
