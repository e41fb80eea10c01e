//! One command in a sandbox, from the descriptors it was given to the program it becomes.

use std::ffi::CString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use cofferdam_linux_sys::clone::{self, Forked};
use cofferdam_linux_sys::exec::{self, Image};
use cofferdam_linux_sys::{privileges, signals};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::process::{Resource, Rlimit};
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;

use crate::channel;
use crate::messages::{NotStarted, Window};
use crate::plan::Limits;
use crate::stages::Confined;

#[derive(Debug)]
pub struct Command {
    pub directory: PathBuf,
    pub terminal: Option<Window>,
    pub limits: Limits,
    /// The image, then what the command will have as 0, 1, 2 and on.
    pub descriptors: Vec<OwnedFd>,
}

#[derive(Debug)]
pub struct Started {
    pub pid: i32,
    /// The controlling side of the command's terminal.
    pub terminal: Option<OwnedFd>,
}

/// Starts the command and waits until it runs or has failed to.
pub fn start(confined: &Confined, mut command: Command) -> Result<Started, NotStarted> {
    let other = |error: io::Error| NotStarted::Other(error.raw_os_error().unwrap_or(0));
    if command.descriptors.is_empty() {
        return Err(NotStarted::Other(0));
    }
    let image =
        channel::read_memory_file(command.descriptors.remove(0)).and_then(|bytes| Image::from_bytes(&bytes));
    let image = image.map_err(other)?;
    let terminal = command.terminal.map(open_terminal).transpose().map_err(other)?;
    let (news, to_news) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|e| other(e.into()))?;
    match clone::fork().map_err(other)? {
        Forked::Child => {
            let why = become_program(confined, &command, &image, terminal.as_ref());
            // Nobody is left to tell if this fails; the status says that something went wrong.
            let _ = std::fs::File::from(to_news).write_all(&encode(why));
            std::process::exit(127)
        }
        Forked::Parent { child } => {
            drop(to_news);
            let mut why = Vec::new();
            std::fs::File::from(news).read_to_end(&mut why).map_err(other)?;
            match decode(&why) {
                None => Ok(Started { pid: child, terminal: terminal.map(|terminal| terminal.controller) }),
                Some(why) => Err(why),
            }
        }
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
fn become_program(_: &Confined, command: &Command, image: &Image, terminal: Option<&Terminal>) -> NotStarted {
    if let Err(error) = prepare(command, terminal) {
        return NotStarted::Other(error.raw_os_error().unwrap_or(0));
    }
    if let Err(error) = rustix::process::chdir(&command.directory) {
        return NotStarted::Directory(error.raw_os_error());
    }
    run(image)
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
    rustix::process::umask(Mode::from_raw_mode(0o022));
    signals::reset()
}

/// Puts the descriptors at 0, 1, 2 and on, and lets every other one close when the program starts.
fn place(streams: &[BorrowedFd<'_>]) -> io::Result<()> {
    let first_free = u32::try_from(streams.len()).map_err(io::Error::other)?;
    // First above everything, so that no number is overwritten before it has been copied.
    let above: Vec<OwnedFd> =
        streams.iter().map(|stream| rustix::io::fcntl_dupfd_cloexec(stream, 64)).collect::<Result<_, _>>()?;
    for (number, stream) in (0..).zip(&above) {
        cofferdam_linux_sys::descriptors::place(stream.as_fd(), number)?;
        debug_assert_ne!(stream.as_raw_fd(), number);
    }
    privileges::close_on_exec_from(first_free.max(3))
}

fn limit(limits: Limits) -> io::Result<()> {
    let set = |resource, value: Option<u64>| match value {
        None => Ok(()),
        Some(value) => {
            let maximum =
                rustix::process::getrlimit(resource).maximum.map_or(value, |maximum| maximum.min(value));
            let limit = Rlimit { current: Some(maximum), maximum: Some(maximum) };
            rustix::process::setrlimit(resource, limit).map_err(io::Error::from)
        }
    };
    set(Resource::Data, limits.memory)?;
    set(Resource::Nproc, limits.processes)?;
    set(Resource::Cpu, limits.cpu_seconds)?;
    set(Resource::Fsize, limits.file_size)?;
    set(Resource::Nofile, limits.open_files)
}

/// Looks the program up as a shell would, in the sandbox's own tree, and becomes it.
fn run(image: &Image) -> NotStarted {
    let Some(program) = image.program() else { return NotStarted::NotFound };
    if program.to_bytes().contains(&b'/') {
        return reason(&exec::exec(program, image));
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

fn reason(error: &io::Error) -> NotStarted {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => NotStarted::NotFound,
        _ => NotStarted::NotExecutable(error.raw_os_error().unwrap_or(0)),
    }
}

fn encode(why: NotStarted) -> [u8; 5] {
    let (kind, errno) = match why {
        NotStarted::NotFound => (0, 0),
        NotStarted::NotExecutable(errno) => (1, errno),
        NotStarted::Directory(errno) => (2, errno),
        NotStarted::Other(errno) => (3, errno),
    };
    let [a, b, c, d] = errno.to_ne_bytes();
    [kind, a, b, c, d]
}

/// Nothing was written when the program has started: the pipe closed with it.
fn decode(bytes: &[u8]) -> Option<NotStarted> {
    let &[kind, a, b, c, d] = bytes else { return None };
    let errno = i32::from_ne_bytes([a, b, c, d]);
    Some(match kind {
        0 => NotStarted::NotFound,
        1 => NotStarted::NotExecutable(errno),
        2 => NotStarted::Directory(errno),
        _ => NotStarted::Other(errno),
    })
}
