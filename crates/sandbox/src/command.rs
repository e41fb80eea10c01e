//! One command in a sandbox, from the descriptors it was given to the program it becomes.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use cofferdam_linux_sys::clone;
use cofferdam_linux_sys::exec::{self, Image};
use cofferdam_linux_sys::{large_requests, privileges, signals};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::process::{Resource, Rlimit};
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;

use crate::approved_files::{self, ApprovedFile};
use crate::channel::{self, Channel};
use crate::messages::{NotStarted, Window};
use crate::met_limits;
use crate::nearness::Everywhere;
use crate::pid_one::Walls;
use crate::plan::Limits;
use crate::stages::Confined;
use crate::trees::Mark;

#[derive(Debug)]
pub struct Command {
    pub directory: PathBuf,
    pub terminal: Option<Window>,
    pub limits: Limits,
    /// What all that it starts is known by.
    pub mark: Mark,
    /// What is looked at once more.
    pub approved: Vec<ApprovedFile>,
    /// Where it may run.
    pub everywhere: Everywhere,
    /// What the command will have as 0, 1, 2 and on; before them its image, if that came in a file.
    pub descriptors: Vec<OwnedFd>,
}

#[derive(Debug)]
pub struct Started {
    pub pid: i32,
    /// The controlling side of the command's terminal.
    pub terminal: Option<OwnedFd>,
    /// Where its large requests for memory are heard of, if its memory is limited.
    pub requests: Option<OwnedFd>,
}

/// Starts the command and waits until it runs or has failed to. Without bytes the image is in a file.
pub fn start(walls: &Walls, mut command: Command, mut image: Vec<u8>) -> Result<Started, NotStarted> {
    let other = |error: io::Error| NotStarted::Other(error.raw_os_error().unwrap_or(0));
    if image.is_empty() {
        if command.descriptors.is_empty() {
            return Err(NotStarted::Other(0));
        }
        image = channel::read_memory_file(command.descriptors.remove(0)).map_err(other)?;
    }
    let mut image = Image::from_bytes(&image).map_err(other)?;
    if let Walls::Alone(alone) = walls {
        image.point("TMPDIR", alone.scratch.path()).map_err(other)?;
    }
    let terminal = command.terminal.map(open_terminal).transpose().map_err(other)?;
    let (hear, tell) = command.limits.memory.map(|_| Channel::pair()).transpose().map_err(other)?.unzip();
    let mut why = None;
    let pid = clone::start_sharing(&mut || {
        why = Some(prepare_program(walls, &command, &image, (terminal.as_ref(), tell.as_ref())));
    });
    let pid = pid.map_err(other)?;
    // From here on the command alone could have said something.
    drop(tell);
    match why {
        None => {
            let requests = hear.and_then(|hear| hear.receive::<()>().ok()??.1.pop());
            Ok(Started { pid, terminal: terminal.map(|terminal| terminal.controller), requests })
        }
        Some(why) => Err(why),
    }
}

struct Terminal {
    controller: OwnedFd,
    name: CString,
}

/// A terminal of the sandbox's own: the host's is never handed in.
fn open_terminal(window: Window) -> io::Result<Terminal> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let controller = rustix::pty::openpt(flags)?;
    rustix::pty::unlockpt(&controller)?;
    let name = rustix::pty::ptsname(&controller, Vec::new())?;
    let size = Winsize { ws_row: window.rows, ws_col: window.columns, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&controller, size)?;
    Ok(Terminal { controller, name })
}

/// The last steps, in the process that will be the program. Returns only if one of them failed.
fn prepare_program(
    walls: &Walls,
    command: &Command,
    image: &Image,
    (terminal, tell): (Option<&Terminal>, Option<&Channel>),
) -> NotStarted {
    if let Err(error) = prepare(command, terminal) {
        return NotStarted::Other(error.raw_os_error().unwrap_or(0));
    }
    if let Err(error) = rustix::process::chdir(&command.directory) {
        return NotStarted::Directory(error.raw_os_error());
    }
    match walls {
        Walls::Namespaces(confined) => run(confined, command, image, tell),
        Walls::Alone(alone) => match alone.confine() {
            Ok((confined, _)) => run(&confined, command, image, tell),
            Err(problem) => NotStarted::Other(problem.errno.unwrap_or(0)),
        },
    }
}

