//! How the two processes of the daemon are made: always this very program, always with an environment that was built
//! by the rules, and with no descriptor but the standard streams and one connection.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use cofferdam_control::channel::Channel;
use cofferdam_linux_sys::clone;
use cofferdam_linux_sys::exec::{self, Image};
use cofferdam_linux_sys::{descriptors, privileges, signals};
use cofferdam_policy::environment::{
    self, ChildEnvironment, Fixed, HostEnvironment, ProviderVariables, Request, Trust,
};
use cofferdam_policy::registry::Registry;

/// What the daemon keeps of the environment it was started in: what programs that people keep passwords with need to
/// find their files, without a credential and without a proxy, into which it could run in circles. `RUST_LOG` says how
/// much it logs.
pub fn environment(registry: &Registry) -> ChildEnvironment {
    let host = HostEnvironment::new(std::env::vars_os());
    let log = std::env::var_os("RUST_LOG").and_then(|value| Fixed::new("RUST_LOG", value).ok());
    let fixed: Vec<Fixed> = log.into_iter().collect();
    let request = Request { fixed: &fixed, ..Request::plain(Trust::Tool) };
    environment::build(&host, &request, &ProviderVariables::new(registry)).environment
}

/// Starts a supervisor that is nobody's child.
pub fn start_supervisor(nonce: &str, environment: &ChildEnvironment, log: &File) -> io::Result<Channel> {
    let (ours, theirs) = Channel::pair()?;
    clone::start_detached(|| {
        // Whoever waits sees the connection end.
        let _ = become_this_program(
            &["cofferdam", "egress", "supervise", nonce],
            environment,
            &theirs,
            Some(log),
        );
    })?;
    Ok(ours)
}

/// Starts a proxy for one session, which is nobody's child and ends with the connection. The name is for people who
/// look at a list of processes.
pub fn start_apart(session: &str, environment: &ChildEnvironment) -> io::Result<Channel> {
    let (ours, theirs) = Channel::pair()?;
    clone::start_detached(|| {
        let silent = OpenOptions::new().write(true).open("/dev/null").ok();
        // Whoever waits sees the connection end.
        let arguments = ["cofferdam", "session", "way-out", session];
        let _ = become_this_program(&arguments, environment, &theirs, silent.as_ref());
    })?;
    Ok(ours)
}

/// Makes this process the supervisor; comes back only if that failed. What was sent to it waits in the connection.
pub fn become_supervisor(nonce: &str, environment: &ChildEnvironment, connection: &Channel) -> io::Error {
    let arguments = ["cofferdam", "egress", "supervise", nonce];
    match become_this_program(&arguments, environment, connection, None) {
        Ok(never) => match never {},
        Err(error) => error,
    }
}

/// A worker, held by a descriptor of it.
#[derive(Debug)]
pub struct WorkerProcess {
    pub pid: i32,
    pub process: OwnedFd,
    pub channel: Channel,
}

/// Starts a worker, which dies with this process.
pub fn start_worker(environment: &ChildEnvironment) -> io::Result<WorkerProcess> {
    let (ours, theirs) = Channel::pair()?;
    let (pid, process) = clone::start_bound(|| {
        // The supervisor sees the end of the process.
        let _ = become_this_program(&["cofferdam", "egress", "work"], environment, &theirs, None);
    })?;
    Ok(WorkerProcess { pid, process, channel: ours })
}

enum Never {}

fn become_this_program<A: AsRef<OsStr>>(
    arguments: &[A],
    environment: &ChildEnvironment,
    connection: &Channel,
    log: Option<&File>,
) -> io::Result<Never> {
    let image = Image::new(arguments, environment)?;
    rustix::process::chdir("/")?;
    signals::reset()?;
    let connection = connection.as_fd().try_clone_to_owned()?;
    if let Some(log) = log {
        let null = OpenOptions::new().write(true).open("/dev/null")?;
        let (log, null) = (log.try_clone()?, null);
        descriptors::place(null.as_fd(), 1)?;
        descriptors::place(log.as_fd(), 2)?;
    }
    descriptors::place(connection.as_fd(), 0)?;
    privileges::close_on_exec_from(3)?;
    Err(exec::exec(c"/proc/self/exe", &image))
}
