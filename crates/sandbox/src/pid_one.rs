//! The first process of a sandbox: it starts commands, collects the dead, passes signals on, and ends everything
//! with itself. It holds nothing that a command could want.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, OwnedFd};

use cofferdam_linux_sys::footprint;
use cofferdam_linux_sys::signals::Signals;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{Pid, Signal, WaitOptions};

use crate::channel::Channel;
use crate::command;
use crate::messages::{Ended, FromSandbox, Last, Problem, ToSandbox};
use crate::plan::{Identity, Plan};
use crate::stages::{self, Confined};
use crate::sweep;
use crate::text::Text;
use crate::trees::{Reach, Trees};
use crate::without_namespaces::Alone;

const SIGCHLD: i32 = 17;
const SIGTERM: i32 = 15;

/// Runs as the first process until the launcher is gone or the first command has ended.
pub fn run(channel: &Channel, identity: Identity) -> ! {
    finish(channel, serve(channel, identity))
}

/// The same where there are no namespaces: `why` is told in the report.
pub fn run_without_namespaces(channel: &Channel, why: &str) -> ! {
    finish(channel, serve_without_namespaces(channel, why))
}

fn finish(channel: &Channel, served: Result<(), Problem>) -> ! {
    let status = match served {
        Ok(()) => 0,
        Err(problem) => {
            // If the launcher is gone, nobody is left to be told.
            let _ = channel.send(&FromSandbox::NotBuilt(problem), &[]);
            1
        }
    };
    std::process::exit(status)
}

fn serve(channel: &Channel, identity: Identity) -> Result<(), Problem> {
    let begun = stages::begin(channel, identity)?;
    let signals = Signals::take_over(&[SIGCHLD, SIGTERM]).map_err(|error| lost(&error))?;
    let Some(plan) = receive_plan(channel)? else { return Ok(()) };
    let (confined, report, doors) = stages::confine(begun, &plan)?;
    let (doors, listeners): (Vec<_>, Vec<_>) = doors.into_iter().unzip();
    let handed: Vec<_> = listeners.iter().map(AsFd::as_fd).collect();
    channel.send(&FromSandbox::Built { report, doors }, &handed).map_err(|error| lost(&error))?;
    // From here on only the launcher can take what arrives.
    drop(listeners);
    Init::new(channel, Walls::Namespaces(confined), &plan).serve_all(&signals)
}

fn serve_without_namespaces(channel: &Channel, why: &str) -> Result<(), Problem> {
    let mut report = stages::begin_without_namespaces(channel)?;
    let signals = Signals::take_over(&[SIGCHLD, SIGTERM]).map_err(|error| lost(&error))?;
    let Some(plan) = receive_plan(channel)? else { return Ok(()) };
    let alone = Alone::new(&plan)?;
    alone.try_out(why, &mut report)?;
    let built = FromSandbox::Built { report, doors: Vec::new() };
    channel.send(&built, &[]).map_err(|error| lost(&error))?;
    Init::new(channel, Walls::Alone(alone), &plan).serve_all(&signals)
}

fn receive_plan(channel: &Channel) -> Result<Option<Plan>, Problem> {
    loop {
        match channel.receive::<ToSandbox>().map_err(|error| lost(&error))? {
            Some((ToSandbox::Begun, _)) => {
                channel.send(&FromSandbox::Begun, &[]).map_err(|error| lost(&error))?;
            }
            Some((ToSandbox::Build(plan), _)) => return Ok(Some(plan)),
            _ => return Ok(None),
        }
    }
}

fn lost(error: &io::Error) -> Problem {
    Problem {
        step: "the connection to the launcher".to_owned(),
        error: error.to_string(),
        errno: error.raw_os_error(),
    }
}

/// Begins a connection to a port of this namespace's loopback and does not wait for it: a server that does not
/// answer must not hold this process up.
fn connect(port: u16) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

/// What comes after a message or a death.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    GoOn,
    End,
}

/// What stands around the commands.
#[derive(Debug)]
pub enum Walls {
    /// This process is in them itself.
    Namespaces(Confined),
    /// Every command puts them up for itself, on its way to its program.
    Alone(Alone),
}

struct Init<'a> {
    channel: &'a Channel,
    walls: Walls,
    commands: BTreeMap<i32, u64>,
    /// The command with which the sandbox ends.
    last: Option<u64>,
    /// How that one ended.
    ended: Option<Ended>,
    trees: Trees,
    /// Names to be set aside.
    sweep: &'a [Text],
}

impl<'a> Init<'a> {
    fn new(channel: &'a Channel, walls: Walls, plan: &'a Plan) -> Self {
        let reach = match walls {
            Walls::Namespaces(_) => Reach::Namespace,
            Walls::Alone(_) => Reach::Descendants,
        };
        Self {
            channel,
            walls,
            commands: BTreeMap::new(),
            last: None,
            ended: None,
            trees: Trees::new(reach),
            sweep: &plan.sweep,
        }
    }

