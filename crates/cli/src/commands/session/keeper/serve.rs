//! The keeper at work: one loop over the sandbox, the clients, and what its processes write.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant, SystemTime};

use cofferdam_linux_sys::exec::Image;
use cofferdam_linux_sys::footprint;
use cofferdam_linux_sys::signals::Signals;
use cofferdam_sandbox::approved_files::ApprovedFile;
use cofferdam_sandbox::channel::{self, Channel};
use cofferdam_sandbox::launch::{News, Sandbox, Start};
use cofferdam_sandbox::messages::{Last, Window};
use cofferdam_sandbox::report::LayerName;
use cofferdam_sandbox::text::Text;
use rustix::fs::{CWD, Mode, OFlags};

use super::process::{self, Process, Role};
use super::shell::Left;
use super::told::Told;
use super::wait;
use crate::commands::run::publish::Published;
use crate::commands::run::supervise::{AT_REST, End, GRACE, How, TERM};
use crate::commands::session::protocol::{Cleared, Refusal, Reply, Request, Setup, Status, What};
use crate::outlet::line::Held;
use cofferdam_control::place::Listener;

/// Ended processes whose status and output are kept.
const KEPT: usize = 64;
const MOST_CLIENTS: usize = 256;

pub struct Keeper {
    sandbox: Sandbox,
    /// Gone from the moment the session ends, so that nobody finds it any more.
    listener: Option<Listener>,
    published: Published,
    /// Who lets the session out; gone with this process.
    _way_out: Option<Held>,
    told: Told,
    left: Left,
    setup: Setup,
    pub missing: Vec<LayerName>,
    started: u64,
    end: Option<Instant>,
    idle_since: Instant,
    clients: BTreeMap<u64, Client>,
    processes: BTreeMap<u64, Process>,
    next_client: u64,
    next_process: u64,
}

/// Where others come in.
pub struct Doors {
    /// Those who use the session.
    pub listener: Listener,
    /// Those who use a port of it.
    pub published: Published,
    /// And where it gets out.
    pub way_out: Option<Held>,
    /// What is said about that.
    pub told: Told,
}

struct Client {
    channel: Channel,
    waits: Waits,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// For nothing that is still to come.
    Nothing,
    Process(u64),
    Log {
        process: u64,
        from: u64,
    },
    SessionEnd,
}

/// What a descriptor in the loop belongs to.
#[derive(Clone, Copy)]
enum Source {
    Sandbox,
    Signals,
    Listener,
    /// A published port, by its place.
    Port(usize),
    Client(u64),
    Process(u64),
}

impl Keeper {
    pub fn new(sandbox: Sandbox, doors: Doors, left: Left, setup: Setup, end: Option<Instant>) -> Self {
        Self {
            sandbox,
            listener: Some(doors.listener),
            published: doors.published,
            _way_out: doors.way_out,
            told: doors.told,
            left,
            setup,
            missing: Vec::new(),
            started: process::seconds(SystemTime::now()),
            end,
            idle_since: Instant::now(),
            clients: BTreeMap::new(),
            processes: BTreeMap::new(),
            next_client: 1,
            next_process: 1,
        }
    }

    /// Serves until the sandbox is gone.
    pub fn serve(&mut self, signals: &Signals) -> io::Result<()> {
        let mut at_rest = false;
        loop {
            let ready = self.ready(signals, (!at_rest).then_some(AT_REST))?;
            if ready.is_empty() && !at_rest {
                footprint::shrink();
            }
            at_rest = ready.is_empty();
            for source in ready {
                match source {
                    Source::Sandbox => {
                        if let Some(held) = self.hear()? {
                            self.farewell(&held);
                            return Ok(());
                        }
                    }
                    Source::Signals => {
                        while signals.next()?.is_some() {}
                        self.end_session()?;
                    }
                    Source::Listener => self.welcome()?,
                    Source::Port(port) => self.published.accept(port, &self.sandbox)?,
                    Source::Client(client) => self.attend(client)?,
                    Source::Process(process) => {
                        if let Some(known) = self.processes.get_mut(&process) {
                            known.read_output();
                        }
                        self.tell_log(process);
                    }
                }
            }
            self.watch_time()?;
        }
    }

