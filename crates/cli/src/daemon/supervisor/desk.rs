//! The supervisor at work: one loop over the worker, the connections, and the signs from outside.

mod requests;

use std::collections::BTreeMap;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use cofferdam_audit::Event;
use cofferdam_audit::event::{DaemonStopped, StopCause, Worker as WorkerKind, WorkerCrashed};
use cofferdam_control::channel::Channel;
use cofferdam_control::messages::Reply;
use cofferdam_control::messages::egress::{self, KeptToken, Opening, Socket};
use cofferdam_linux_sys::footprint;
use cofferdam_policy::environment::ChildEnvironment;
use cofferdam_policy::registry::Registry;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::Office;
use super::clients::{Client, Connections};
use super::notify::Notifier;
use super::worker::Worker;
use crate::daemon::handover::{Answer, Born, FromWorker, Job};
use crate::daemon::launch;
use crate::exit::Exit;
use crate::outlet::stand_in::StandIn;

const HANGUP: i32 = 1;
/// A new worker is usually there before anybody has noticed; only after this does the supervisor answer itself.
const GRACE: Duration = Duration::from_millis(250);
/// Editors save in several steps.
const SETTLED: Duration = Duration::from_millis(100);

pub struct Desk {
    office: Office,
    /// Whoever waits for the daemon to be there.
    starter: Option<Channel>,
    environment: ChildEnvironment,
    worker: Worker,
    connections: Connections,
    clients: BTreeMap<u64, Client>,
    /// What the worker was asked, and for whom.
    asked: BTreeMap<u64, Asked>,
    stand_in: StandIn,
    notifier: Notifier,
    since: Instant,
    /// Since when nobody serves.
    unserved: Option<Instant>,
    restarts: u64,
    reload_at: Option<Instant>,
    mistakes: Vec<String>,
}

enum Asked {
    Begin,
    /// By the supervisor itself: on a signal, or because the file was saved.
    Reload,
    For {
        connection: u64,
        what: What,
    },
}

enum What {
    Open { client: u64, opening: Opening },
    Resume { client: u64, opening: Opening, tokens: Vec<KeptToken> },
    Leave,
    Serve,
    Reload,
    Status,
    Metrics,
}

/// What a descriptor in the loop belongs to.
#[derive(Clone, Copy)]
enum Source {
    WorkerEnd,
    Worker,
    Starter,
    Signals,
    Config,
    Control,
    Connection(u64),
    Door,
    StandIn,
}

/// Why the loop is left.
enum Over {
    Signal,
    StarterGone,
    NotBorn,
}

impl Desk {
    pub fn new(office: Office, starter: Option<Channel>) -> Self {
        let now = Instant::now();
        let notifier = Notifier::new(office.setup.notify.as_ref(), office.setup.watchdog_microseconds);
        Self {
            environment: launch::environment(&Registry::new(Vec::new())),
            office,
            starter,
            worker: Worker::none_yet(now),
            connections: Connections::default(),
            clients: BTreeMap::new(),
            asked: BTreeMap::new(),
            stand_in: StandIn::default(),
            notifier,
            since: now,
            unserved: Some(now),
            restarts: 0,
            reload_at: None,
            mistakes: Vec::new(),
        }
    }

    /// Serves until it is told to stop, or could not begin.
    pub fn serve(mut self) -> io::Result<Exit> {
        let over = loop {
            if let Some(over) = self.turn()? {
                break over;
            }
        };
        self.notifier.say("STOPPING=1");
        self.worker.end();
        match over {
            Over::Signal => {
                self.record(DaemonStopped { cause: StopCause::Signal, pid: std::process::id() });
                tracing::info!("stopped");
                Ok(Exit::Success)
            }
            Over::StarterGone => {
                tracing::warn!("stopped: whoever started the daemon did not wait for it");
                Ok(Exit::Unavailable)
            }
            Over::NotBorn => Ok(Exit::Unavailable),
        }
    }

    fn turn(&mut self) -> io::Result<Option<Over>> {
        let now = Instant::now();
        if self.worker.is_due(now) {
            self.start_worker(now)?;
        }
        for source in self.ready()? {
            if let Some(over) = self.attend(source, Instant::now())? {
                return Ok(Some(over));
            }
        }
        let now = Instant::now();
        self.worker.watch(now);
        self.stand_in.attend(now);
        self.notifier.give_sign(now);
        if self.reload_at.is_some_and(|at| at <= now) {
            let config = self.office.config.as_mut();
            self.reload_at = config.is_some_and(|config| config.is_being_written(now)).then(|| now + SETTLED);
            if self.reload_at.is_none() {
                self.reload();
            }
        }
        Ok(None)
    }

