//! The built binary, run as a user runs it, in an environment that holds nothing else.

use std::ffi::OsStr;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::Home;

/// One call of the binary, not yet made.
#[derive(Debug)]
pub struct Cofferdam {
    command: Command,
    input: Vec<u8>,
}

impl Cofferdam {
    /// `binary` is `env!("CARGO_BIN_EXE_cofferdam")`, which only the tests of that package know.
    #[expect(clippy::disallowed_methods, reason = "the tests' one way to start a process")]
    pub fn new(binary: &str, home: &Home) -> Self {
        let mut command = Command::new(binary);
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", home.path())
            .env("COFFERDAM_HOME", home.path().join("cofferdam"))
            .current_dir(home.path());
        Self { command, input: Vec::new() }
    }

    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    #[must_use]
    pub fn env_remove(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    #[must_use]
    pub fn current_dir(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Starts the program and leaves it running, with its standard streams as pipes.
    pub fn spawn(mut self) -> Child {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.command.spawn().expect("the built binary starts")
    }

    /// Starts the program on a terminal of its own.
    pub fn on_terminal(self) -> crate::OnTerminal {
        crate::OnTerminal::start(&self.command)
    }

    /// The same with a descriptor as its standard input: a terminal, for one.
    pub fn spawn_reading(mut self, input: OwnedFd) -> Child {
        self.command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.command.spawn().expect("the built binary starts")
    }

    /// Runs the program to its end.
    pub fn run(mut self) -> Outcome {
        let input = std::mem::take(&mut self.input);
        let mut child = self.spawn();
        let mut stdin = child.stdin.take().expect("a pipe to standard input");
        let writer = std::thread::spawn(move || {
            // The program may end without reading all of it.
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().expect("the program ends");
        writer.join().expect("the writer of standard input");
        Outcome { output }
    }
}

/// What a finished run left behind.
#[derive(Debug)]
pub struct Outcome {
    output: Output,
}

impl Outcome {
    pub(crate) fn of(output: Output) -> Self {
        Self { output }
    }

    pub fn status(&self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        let status = self.output.status;
        status.code().unwrap_or_else(|| 128 + status.signal().expect("an exit code or a signal"))
    }

    pub fn stdout_bytes(&self) -> &[u8] {
        &self.output.stdout
    }

    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// Fails the test with everything that was printed unless the status is this one.
    #[track_caller]
    pub fn expect_status(self, status: i32) -> Self {
        assert_eq!(self.status(), status, "stdout:\n{}\nstderr:\n{}", self.stdout(), self.stderr());
        self
    }
}
