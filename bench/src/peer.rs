//! Programs that are measured, or measured against: the one place where benchmarks start a process.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

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

/// The built program, which lies beside this one, installed as `cargo xtask install` does it.
pub fn cofferdam() -> Option<PathBuf> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let installed = || {
        let built = std::env::current_exe().ok()?.with_file_name("cofferdam");
        let installed = built.with_file_name("installed").join("cofferdam");
        install(&built, &installed).ok().map(|()| installed)
    };
    INSTALLED.get_or_init(installed).clone()
}

/// A copy lies in the kernel's memory in larger pieces than what a linker wrote, and a start from it takes less. Made anew for
/// every benchmark, because what was not used for a while is read from the disk in small pieces again.
fn install(built: &Path, installed: &Path) -> std::io::Result<()> {
    let unfinished = installed.with_extension(std::process::id().to_string());
    if let Some(directory) = installed.parent() {
        std::fs::create_dir_all(directory)?;
    }
    std::fs::copy(built, &unfinished)?;
    std::fs::rename(&unfinished, installed)
}

/// A program of the system.
pub fn on_path(name: &str) -> Option<PathBuf> {
    ["/usr/local/bin", "/usr/bin", "/bin"]
        .iter()
        .map(|place| Path::new(place).join(name))
        .find(|path| path.is_file())
}