    fn attend(&mut self, source: Source, now: Instant) -> io::Result<Option<Over>> {
        match source {
            Source::WorkerEnd => self.worker_ended(now),
            Source::Worker => {
                if let Some(said) = self.worker.hear(now)
                    && let Some(over) = self.answered(said)
                {
                    return Ok(Some(over));
                }
            }
            // It never says anything; that it is readable means that it is gone.
            Source::Starter => return Ok(Some(Over::StarterGone)),
            Source::Signals => {
                while let Some(signal) = self.office.signals.next()? {
                    match signal {
                        HANGUP => self.reload_at = Some(now),
                        _ => return Ok(Some(Over::Signal)),
                    }
                }
            }
            Source::Config => {
                if self.office.config.as_ref().is_some_and(super::ConfigWatch::saved) {
                    self.reload_at = Some(now + SETTLED);
                }
            }
            Source::Control => {
                if let Some((channel, _)) = self.office.control.accept()? {
                    self.connections.welcome(channel);
                }
            }
            Source::Connection(connection) => self.hear(connection),
            Source::Door => self.stand_in_for_worker(now)?,
            Source::StandIn => {}
        }
        Ok(None)
    }

    fn ready(&self) -> io::Result<Vec<Source>> {
        let doors = if self.stands_in(Instant::now()) { self.doors()? } else { Vec::new() };
        let mut awaited: Vec<(Source, BorrowedFd<'_>)> = vec![
            (Source::Signals, self.office.signals.as_fd()),
            (Source::Control, self.office.control.as_fd()),
        ];
        if let Some((messages, end)) = self.worker.sources() {
            // In this order: what it said last is heard before it is buried.
            awaited.splice(0..0, [(Source::Worker, messages), (Source::WorkerEnd, end)]);
        }
        awaited.extend(self.starter.iter().map(|starter| (Source::Starter, starter.as_fd())));
        awaited.extend(self.office.config.iter().map(|config| (Source::Config, config.as_fd())));
        awaited.extend(self.connections.sources().map(|(id, source)| (Source::Connection(id), source)));
        awaited.extend(doors.iter().map(|door| (Source::Door, door.as_fd())));
        awaited.extend(self.stand_in.streams().map(|stream| (Source::StandIn, stream)));
        let longest = self.next_deadline().map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let ready = wait(awaited.iter().map(|(_, descriptor)| *descriptor), longest)?;
        let mut sources: Vec<Source> =
            awaited.iter().zip(ready).filter(|(_, ready)| *ready).map(|((source, _), _)| *source).collect();
        // One of many doors stands for all of them.
        sources.dedup_by(|one, other| matches!((one, other), (Source::Door, Source::Door)));
        Ok(sources)
    }