fn prepare(command: &Command, terminal: Option<&Terminal>) -> io::Result<()> {
    // A session of its own: no terminal of the launcher is this command's, and a signal reaches all of its group.
    rustix::process::setsid()?;
    let slave;
    let streams: Vec<BorrowedFd<'_>> = match terminal {
        None => command.descriptors.iter().map(AsFd::as_fd).collect(),
        Some(terminal) => {
            slave = rustix::fs::openat(CWD, &terminal.name, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
            rustix::process::ioctl_tiocsctty(&slave)?;
            vec![slave.as_fd(); 3]
        }
    };
    place(&streams)?;
    limit(command.limits)?;
    command.mark.put_on_this_process()?;
    command.everywhere.spread_out();
    rustix::process::umask(Mode::from_raw_mode(0o022));
    signals::unblock()
}

/// Puts the descriptors at 0, 1, 2 and on, and lets every other one close when the program starts.
fn place(streams: &[BorrowedFd<'_>]) -> io::Result<()> {
    let first_free = u32::try_from(streams.len()).map_err(io::Error::other)?;
    // First above everything, so that no number is overwritten before it has been copied. Where they are above all of
    // these numbers already, there is nothing to overwrite.
    let is_above = |stream: &BorrowedFd<'_>| stream.as_raw_fd().cast_unsigned() >= first_free;
    let above: Vec<OwnedFd> = if streams.iter().all(is_above) {
        Vec::new()
    } else {
        streams.iter().map(|stream| rustix::io::fcntl_dupfd_cloexec(stream, 64)).collect::<Result<_, _>>()?
    };
    let apart = if above.is_empty() { streams.to_vec() } else { above.iter().map(AsFd::as_fd).collect() };
    for (number, stream) in (0..).zip(&apart) {
        cofferdam_linux_sys::descriptors::place(*stream, number)?;
        debug_assert_ne!(stream.as_raw_fd(), number);
    }
    privileges::close_on_exec_from(first_free.max(3))
}

fn limit(limits: Limits) -> io::Result<()> {
    lower(Resource::Data, limits.memory, 0)?;
    lower(Resource::Nproc, limits.processes, 0)?;
    // The signal that names the cause comes at the first limit, the one that nobody survives a second later.
    lower(Resource::Cpu, limits.cpu_seconds, 1)?;
    lower(Resource::Fsize, limits.file_size, 0)?;
    lower(Resource::Nofile, limits.open_files, 0)
}

/// Lowers a limit, which no process below can raise again by more than `slack`.
fn lower(resource: Resource, value: Option<u64>, slack: u64) -> io::Result<()> {
    let Some(value) = value else { return Ok(()) };
    let most = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit =
        Rlimit { current: Some(value.min(most)), maximum: Some(value.saturating_add(slack).min(most)) };
    Ok(rustix::process::setrlimit(resource, limit)?)
}

/// Looks the program up as a shell would, in the sandbox's own tree, and becomes it, if everything that it runs is what
/// was approved.
fn run(_: &Confined, command: &Command, image: &Image, tell: Option<&Channel>) -> NotStarted {
    let Some(program) = image.program() else { return NotStarted::NotFound };
    let path = approved_files::named(&command.directory, Path::new(OsStr::from_bytes(program.to_bytes())));
    let opened = match approved_files::look_again(&command.approved, &path) {
        Ok(opened) => opened,
        Err(why) => return why,
    };
    if let (Some(memory), Some(tell)) = (command.limits.memory, tell) {
        have_requests_heard(memory, tell);
    }
    if program.to_bytes().contains(&b'/') {
        return reason(&match opened {
            Some(file) => exec::exec_opened(file.as_fd(), image),
            None => exec::exec(program, image),
        });
    }
    let path = image.variable("PATH").unwrap_or(b"/usr/local/bin:/usr/bin:/bin");
    let mut worst = NotStarted::NotFound;
    for directory in path.split(|&byte| byte == b':').filter(|directory| directory.starts_with(b"/")) {
        let Ok(candidate) = CString::new([directory, b"/", program.to_bytes()].concat()) else { continue };
        match reason(&exec::exec(&candidate, image)) {
            NotStarted::NotFound => {}
            other => worst = other,
        }
    }
    worst
}

/// Without it the limit holds as well; a kernel that cannot do it only leaves open whether it was met.
fn have_requests_heard(memory: u64, tell: &Channel) {
    if let Ok(requests) = large_requests::watch(met_limits::large(memory)) {
        let _ = tell.send(&(), &[requests.as_fd()]);
    }
}

fn reason(error: &io::Error) -> NotStarted {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => NotStarted::NotFound,
        _ => NotStarted::NotExecutable(error.raw_os_error().unwrap_or(0)),
    }
}
