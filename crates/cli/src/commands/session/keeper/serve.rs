//! The keeper at work: one loop over the sandbox, the clients, and what its processes write.

mod requests;
mod short_way;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant, SystemTime};

use cofferdam_linux_sys::footprint;
use cofferdam_linux_sys::signals::Signals;
use cofferdam_sandbox::channel::{self, Channel};
use cofferdam_sandbox::launch::{Answered, News, Sandbox};
use cofferdam_sandbox::report::LayerName;
use cofferdam_sandbox::text::Text;
use rustix::event::{PollFd, PollFlags, Timespec};

use super::gate::LastGate;
use super::process::{self, Process, Role};
use super::shell::Left;
use super::told::Told;
use super::wait;
use crate::commands::late_secrets::LateSecrets;
use crate::commands::run::publish::Published;
use crate::commands::run::supervise::{AT_REST, End, GRACE, How, TERM};
use crate::commands::session::protocol::{Refusal, Reply, Request, Setup, What};
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
    /// What the sandbox has told clients by itself; none if it does not.
    answered: Option<Answered>,
    late: LateSecrets,
    left: Left,
    gate: LastGate,
    /// The way into the sandbox's tree of files; nothing where it has none.
    namespaces: Vec<OwnedFd>,
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
    /// The way into its tree of files.
    pub namespaces: Vec<OwnedFd>,
    /// What is said about that.
    pub told: Told,
}

struct Client {
    channel: Channel,
    waits: Waits,
    /// For one that came by the short way and does not read replies: what it has asked for.
    asked: Option<What>,
}

impl Client {
    fn has_left(&self) -> bool {
        let mut left = [PollFd::new(&self.channel, PollFlags::empty())];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(rustix::event::poll(&mut left, Some(&at_once)), Ok(found) if found > 0)
    }
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
    /// The watch for secrets that appear.
    Late,
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
            answered: None,
            late: LateSecrets::new(),
            left,
            gate: LastGate::default(),
            namespaces: doors.namespaces,
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
        // Where it cannot, this process does it.
        self.answered = self.sandbox.let_answer(self.told.as_fd()).ok();
        loop {
            let ready = self.ready(signals, (!at_rest).then_some(AT_REST))?;
            self.hear_answered();
            let begun = self.late.wait().is_none();
            if ready.is_empty() && !at_rest && begun {
                footprint::shrink();
            }
            at_rest = ready.is_empty() && begun;
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
                    Source::Late => self.late.hear().into_iter().for_each(|line| self.told.add(line)),
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
        awaited.extend(self.late.descriptor().map(|late| (Source::Late, late)));
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
        let longest = until_deadline.into_iter().chain(patience).chain(self.late.wait()).min();
        let ready = wait(&descriptors, longest)?;
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
        self.late.go_on(&self.sandbox);
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
            News::Namespaces(namespaces) => {
                self.late
                    .begin(&self.setup.late, &namespaces)
                    .into_iter()
                    .for_each(|line| self.told.add(line));
            }
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

    /// What was answered already comes first: whoever comes next may have waited for that.
    fn hear_answered(&mut self) {
        while let Some((id, how)) = self.answered.as_ref().and_then(Answered::next) {
            self.over(id, How::Ended(how));
        }
    }

    fn ended(&mut self, id: u64, how: How, held: Vec<Text>) {
        let Some((client, how)) = self.over(id, how) else { return };
        let told = if client.is_some() { self.told.take() } else { Vec::new() };
        self.tell(client, &Reply::Ended(End { how, held, told }), &[]);
        self.tell_log(id);
        self.forget_oldest();
    }

    /// Takes a process for ended, and says who waits for that.
    fn over(&mut self, id: u64, how: How) -> Option<(Option<u64>, How)> {
        let process = self.processes.get_mut(&id)?;
        let how = if process.timed_out { How::TimedOut } else { how };
        process.how = Some(how);
        process.deadline = None;
        process.approved = None;
        process.read_output();
        if let Some(account) = process.account.take() {
            self.left.take(account);
        }
        let client = process.client();
        if matches!(process.role, Role::Foreground { .. }) {
            self.processes.remove(&id);
        }
        self.idle_since = Instant::now();
        Some((client, how))
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
            let _ = client.tell(&self.setup.name, &reply, &[]);
        }
    }

    fn welcome(&mut self) -> io::Result<()> {
        let Some(listener) = &self.listener else { return Ok(()) };
        if let Some((channel, _)) = listener.accept()?
            && self.clients.len() < MOST_CLIENTS
        {
            self.clients.insert(self.next_client, Client { channel, waits: Waits::Nothing, asked: None });
            self.next_client += 1;
        }
        Ok(())
    }

    /// Sends a client its answer; one that cannot be reached is let go.
    fn tell(&mut self, client: Option<u64>, reply: &Reply, descriptors: &[BorrowedFd<'_>]) {
        if let Some(client) = client
            && let Some(known) = self.clients.get(&client)
            && known.tell(&self.setup.name, reply, descriptors).is_err()
        {
            self.clients.remove(&client);
        }
    }

    fn attend(&mut self, id: u64) -> io::Result<()> {
        let Some(client) = self.clients.get(&id) else { return Ok(()) };
        let Ok(Some((message, descriptors))) = client.channel.receive_bytes() else { return self.part(id) };
        let obeyed = match short_way::strings(&message) {
            Some(strings) => self.obey_at_once(id, strings, &descriptors),
            // Of another version.
            None if message.first() == Some(&0) => self.send_back(id),
            None => match serde_json::from_slice::<Request>(&message) {
                Ok(request) => self.obey(id, request, &descriptors),
                Err(_) => return self.part(id),
            },
        };
        if let Err(refusal) = obeyed {
            self.tell(Some(id), &Reply::Refused(refusal), &[]);
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
}

fn failed(error: impl Into<io::Error>) -> Refusal {
    Refusal::Failed(error.into().raw_os_error().unwrap_or(0))
}