    fn next_deadline(&self) -> Option<Instant> {
        let grace = self.unserved.map(|since| since + GRACE).filter(|grace| *grace > Instant::now());
        [
            Some(self.worker.deadline()),
            self.stand_in.deadline(),
            self.notifier.next_sign(),
            self.reload_at,
            grace,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    // The worker.

    fn start_worker(&mut self, now: Instant) -> io::Result<()> {
        self.worker.start(&self.environment, now)?;
        let setup = &self.office.setup;
        let begin = Job::Begin {
            config: setup.config.clone(),
            state: setup.state.clone(),
            runtime: setup.runtime.clone(),
            pairing: *self.office.pairing,
            asks_about_sockets: self.office.sockets.is_some(),
        };
        let variables = self.office.variables.to_file()?;
        let mut given = vec![variables.as_fd(), self.office.shared.as_fd()];
        given.extend(self.office.sockets.iter().map(AsFd::as_fd));
        given.extend(self.office.metrics.iter().map(AsFd::as_fd));
        if let Some(id) = self.worker.ask(begin, &given) {
            self.asked.insert(id, Asked::Begin);
        }
        // Its clients are those of the worker before it, with the same tokens.
        for (id, client) in &self.clients {
            let kept = Some(client.tokens.clone());
            self.worker.ask(Job::Open { client: *id, opening: client.opening.clone(), kept }, &[]);
            let (sockets, descriptors): (Vec<Socket>, Vec<BorrowedFd<'_>>) =
                client.sockets.iter().map(|(kind, socket)| (*kind, socket.as_fd())).unzip();
            if !sockets.is_empty() {
                self.worker.ask(Job::Serve { client: *id, sockets }, &descriptors);
            }
        }
        Ok(())
    }

    fn worker_ended(&mut self, now: Instant) {
        let (pid, how) = (self.worker.pid(), self.worker.ended(now));
        self.restarts += 1;
        self.unserved.get_or_insert(now);
        tracing::error!(worker = pid, "the worker has ended ({how}); another one is started");
        self.record(WorkerCrashed { worker: WorkerKind::Proxy, restarted: true });
        let asked = std::mem::take(&mut self.asked);
        for asked in asked.into_values() {
            if let Asked::For { connection, what } = asked {
                let reply = self.unanswered(&what);
                self.connections.tell(connection, &reply);
            }
        }
    }

    fn answered(&mut self, said: FromWorker) -> Option<Over> {
        let (id, answer) = match said {
            FromWorker::Answer { id, answer } => (id, answer),
            // A client goes by the number of its connection.
            FromWorker::Told { client, line } => {
                self.connections.tell(client, &Reply::Egress(egress::Reply::Told(line)));
                return None;
            }
        };
        match (self.asked.remove(&id)?, answer) {
            (Asked::Begin, Answer::Failed { sentence, hint }) => return self.not_begun(sentence, hint),
            (Asked::Begin, _) => self.begun(),
            (Asked::Reload, answer) => {
                self.reloaded(&answer);
            }
            (Asked::For { connection, what }, answer) => {
                let reply = self.reply(connection, what, answer);
                self.connections.tell(connection, &reply);
            }
        }
        None
    }

    fn begun(&mut self) {
        self.worker.became_ready();
        self.unserved = None;
        tracing::info!(worker = self.worker.pid(), "serving");
        if self.restarts == 0 {
            self.notifier.say("READY=1");
        }
        if let Some(starter) = self.starter.take() {
            let pid = rustix::process::getpid().as_raw_nonzero().get();
            // Whoever started it has left in this very moment; it is there all the same.
            let _ = starter.send(&Born::Ready { pid }, &[]);
            leave_standard_input();
        }
        // From here on it only waits, for weeks if all goes well.
        footprint::shrink();
    }

    fn not_begun(&mut self, sentence: String, hint: Option<String>) -> Option<Over> {
        tracing::error!("the worker cannot serve: {sentence}");
        if self.restarts > 0 {
            return None;
        }
        if let Some(starter) = self.starter.take() {
            // As above.
            let _ = starter.send(&Born::Failed { sentence, hint }, &[]);
        }
        Some(Over::NotBorn)
    }

    // Another configuration.

    fn reload(&mut self) {
        if let Some(id) = self.worker.ask(Job::Reload, &[]) {
            self.asked.insert(id, Asked::Reload);
        }
    }

    /// What came of it, for whoever asked.
    fn reloaded(&mut self, answer: &Answer) -> Option<egress::Reply> {
        match answer {
            Answer::Reply(egress::Reply::Reloaded { notes }) => {
                self.mistakes.clear();
                tracing::info!("the configuration was read again");
                for note in notes {
                    tracing::warn!("{note}");
                }
                Some(egress::Reply::Reloaded { notes: notes.clone() })
            }
            Answer::Reply(egress::Reply::NotReloaded { mistakes }) => {
                self.mistakes.clone_from(mistakes);
                tracing::error!("the new configuration is not used: {}", mistakes.join("; "));
                Some(egress::Reply::NotReloaded { mistakes: mistakes.clone() })
            }
            _ => None,
        }
    }

    // While there is no worker.

    fn stands_in(&self, now: Instant) -> bool {
        self.unserved.is_some_and(|since| now.saturating_duration_since(since) >= GRACE)
            && self.starter.is_none()
    }

    fn doors(&self) -> io::Result<Vec<OwnedFd>> {
        let mut doors = vec![self.office.shared.as_fd().try_clone_to_owned()?];
        if let Some(metrics) = &self.office.metrics {
            doors.push(metrics.as_fd().try_clone_to_owned()?);
        }
        for client in self.clients.values() {
            doors.extend(client.doors()?);
        }
        Ok(doors)
    }

    fn stand_in_for_worker(&mut self, now: Instant) -> io::Result<()> {
        for door in self.doors()? {
            self.stand_in.accept(&TcpListener::from(door), now);
        }
        Ok(())
    }

    fn record(&self, event: impl Into<Event>) {
        // The worker refuses requests that cannot be recorded; that the supervisor's own news cannot be is logged.
        if let Err(error) = self.office.recorder.record(None, &event.into()) {
            tracing::error!("not recorded: {error}");
        }
    }
}

/// Waits for one of these, for at most this long.
fn wait<'a>(
    awaited: impl Iterator<Item = BorrowedFd<'a>>,
    longest: Option<Duration>,
) -> io::Result<Vec<bool>> {
    let mut ready: Vec<PollFd<'_>> =
        awaited.map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN)).collect();
    let longest = longest.map(|longest| Timespec {
        tv_sec: longest.as_secs().cast_signed(),
        tv_nsec: i64::from(longest.subsec_nanos()),
    });
    match poll(&mut ready, longest.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(ready.iter().map(|ready| !ready.revents().is_empty()).collect())
}

/// The connection to the one who started it was standard input.
fn leave_standard_input() {
    let null = std::fs::OpenOptions::new().read(true).open("/dev/null");
    let _ = null.map(|null| rustix::stdio::dup2_stdin(&null));
}
