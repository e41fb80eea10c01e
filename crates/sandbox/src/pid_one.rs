//! The first process of a sandbox: it starts commands, collects the dead, passes signals on, and ends everything
//! with itself. It holds nothing that a command could want.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, OwnedFd};

use cofferdam_linux_sys::signals::Signals;
use cofferdam_linux_sys::{footprint, limits};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{Pid, Signal};

use crate::answers::Answers;
use crate::approved_files;
use crate::channel::Channel;
use crate::command;
use crate::control_group::Exceeded;
use crate::messages::{Ended, FromSandbox, Last, Problem, ToSandbox};
use crate::met_limits::MetLimits;
use crate::nearness::Everywhere;
use crate::plan::{Identity, Plan};
use crate::stages::{self, Confined};
use crate::sweep;
use crate::text::Text;
use crate::trees::{Reach, Trees};
use crate::without_namespaces::Alone;

const ECHILD: i32 = 10;
const SIGCHLD: i32 = 17;
const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;
const SIGXCPU: i32 = 24;
const SIGXFSZ: i32 = 25;

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

/// The namespaces that the tree of files belongs to. Nobody else can open them, because nobody may look into this process;
/// whoever gets them has rights over them only if the person is the same.
fn own_namespaces() -> io::Result<Vec<OwnedFd>> {
    let open = |path| rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    Ok(vec![open(c"/proc/self/ns/user")?, open(c"/proc/self/ns/mnt")?])
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
    /// How that one ended, and which limit it had met.
    ended: Option<Ended>,
    met: Option<Exceeded>,
    limits: MetLimits,
    trees: Trees,
    answers: Answers,
    everywhere: Everywhere,
    /// Names to be set aside.
    sweep: &'a [Text],
}

impl<'a> Init<'a> {
    fn new(channel: &'a Channel, walls: Walls, plan: &'a Plan) -> Self {
        approved_files::remember(plan);
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
            met: None,
            limits: MetLimits::new(&plan.limits, reach),
            trees: Trees::new(reach),
            answers: Answers::default(),
            everywhere: Everywhere::found(),
            sweep: &plan.sweep,
        }
    }

    /// Until the end, which takes everything along.
    fn serve_all(mut self, signals: &Signals) -> Result<(), Problem> {
        let served = self.serve(signals).map_err(|error| lost(&error));
        self.trees.end_all();
        // If the launcher is gone, the names tell by themselves what happened.
        let over = FromSandbox::Over { ended: self.ended, met: self.met, held: sweep::set_aside(self.sweep) };
        let _ = self.channel.send(&over, &[]);
        served
    }

    fn serve(&mut self, signals: &Signals) -> io::Result<()> {
        // Once nothing happens for a while, what is not needed to wait is given back.
        let mut patience = Some(Timespec { tv_sec: 0, tv_nsec: 250_000_000 });
        loop {
            let mut ready = vec![
                PollFd::new(self.channel, PollFlags::IN),
                PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
            ];
            ready.extend(self.limits.descriptors().map(|held| PollFd::from_borrowed_fd(held, PollFlags::IN)));
            match rustix::event::poll(&mut ready, patience.as_ref()) {
                Err(rustix::io::Errno::INTR) => continue,
                Ok(0) => {
                    patience = None;
                    footprint::shrink();
                    continue;
                }
                other => drop(other?),
            }
            let ready: Vec<PollFlags> = ready.iter().map(PollFd::revents).collect();
            let (from_launcher, from_kernel) = (!ready[0].is_empty(), !ready[1].is_empty());
            self.limits.answer(&ready[2..]);
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
                match self.channel.receive_with_bytes()? {
                    None => return Ok(()),
                    Some((message, image, descriptors)) => {
                        if self.obey(message, image, descriptors)? == Then::End {
                            return Ok(());
                        }
                    }
                }
            }
        }
    }

    fn obey(
        &mut self,
        message: ToSandbox,
        image: Vec<u8>,
        mut descriptors: Vec<OwnedFd>,
    ) -> io::Result<Then> {
        match message {
            // A second tree cannot be built any more; the rights are gone.
            ToSandbox::Build(_) | ToSandbox::Begun => Ok(Then::GoOn),
            ToSandbox::Start { id, directory, terminal, limits, last, approved, answer } => {
                if let Some(head) = answer
                    && let Some(connection) = descriptors.pop()
                {
                    self.answers.expect(id, connection, head);
                }
                let mark = self.trees.begin(id);
                let directory = directory.into();
                let everywhere = self.everywhere;
                let command =
                    command::Command { directory, terminal, limits, mark, approved, everywhere, descriptors };
                match command::start(&self.walls, command, image) {
                    Ok(started) => {
                        self.commands.insert(started.pid, id);
                        // Another one may keep this processor busy for longer than it takes to reach the next.
                        if self.commands.len() > 1 {
                            self.everywhere.spread_out();
                        }
                        self.limits.hear(id, started.requests);
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
                        self.answers.forget(id);
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
            ToSandbox::Answer => {
                self.answers.open(descriptors);
                Ok(Then::GoOn)
            }
            ToSandbox::End { id } => {
                self.trees.end(id);
                Ok(Then::GoOn)
            }
            ToSandbox::Namespaces => {
                let opened = match self.walls {
                    Walls::Namespaces(_) => own_namespaces().unwrap_or_default(),
                    Walls::Alone(_) => Vec::new(),
                };
                let handed: Vec<_> = opened.iter().map(AsFd::as_fd).collect();
                self.channel.send(&FromSandbox::Namespaces, &handed)?;
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
            let collected = match limits::collect_any() {
                Ok(Some(collected)) => collected,
                Ok(None) => return Ok(then),
                Err(error) if error.raw_os_error() == Some(ECHILD) => return Ok(then),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let Some(id) = self.commands.remove(&collected.pid) else { continue };
            let how = match collected.end {
                limits::End::Exited(code) => Ended::Exited(code),
                limits::End::Killed(signal) => Ended::Killed(signal),
            };
            // What its signal names needs no other explanation, nor does what somebody wished.
            let told = match how {
                Ended::Exited(code) => code == 0,
                Ended::Killed(signal) => {
                    matches!(signal, SIGXCPU | SIGXFSZ | SIGHUP | SIGINT | SIGTERM)
                }
            };
            let met = if told { None } else { self.limits.met(id, collected.most_memory) };
            if self.last == Some(id) {
                // Told with the last message, once nothing moves any more: the launcher is woken once.
                (self.ended, self.met) = (Some(how), met);
                then = Then::End;
                continue;
            }
            let held = sweep::set_aside(self.sweep);
            if met.is_none() && held.is_empty() && self.answers.give(id, how) {
                continue;
            }
            self.answers.forget(id);
            self.channel.send(&FromSandbox::Ended { id, how, met, held }, &[])?;
        }
    }
}