    /// Until the end, which takes everything along.
    fn serve_all(mut self, signals: &Signals) -> Result<(), Problem> {
        let served = self.serve(signals).map_err(|error| lost(&error));
        self.trees.end_all();
        // If the launcher is gone, the names tell by themselves what happened.
        let over = FromSandbox::Over { ended: self.ended, held: sweep::set_aside(self.sweep) };
        let _ = self.channel.send(&over, &[]);
        served
    }

    fn serve(&mut self, signals: &Signals) -> io::Result<()> {
        // Once nothing happens for a while, what is not needed to wait is given back.
        let mut patience = Some(Timespec { tv_sec: 0, tv_nsec: 250_000_000 });
        loop {
            let mut ready = [
                PollFd::new(self.channel, PollFlags::IN),
                PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
            ];
            match rustix::event::poll(&mut ready, patience.as_ref()) {
                Err(rustix::io::Errno::INTR) => continue,
                Ok(0) => {
                    patience = None;
                    footprint::shrink();
                    continue;
                }
                other => drop(other?),
            }
            let [from_launcher, from_kernel] = ready.map(|ready| !ready.revents().is_empty());
            if from_kernel {
                while let Some(arrived) = signals.next_with_sender()? {
                    // From a process inside it is no reason to end the others. Without namespaces all numbers are
                    // the host's, and Landlock keeps the commands from sending one.
                    let outside = arrived.sender == 0 || matches!(self.walls, Walls::Alone(_));
                    if arrived.signal == SIGTERM && outside {
                        return Ok(());
                    }
                }
                if self.collect()? == Then::End {
                    return Ok(());
                }
            }
            if from_launcher {
                match self.channel.receive()? {
                    None => return Ok(()),
                    Some((message, descriptors)) => {
                        if self.obey(message, descriptors)? == Then::End {
                            return Ok(());
                        }
                    }
                }
            }
        }
    }

    fn obey(&mut self, message: ToSandbox, descriptors: Vec<OwnedFd>) -> io::Result<Then> {
        match message {
            // A second tree cannot be built any more; the rights are gone.
            ToSandbox::Build(_) | ToSandbox::Begun => Ok(Then::GoOn),
            ToSandbox::Start { id, directory, terminal, limits, last } => {
                let mark = self.trees.begin(id);
                let command =
                    command::Command { directory: directory.into(), terminal, limits, mark, descriptors };
                match command::start(&self.walls, command) {
                    Ok(started) => {
                        self.commands.insert(started.pid, id);
                        if last == Last::Yes {
                            self.last = Some(id);
                        }
                        // Without a terminal the end is news enough; this would only wake the launcher.
                        if let Some(terminal) = started.terminal {
                            self.channel.send(&FromSandbox::Started { id }, &[terminal.as_fd()])?;
                        }
                        Ok(Then::GoOn)
                    }
                    Err(why) => {
                        self.channel.send(&FromSandbox::NotStarted { id, why }, &[])?;
                        Ok(if last == Last::Yes { Then::End } else { Then::GoOn })
                    }
                }
            }
            ToSandbox::Signal { id, signal } => {
                self.pass_on(id, signal);
                Ok(Then::GoOn)
            }
            ToSandbox::Connect { id, port } => {
                let socket = connect(port).ok();
                let socket: Vec<_> = socket.iter().map(AsFd::as_fd).collect();
                self.channel.send(&FromSandbox::Connected { id }, &socket)?;
                Ok(Then::GoOn)
            }
            ToSandbox::End { id } => {
                self.trees.end(id);
                Ok(Then::GoOn)
            }
        }
    }

    fn pass_on(&self, id: u64, signal: i32) {
        let target = self.commands.iter().find(|(_, command)| **command == id).map(|(pid, _)| *pid);
        // The number belongs to the command until `collect` has waited for it, so it cannot be another's.
        if let (Some(pid), Some(signal)) = (target.and_then(Pid::from_raw), Signal::from_named_raw(signal)) {
            let _ = rustix::process::kill_process_group(pid, signal);
        }
    }

    /// Waits for every process that has ended: commands, and orphans that became this process's children.
    fn collect(&mut self) -> io::Result<Then> {
        let mut then = Then::GoOn;
        loop {
            let (pid, status) = match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(ended)) => ended,
                Ok(None) | Err(rustix::io::Errno::CHILD) => return Ok(then),
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let Some(id) = self.commands.remove(&pid.as_raw_nonzero().get()) else { continue };
            let how = match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Ended::Exited(code),
                (None, Some(signal)) => Ended::Killed(signal),
                (None, None) => Ended::Exited(0),
            };
            if self.last == Some(id) {
                // Told with the last message, once nothing moves any more: the launcher is woken once.
                self.ended = Some(how);
                then = Then::End;
                continue;
            }
            let held = sweep::set_aside(self.sweep);
            self.channel.send(&FromSandbox::Ended { id, how, held }, &[])?;
        }
    }
}
