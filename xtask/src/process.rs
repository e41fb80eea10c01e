//! The one place in this program that starts another.
//!
//! The tools of a build need the environment of the person who builds (toolchain, proxies, caches), so here
//! it is inherited, unlike in the product. A test that runs as somebody else starts from nothing.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::{Done, Failure};

/// A tool of the build, not yet started.
#[derive(Debug)]
pub struct Tool {
    command: Command,
    shown: String,
}

/// What a tool that was watched printed, and whether it was content.
#[derive(Debug)]
pub struct Ended {
    pub content: bool,
    pub printed: String,
}

impl Tool {
    #[expect(clippy::disallowed_methods, reason = "this program's one way to start a process")]
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let program = program.as_ref();
        let shown = Path::new(program).file_name().unwrap_or(program).to_string_lossy().into_owned();
        let mut command = Command::new(program);
        command.stdin(Stdio::null());
        Self { command, shown }
    }

    /// The cargo that runs this program.
    pub fn cargo() -> Self {
        let mut tool = Self::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        tool.shown = "cargo".to_owned();
        tool
    }

    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.shown.push(' ');
        self.shown.push_str(&argument.as_ref().to_string_lossy());
        self.command.arg(argument);
        self
    }

    #[must_use]
    pub fn args<S: AsRef<OsStr>>(self, arguments: impl IntoIterator<Item = S>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    #[must_use]
    pub fn empty_environment(mut self) -> Self {
        self.command.env_clear();
        self
    }

    #[must_use]
    pub fn within(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// Another user, without any further group: the standard library empties the list when it sets the user.
    #[must_use]
    pub fn user(mut self, id: u32) -> Self {
        self.command.uid(id).gid(id);
        self
    }

    /// Runs it in front of the person.
    pub fn run(mut self) -> Done {
        let status = self.command.status().map_err(|error| self.not_started(&error))?;
        if status.success() {
            return Ok(());
        }
        Err(Failure::new(format!("`{}` ended with {status}", self.shown)))
    }

    /// Runs it and gives what it printed on standard output; its complaints are shown as they come.
    pub fn output(mut self) -> Result<String, Failure> {
        self.command.stderr(Stdio::inherit());
        let output = self.command.output().map_err(|error| self.not_started(&error))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(Failure::new(format!("`{}` ended with {}", self.shown, output.status)))
    }

    /// Runs it and keeps everything it prints back.
    pub fn watch(mut self) -> Result<Ended, Failure> {
        let output = self.command.output().map_err(|error| self.not_started(&error))?;
        let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
        printed.push_str(&String::from_utf8_lossy(&output.stderr));
        Ok(Ended { content: output.status.success(), printed })
    }

    /// Whether it is there and content.
    pub fn succeeds(self) -> bool {
        self.watch().is_ok_and(|ended| ended.content)
    }

    fn not_started(&self, error: &std::io::Error) -> Failure {
        Failure::new(format!("`{}` cannot be started: {error}", self.shown))
    }
}
