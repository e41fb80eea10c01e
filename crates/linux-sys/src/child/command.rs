//! What to run, and how it is started.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use cofferdam_policy::environment::ChildEnvironment;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getpid, getppid, set_parent_process_death_signal, setrlimit, setsid,
};
use rustix::thread::set_no_new_privs;
use zeroize::Zeroizing;

use super::{ChildError, Program, Running};

/// Where standard input comes from. No `Debug`: the bytes may be secret.
#[derive(Default)]
pub enum Input {
    #[default]
    Nothing,
    /// The launcher's own.
    Inherited,
    /// A pipe that the caller writes to; with [`super::run_captured`], nothing.
    Pipe,
    /// One end of a connection.
    Connection(OwnedFd),
    /// These bytes; only [`super::run_captured`] writes them, and they are wiped afterwards.
    Bytes(Zeroizing<Vec<u8>>),
}

/// Where an output stream goes. [`super::run_captured`] decides this by its limits instead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Output {
    #[default]
    Nowhere,
    /// Where the launcher's own goes.
    Inherited,
    /// A pipe that the caller reads.
    Pipe,
}

/// How long a child may live.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lifetime {
    /// It is killed when the *thread* that started it ends, whatever ends it, and when its [`Running`] is
    /// dropped.
    #[default]
    Bound,
    /// It outlives the launcher: a daemon. A launcher that stays and does not [`Running::wait`] for it keeps
    /// its entry in the process table when it ends.
    Detached,
}

/// A command that has not been started. There is no `Debug`, because its environment has none.
pub struct ChildCommand<'a> {
    pub(super) program: Program,
    called: Option<OsString>,
    arguments: Vec<OsString>,
    environment: &'a ChildEnvironment,
    directory: PathBuf,
    pub(super) input: Input,
    pub(super) stdout: Output,
    pub(super) stderr: Output,
    lifetime: Lifetime,
}

impl<'a> ChildCommand<'a> {
    /// Without further words the child runs in `/`, reads nothing and prints nowhere. Not in the current
    /// directory: that is usually the workspace, and interpreters load code from where they stand.
    pub fn new(program: Program, environment: &'a ChildEnvironment) -> Self {
        Self {
            program,
            called: None,
            arguments: Vec::new(),
            environment,
            directory: PathBuf::from("/"),
            input: Input::default(),
            stdout: Output::default(),
            stderr: Output::default(),
            lifetime: Lifetime::default(),
        }
    }

    /// What it is called in a list of processes, if not by its path.
    #[must_use]
    pub fn called(mut self, name: impl Into<OsString>) -> Self {
        self.called = Some(name.into());
        self
    }

    #[must_use]
    pub fn args<S: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = directory.into();
        self
    }

    #[must_use]
    pub fn input(mut self, input: Input) -> Self {
        self.input = input;
        self
    }

    #[must_use]
    pub fn stdout(mut self, output: Output) -> Self {
        self.stdout = output;
        self
    }

    #[must_use]
    pub fn stderr(mut self, output: Output) -> Self {
        self.stderr = output;
        self
    }

    #[must_use]
    pub fn lifetime(mut self, lifetime: Lifetime) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Starts the child with every restriction in force before its first instruction.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that starts processes")]
    pub fn spawn(self) -> Result<Running, ChildError> {
        let program = self.program.resolve(self.environment)?;
        let mut command = Command::new(&program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(self.environment.iter())
            .current_dir(&self.directory)
            .stdin(match self.input {
                Input::Nothing => Stdio::null(),
                Input::Inherited => Stdio::inherit(),
                Input::Connection(end) => Stdio::from(end),
                Input::Pipe | Input::Bytes(_) => Stdio::piped(),
            })
            .stdout(self.stdout.stdio())
            .stderr(self.stderr.stdio());
        if let Some(name) = &self.called {
            command.arg0(name);
        }
        restrict_before_exec(&mut command, self.lifetime);
        match command.spawn() {
            Ok(child) => Running::new(child, program, self.lifetime),
            Err(cause) => Err(start_error(program, cause)),
        }
    }
}

impl Output {
    fn stdio(self) -> Stdio {
        match self {
            Self::Nowhere => Stdio::null(),
            Self::Inherited => Stdio::inherit(),
            Self::Pipe => Stdio::piped(),
        }
    }
}

fn start_error(program: PathBuf, cause: io::Error) -> ChildError {
    match cause.raw_os_error() {
        // The file was there a moment ago: it vanished, or its interpreter or the directory is missing.
        Some(libc::ENOENT) => ChildError::NotFound { program },
        Some(libc::EACCES | libc::ENOEXEC | libc::EISDIR) => ChildError::NotExecutable { program },
        _ => ChildError::NotStarted { program, cause },
    }
}

#[expect(unsafe_code, reason = "code between fork and exec is unsafe by nature")]
fn restrict_before_exec(command: &mut Command, lifetime: Lifetime) {
    let launcher = getpid();
    // SAFETY: the closure runs in the forked copy of a process that may have other threads, so it may do
    // only what is async-signal-safe. `restrict` makes plain system calls: it takes no lock, allocates
    // nothing, and its errors are numbers.
    unsafe { command.pre_exec(move || restrict(launcher, lifetime)) };
}

/// The steps between fork and exec, in this order. One that fails ends the child before it has run.
fn restrict(launcher: Pid, lifetime: Lifetime) -> io::Result<()> {
    // A session and a group of its own: no controlling terminal to read from or type into, and one number
    // that names everything the child starts.
    setsid()?;
    if lifetime == Lifetime::Bound {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The launcher may have died before the line above; then nobody would send the signal.
        if getppid() != Some(launcher) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
    }
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    set_no_new_privs(true)?;
    close_on_exec_from(3)
}

/// Marks, not closes: the descriptor on which the standard library reports a failed `execve` is among them,
/// and must work until then.
#[expect(unsafe_code, reason = "close_range has no safe wrapper")]
fn close_on_exec_from(first: libc::c_uint) -> io::Result<()> {
    // SAFETY: with CLOSE_RANGE_CLOEXEC the call closes nothing now, so no owner of a descriptor can notice;
    // the program about to be executed knows of none of them. The arguments are plain numbers.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
