//! Programs that are measured, or measured against: the one place where benchmarks start a process.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program that is about to be called.
pub type Call = Command;

/// A program with nothing in its environment but a path, and its output thrown away.
#[expect(clippy::disallowed_methods, reason = "the benchmarks' one way to start a process")]
pub fn command(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// In a group of its own, which can be ended as a whole.
pub fn in_its_own_group(command: &mut Command) -> &mut Command {
    std::os::unix::process::CommandExt::process_group(command, 0)
}

/// Runs it to its end, which is expected to be a good one: a program that fails at once would win every race.
pub fn finish(command: &mut Command) {
    let status = command.status().expect("a program that was found starts");
    assert!(status.success(), "{command:?} ended with {status}");
}

/// The program, installed: a copy of the built one, which lies beside this one. A linker writes page by page, and so the
/// file lies in memory; every start from there takes the launcher about a third more than from a file that was written
/// in one go, as all installed programs were that it is measured against.
pub fn cofferdam() -> Option<PathBuf> {
    let built = std::env::current_exe().ok()?.with_file_name("cofferdam");
    let place = built.with_file_name("installed");
    std::fs::create_dir_all(&place).ok()?;
    // Another benchmark may be using the one that is there.
    let (copy, installed) = (place.join(std::process::id().to_string()), place.join("cofferdam"));
    std::fs::copy(&built, &copy).ok()?;
    std::fs::rename(&copy, &installed).ok()?;
    Some(installed)
}

/// A program of the system.
pub fn on_path(name: &str) -> Option<PathBuf> {
    ["/usr/local/bin", "/usr/bin", "/bin"]
        .iter()
        .map(|place| Path::new(place).join(name))
        .find(|path| path.is_file())
}