    /// What is ready, as soon as something is; nothing if that takes longer than this, or until a deadline.
    fn ready(&self, signals: &Signals, patience: Option<Duration>) -> io::Result<Vec<Source>> {
        let mut awaited: Vec<(Source, BorrowedFd<'_>)> =
            vec![(Source::Sandbox, self.sandbox.as_fd()), (Source::Signals, signals.as_fd())];
        awaited.extend(self.listener.iter().map(|listener| (Source::Listener, listener.as_fd())));
        let ports = self.published.descriptors().enumerate();
        awaited.extend(ports.map(|(port, listener)| (Source::Port(port), listener)));
        awaited.extend(self.clients.iter().map(|(id, client)| (Source::Client(*id), client.channel.as_fd())));
        awaited.extend(self.processes.iter().filter_map(|(id, process)| {
            process.output().map(|output| (Source::Process(*id), output.as_fd()))
        }));
        let descriptors: Vec<BorrowedFd<'_>> = awaited.iter().map(|(_, descriptor)| *descriptor).collect();
        let now = Instant::now();
        let until_deadline = self.next_deadline().map(|deadline| deadline.saturating_duration_since(now));
        let ready = wait(&descriptors, until_deadline.into_iter().chain(patience).min())?;
        Ok(awaited.iter().zip(ready).filter(|(_, ready)| *ready).map(|((source, _), _)| *source).collect())
    }

    fn next_deadline(&self) -> Option<Instant> {
        let processes = self.processes.values().filter_map(|process| process.deadline);
        processes.chain(self.end).chain(self.idle_end()).min()
    }

    fn idle_end(&self) -> Option<Instant> {
        let busy = self.processes.values().any(Process::is_running) || !self.clients.is_empty();
        self.setup.idle.filter(|_| !busy && self.listener.is_some()).map(|idle| self.idle_since + idle)
    }

    fn watch_time(&mut self) -> io::Result<()> {
        let now = Instant::now();
        let due = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
        for (id, process) in self.processes.iter_mut().filter(|(_, process)| due(process.deadline)) {
            if process.timed_out {
                process.deadline = None;
                self.sandbox.end(*id)?;
            } else {
                process.timed_out = true;
                process.deadline = Some(now + GRACE);
                self.sandbox.signal(*id, TERM)?;
            }
        }
        if due(self.end) || due(self.idle_end()) {
            self.end = None;
            self.end_session()?;
        }
        Ok(())
    }

    fn end_session(&mut self) -> io::Result<()> {
        self.listener = None;
        self.sandbox.finish()
    }

    /// What the sandbox tells; at its end, what was set aside.
    fn hear(&mut self) -> io::Result<Option<Vec<Text>>> {
        let (id, news) = self.sandbox.news()?;
        match news {
            News::Gone { held, .. } => return Ok(Some(held)),
            News::Started { terminal } => self.started(id, terminal)?,
            News::NotStarted(why) => {
                if let Some(mut process) = self.processes.remove(&id) {
                    process.how = Some(How::NotStarted(why));
                    self.tell(process.client(), &Reply::from(why), &[]);
                }
            }
            News::Ended { how, met, held } => {
                let how = met.map_or(How::Ended(how), |limit| How::Exceeded(limit, how));
                self.ended(id, how, held);
            }
            News::Connected(socket) => self.published.connected(id, socket),
        }
        Ok(None)
    }

    fn started(&mut self, id: u64, terminal: Option<OwnedFd>) -> io::Result<()> {
        let Some(process) = self.processes.get_mut(&id) else { return Ok(()) };
        if let (Role::Terminal { controller, client, .. }, Some(opened)) = (&mut process.role, terminal) {
            rustix::io::ioctl_fionbio(&opened, true)?;
            let client = *client;
            let nothing = channel::memory_file(&[])?;
            let handed = opened.try_clone()?;
            // What was typed before there was a terminal waits in its line for whoever reads it.
            let _ = process::type_all(&opened, &std::mem::take(&mut process.typed));
            *controller = Some(opened);
            self.tell(client, &Reply::Attached { process: id }, &[handed.as_fd(), nothing.as_fd()]);
        }
        Ok(())
    }

    fn ended(&mut self, id: u64, how: How, held: Vec<Text>) {
        let Some(process) = self.processes.get_mut(&id) else { return };
        let how = if process.timed_out { How::TimedOut } else { how };
        process.how = Some(how);
        process.deadline = None;
        process.read_output();
        if let Some(account) = process.account.take() {
            self.left.take(account);
        }
        let client = process.client();
        if matches!(process.role, Role::Foreground { .. }) {
            self.processes.remove(&id);
        }
        let told = if client.is_some() { self.told.take() } else { Vec::new() };
        self.tell(client, &Reply::Ended(End { how, held, told }), &[]);
        self.tell_log(id);
        self.idle_since = Instant::now();
        self.forget_oldest();
    }

    fn forget_oldest(&mut self) {
        let ended: Vec<u64> =
            self.processes.iter().filter(|(_, process)| !process.is_running()).map(|(id, _)| *id).collect();
        for id in ended.iter().take(ended.len().saturating_sub(KEPT)) {
            self.processes.remove(id);
        }
    }

    fn farewell(&mut self, held: &[Text]) {
        for client in self.clients.values() {
            let reply = match client.waits {
                Waits::Process(_) => {
                    Reply::Ended(End { how: How::Lost, held: held.to_vec(), told: self.told.take() })
                }
                _ => Reply::Gone { held: held.to_vec() },
            };
            // One who has gone meanwhile does not want to know.
            let _ = client.channel.send(&reply, &[]);
        }
    }

    fn welcome(&mut self) -> io::Result<()> {
        let Some(listener) = &self.listener else { return Ok(()) };
        if let Some((channel, _)) = listener.accept()?
            && self.clients.len() < MOST_CLIENTS
        {
            self.clients.insert(self.next_client, Client { channel, waits: Waits::Nothing });
            self.next_client += 1;
        }
        Ok(())
    }

    /// Sends a client its answer; one that cannot be reached is let go.
    fn tell(&mut self, client: Option<u64>, reply: &Reply, descriptors: &[BorrowedFd<'_>]) {
        if let Some(client) = client
            && let Some(known) = self.clients.get(&client)
            && known.channel.send(reply, descriptors).is_err()
        {
            self.clients.remove(&client);
        }
    }

    fn attend(&mut self, id: u64) -> io::Result<()> {
        let Some(client) = self.clients.get(&id) else { return Ok(()) };
        match client.channel.receive::<Request>() {
            Ok(Some((request, descriptors))) => match self.obey(id, request, &descriptors) {
                Ok(()) => {}
                Err(refusal) => self.tell(Some(id), &Reply::Refused(refusal), &[]),
            },
            Ok(None) | Err(_) => self.part(id)?,
        }
        Ok(())
    }

    /// The client is gone: its command goes with it, a terminal stays.
    fn part(&mut self, client: u64) -> io::Result<()> {
        let Some(Client { waits: Waits::Process(process), .. }) = self.clients.remove(&client) else {
            return Ok(());
        };
        match self.processes.get_mut(&process).map(|known| &mut known.role) {
            Some(Role::Foreground { .. }) => self.sandbox.end(process),
            Some(Role::Terminal { client, .. }) => {
                *client = None;
                Ok(())
            }
            Some(Role::Background { .. }) | None => Ok(()),
        }
    }

    fn obey(&mut self, client: u64, request: Request, streams: &[OwnedFd]) -> Result<(), Refusal> {
        // Nothing is taken that was not asked for.
        let expected = if matches!(request, Request::Exec { .. }) { 3 } else { 0 };
        if streams.len() != expected || self.listener.is_none() {
            return Err(Refusal::NotUnderstood);
        }
        match request {
            Request::Exec { what, timeout } => {
                let mut process = Process::new(shown(what.what()), Role::Foreground { client });
                process.deadline = timeout.map(|timeout| Instant::now() + timeout);
                let id = self.start(process, &what, streams)?;
                self.wait_for(client, Waits::Process(id));
            }
            Request::Signal(signal) => {
                if let Some(Client { waits: Waits::Process(process), .. }) = self.clients.get(&client) {
                    self.sandbox.signal(*process, signal).map_err(failed)?;
                }
            }
            Request::Background { what, timeout } => {
                let process =
                    self.start_in_background(&what, timeout.map(|timeout| Instant::now() + timeout))?;
                self.tell(Some(client), &Reply::Background { process }, &[]);
            }
            Request::Attach { what, window } => {
                self.attach(client, what.as_ref(), window)?;
            }
            Request::Send { text } => {
                let process = self.type_in(text.what())?;
                self.tell(Some(client), &Reply::Sent { process }, &[]);
            }
            Request::Status => {
                let status = self.status();
                self.tell(Some(client), &Reply::Status(status), &[]);
            }
            Request::Log { process, from, wait } => {
                let known = self.processes.get(&process).ok_or(Refusal::NoSuchProcess)?;
                let log = known.log().ok_or(Refusal::NoLog)?;
                let nothing_yet = log.end() <= from && known.is_running();
                self.wait_for(client, Waits::Log { process, from });
                if !(wait && nothing_yet) {
                    self.tell_log_to(client, process, from);
                }
            }
            Request::End { process } => {
                // One that has ended may have left something behind, which is its tree still.
                if !self.processes.contains_key(&process) {
                    return Err(Refusal::NoSuchProcess);
                }
                self.sandbox.end(process).map_err(failed)?;
                self.tell(Some(client), &Reply::Done, &[]);
            }
            Request::EndSession => {
                self.wait_for(client, Waits::SessionEnd);
                self.end_session().map_err(failed)?;
            }
        }
        Ok(())
    }

    fn wait_for(&mut self, client: u64, waits: Waits) {
        if let Some(client) = self.clients.get_mut(&client) {
            client.waits = waits;
        }
    }

    /// Starts a command with these streams, of which the caller closes its own copies.
    fn start(
        &mut self,
        mut process: Process,
        cleared: &Cleared,
        streams: &[OwnedFd],
    ) -> Result<u64, Refusal> {
        self.require_directory(cleared)?;
        let ready = self.left.ready(cleared.what()).map_err(failed)?;
        process.account = ready.account.filter(|_| matches!(process.role, Role::Foreground { .. }));
        let descriptors: Vec<BorrowedFd<'_>> = streams.iter().chain(&ready.beside).map(AsFd::as_fd).collect();
        self.send_start(process, &ready.image, None, (cleared.files(), &descriptors))
    }

    /// While somebody was asked about a command, another one may have gone elsewhere.
    fn require_directory(&self, cleared: &Cleared) -> Result<(), Refusal> {
        let same = self.left.directory.to_string_lossy() == cleared.directory();
        if same { Ok(()) } else { Err(Refusal::Moved) }
    }

    fn send_start(
        &mut self,
        process: Process,
        image: &Image,
        terminal: Option<Window>,
        (approved, descriptors): (&[ApprovedFile], &[BorrowedFd<'_>]),
    ) -> Result<u64, Refusal> {
        let id = self.next_process;
        self.next_process += 1;
        let limits = self.setup.plan.limits;
        let (directory, last) = (&self.left.directory, Last::No);
        let start = Start { image, directory, terminal, limits, last, approved, descriptors };
        self.sandbox.start(id, &start).map_err(failed)?;
        self.processes.insert(id, process);
        Ok(id)
    }

    fn start_in_background(&mut self, cleared: &Cleared, deadline: Option<Instant>) -> Result<u64, Refusal> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let null = rustix::fs::openat(CWD, c"/dev/null", flags, Mode::empty()).map_err(failed)?;
        let (output, input) = process::output_pipe().map_err(failed)?;
        let errors = input.try_clone().map_err(failed)?;
        let role = Role::Background { output: Some(output), log: super::log::Log::default() };
        let mut process = Process::new(shown(cleared.what()), role);
        process.deadline = deadline;
        self.start(process, cleared, &[null, input, errors])
    }

    fn attach(&mut self, client: u64, cleared: Option<&Cleared>, window: Window) -> Result<(), Refusal> {
        let what = cleared.map(Cleared::what);
        if what.is_none() && self.attach_again(client)? {
            return Ok(());
        }
        cleared.map_or(Ok(()), |cleared| self.require_directory(cleared))?;
        let image = match what {
            Some(what) => self.left.ready(what).map(|ready| ready.image),
            None => self.left.interactive(),
        };
        let command = what.map_or_else(|| "shell".to_owned(), shown);
        let role = Role::Terminal { controller: None, log: super::log::Log::default(), client: Some(client) };
        let process = Process::new(command, role);
        let approved = cleared.map_or(&[][..], Cleared::files);
        let id = self.send_start(process, &image.map_err(failed)?, Some(window), (approved, &[]))?;
        self.wait_for(client, Waits::Process(id));
        Ok(())
    }

    /// Types a line into the last terminal; makes one with a shell if there is none.
    fn type_in(&mut self, line: &What) -> Result<u64, Refusal> {
        let What::Shell(text) = line else { return Err(Refusal::NotUnderstood) };
        let mut bytes = text.as_os_str().as_encoded_bytes().to_vec();
        bytes.push(b'\n');
        let terminals = self.processes.iter().rev().filter(|(_, process)| process.is_running());
        let open = terminals.filter_map(|(id, process)| match &process.role {
            Role::Terminal { controller: Some(controller), .. } => Some((*id, controller)),
            _ => None,
        });
        if let Some((id, controller)) = { open }.next() {
            return process::type_all(controller, &bytes).map(|()| id).map_err(|_| Refusal::NotRead);
        }
        let image = self.left.interactive().map_err(failed)?;
        let role = Role::Terminal { controller: None, log: super::log::Log::default(), client: None };
        let mut process = Process::new("shell".to_owned(), role);
        process.typed = bytes;
        self.send_start(process, &image, Some(Window { rows: 24, columns: 80 }), (&[], &[]))
    }

    /// Whether there was a terminal to come back to.
    fn attach_again(&mut self, new_client: u64) -> Result<bool, Refusal> {
        let terminals = self.processes.iter_mut().filter(|(_, process)| process.is_running());
        let mut terminals = terminals.filter_map(|(id, process)| match &mut process.role {
            Role::Terminal { controller: Some(controller), log, client } => {
                Some((*id, controller, log, client))
            }
            _ => None,
        });
        let Some((id, controller, log, client)) = terminals.next_back() else { return Ok(false) };
        if client.is_some() {
            return Err(Refusal::AttachedElsewhere);
        }
        let (controller, shown_before) = (controller.try_clone().map_err(failed)?, log.since(0).0);
        *log = super::log::Log::default();
        *client = Some(new_client);
        let shown_before = channel::memory_file(&shown_before).map_err(failed)?;
        self.wait_for(new_client, Waits::Process(id));
        let descriptors = [controller.as_fd(), shown_before.as_fd()];
        self.tell(Some(new_client), &Reply::Attached { process: id }, &descriptors);
        Ok(true)
    }

    /// Tells all who wait for more of this process's output.
    fn tell_log(&mut self, process: u64) {
        let waiting: Vec<(u64, u64)> = self
            .clients
            .iter()
            .filter_map(|(id, client)| match client.waits {
                Waits::Log { process: awaited, from } if awaited == process => Some((*id, from)),
                _ => None,
            })
            .collect();
        for (client, from) in waiting {
            self.tell_log_to(client, process, from);
        }
    }

    fn tell_log_to(&mut self, client: u64, process: u64, from: u64) {
        let Some(known) = self.processes.get(&process) else { return };
        let Some(log) = known.log() else { return };
        let (bytes, lost) = log.since(from);
        let reply = Reply::Log { next: log.end(), lost, how: known.how };
        match channel::memory_file(&bytes) {
            Ok(file) => self.tell(Some(client), &reply, &[file.as_fd()]),
            Err(error) => self.tell(Some(client), &Reply::Refused(failed(error)), &[]),
        }
        self.wait_for(client, Waits::Nothing);
    }

    fn status(&self) -> Status {
        Status {
            name: self.setup.name.clone(),
            pid: rustix::process::getpid().as_raw_nonzero().get(),
            workspace: self.setup.workspace.clone(),
            directory: self.left.directory.as_path().into(),
            started: self.started,
            missing: self.missing.clone(),
            processes: self.processes.iter().map(|(id, process)| process.status(*id)).collect(),
        }
    }
}

/// A command as a person reads it, without anything that a terminal would obey.
fn shown(what: &What) -> String {
    match what {
        What::Command(arguments) => arguments.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        What::Shell(text) => text.to_string(),
    }
}

fn failed(error: impl Into<io::Error>) -> Refusal {
    Refusal::Failed(error.into().raw_os_error().unwrap_or(0))
}
