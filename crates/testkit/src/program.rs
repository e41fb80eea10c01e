//! Programs that are put somewhere to be run from there.

use std::path::Path;
use std::process::Command;

/// A copy that can be run at once. Another process writes it: one that another thread of this process starts in the
/// meantime would hold the file open for writing for a moment, and the kernel runs no such file.
///
/// # Panics
///
/// When there can be no copy.
#[expect(clippy::disallowed_methods, reason = "the tests' way to start a program of the machine")]
pub fn copy_program(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("--").arg(from).arg(to).status();
    assert!(copied.expect("cp runs").success(), "no copy of {} at {}", from.display(), to.display());
}
