//! The process that holds a session: it has the sandbox, starts commands in it for whoever connects, and ends with
//! it. It was started with an empty environment, so it has nothing of the person's but the plan; when it dies,
//! however, the first process of the sandbox sees it and ends everything.

mod exported;
mod gate;
mod log;
mod process;
mod serve;
mod shell;
mod told;

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use cofferdam_control::connection::Connection;
use cofferdam_control::place::Listener;
use cofferdam_linux_sys::exec::Image;
use cofferdam_linux_sys::signals::Signals;
use cofferdam_sandbox::approved_files;
use cofferdam_sandbox::channel::{self, Channel};
use cofferdam_sandbox::launch::{self, News};
use cofferdam_sandbox::report::Report;

use super::place::Sessions;
use super::protocol::{Born, Setup};
use crate::commands::run::publish::Published;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::outlet::line::Line;
use serve::{Doors, Keeper};
use shell::Left;
use told::Told;

/// The keeper ends on these, and the session with it.
const ENDING: [i32; 4] = [1, 2, 3, 15];

/// Holds a session until it ends. Standard input is the connection to the one who wants it.
pub fn keep() -> Result<Exit, Failure> {
    let lost = |error: io::Error| Failure::new(Exit::NotStarted, format!("no session: {error}"));
    let parent = Channel::from_connected(io::stdin().as_fd().try_clone_to_owned().map_err(lost)?);
    match prepare(&parent) {
        Err(born) => match parent.send(&born, &[]) {
            Ok(()) => Ok(Exit::NotStarted),
            Err(_) => Err(Failure::new(Exit::Usage, "this command is started by `cofferdam session new`")),
        },
        Ok((mut keeper, signals, report)) => {
            parent.send(&Born::Ready(report), &[]).map_err(lost)?;
            drop(parent);
            leave_standard_input().map_err(lost)?;
            keeper.serve(&signals).map_err(lost)?;
            Ok(Exit::Success)
        }
    }
}

fn prepare(parent: &Channel) -> Result<(Keeper, Signals, Report), Born> {
    // Before the plan and the environment have come: the sandbox begins as a copy of this process.
    let prepared = launch::prepare().map_err(|error| no_socket(&error))?;
    let Handed { mut setup, first, published, line } = receive(parent).map_err(|error| no_socket(&error))?;
    let (mut sandbox, report) = prepared.build(&setup.plan).map_err(Born::NotBuilt)?;
    // Before there is another thread, which would get the signals that are meant for this one.
    let signals = Signals::take_over(&ENDING).map_err(|error| no_socket(&error))?;
    approved_files::remember(&setup.plan);
    // Nothing was started yet, so nothing else can be told.
    let asked = sandbox.ask_for_namespaces().and_then(|()| sandbox.news());
    let namespaces = match asked.map_err(|error| no_socket(&error))? {
        (_, News::Namespaces(namespaces)) => namespaces,
        _ => Vec::new(),
    };
    let told = Told::new().map_err(|error| no_socket(&error))?;
    let way_back = setup.way_out.take().and_then(|way_out| way_out.way_back);
    let way_out = line.map(|connection| {
        let line = Line { connection, way_back };
        line.serve(sandbox.take_doors(), told.teller())
    });
    let way_out = way_out.transpose().map_err(|error| Born::NoWayOut(error.to_string()))?;
    let listener = listen(&setup).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => Born::NameTaken,
        _ => no_socket(&error),
    })?;
    let left = Left::new(setup.workspace.clone().into(), &first);
    let end = setup.lifetime.map(|lifetime| Instant::now() + lifetime);
    let doors = Doors { listener, published, way_out, namespaces, told };
    let mut keeper = Keeper::new(sandbox, doors, left, setup, end);
    keeper.missing = report.lacking().map(|layer| layer.name).collect();
    Ok((keeper, signals, report))
}

fn no_socket(error: &io::Error) -> Born {
    Born::NoSocket(error.to_string())
}

struct Handed {
    setup: Setup,
    first: Image,
    published: Published,
    line: Option<Connection>,
}

fn receive(parent: &Channel) -> io::Result<Handed> {
    let gone = || io::Error::other("the one who wanted the session is gone");
    let (setup, mut descriptors) = parent.receive::<Setup>()?.ok_or_else(gone)?;
    if descriptors.len() != 1 + setup.published.len() + usize::from(setup.way_out.is_some()) {
        return Err(gone());
    }
    let line = if setup.way_out.is_some() { descriptors.pop() } else { None };
    let line = line.map(|line| Connection::handed(Channel::from_connected(line)));
    let first = Image::from_bytes(&channel::read_memory_file(descriptors.remove(0))?)?;
    let published = Published::handed(setup.published.iter().copied().zip(descriptors));
    Ok(Handed { setup, first, published, line })
}

fn listen(setup: &Setup) -> io::Result<Listener> {
    Sessions::open(setup.sessions.as_path())?.listen(&setup.name)
}

fn leave_standard_input() -> io::Result<()> {
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdin(&null)?)
}

/// Waits for one of these, for at most this long.
fn wait(awaited: &[BorrowedFd<'_>], longest: Option<Duration>) -> io::Result<Vec<bool>> {
    use rustix::event::{PollFd, PollFlags, Timespec};
    let mut ready: Vec<PollFd<'_>> =
        awaited.iter().map(|descriptor| PollFd::from_borrowed_fd(*descriptor, PollFlags::IN)).collect();
    let longest = longest.map(|longest| Timespec {
        tv_sec: longest.as_secs() as i64,
        tv_nsec: i64::from(longest.subsec_nanos()),
    });
    match rustix::event::poll(&mut ready, longest.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(ready.iter().map(|ready| !ready.revents().is_empty()).collect())
}
