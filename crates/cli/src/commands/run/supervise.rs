//! Waiting for a command: signals go in, time runs out, the end comes back.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use cofferdam_linux_sys::footprint;
use cofferdam_linux_sys::signals::Signals;
use cofferdam_sandbox::late::Late;
use cofferdam_sandbox::launch::{Exceeded, News, Prepared, Sandbox, Start};
use cofferdam_sandbox::messages::{Ended, NotStarted};
use cofferdam_sandbox::plan::Plan;
use cofferdam_sandbox::report::Report;
use cofferdam_sandbox::request::Request;
use cofferdam_sandbox::text::Text;
use rustix::event::{PollFd, PollFlags, Timespec};
use serde::{Deserialize, Serialize};

use super::outcome;
use super::publish::Published;
use super::record::Entry;
use crate::commands::late_secrets::LateSecrets;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::outlet::Outlet;
use crate::terminal::{self, Filtering, Heard, Raw, Relay, Side};

const COMMAND: u64 = 1;
/// Signals that people and programs send to a launcher and mean for what it has launched.
pub const PASSED_ON: [i32; 6] = [1, 2, 3, 10, 12, 15];
pub const TERM: i32 = 15;
pub const HANG_UP: i32 = 1;
pub const INTERRUPT: i32 = 2;
pub const QUIT: i32 = 3;
/// From the request to end until the end of all patience.
pub const GRACE: Duration = Duration::from_secs(2);
/// A process in which nothing has happened for this long will wait for longer, and needs little memory for that.
pub const AT_REST: Duration = Duration::from_millis(250);

/// How a command ended, and what is to be told of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct End {
    pub how: How,
    pub held: Vec<Text>,
    /// What the person should know, where it was not told meanwhile.
    pub told: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    Ended(Ended),
    NotStarted(NotStarted),
    /// It failed, and something in the sandbox had run into a limit.
    Exceeded(Exceeded, Ended),
    TimedOut,
    /// The sandbox itself was ended, from outside.
    Lost,
}

/// What the launcher keeps to while it waits.
pub struct Rules<'a> {
    pub timeout: Option<Duration>,
    /// For a command with a terminal.
    pub filtering: Filtering,
    pub published: Published,
    pub signals: Signals,
    /// What serves a sealed network.
    pub outlet: Option<&'a mut Outlet>,
    /// What was wished for, of which secrets may still appear.
    pub wish: &'a Request,
}

/// From here on signals wait to be read, in this thread and in those that it starts.
pub fn take_signals(interactive: bool) -> Result<Signals, Failure> {
    let mut taken: Vec<i32> = PASSED_ON.to_vec();
    if interactive {
        taken.extend(terminal::SIGNALS);
    }
    Signals::take_over(&taken)
        .map_err(|error| Failure::new(Exit::NotStarted, format!("signals cannot be passed on: {error}")))
}

/// Builds the sandbox for the command, and stays with it until both are gone. Nothing is started that the gate has not
/// approved; if it has changed since, the sandbox does not start it.
pub fn supervise(
    prepared: Prepared,
    plan: &Plan,
    start: &Start<'_>,
    rules: Rules<'_>,
    entry: &Entry<'_>,
) -> Result<(Report, End), Failure> {
    let failed = |error: io::Error| Failure::new(Exit::NotStarted, format!("the sandbox was lost: {error}"));
    let Rules { timeout, filtering, published, signals, outlet, wish } = rules;
    let built = prepared.build_for(plan, COMMAND, start);
    let (mut sandbox, report) = built.map_err(|problem| outcome::not_built(&problem))?;
    if let Some(outlet) = outlet {
        outlet.serve(sandbox.take_doors()).map_err(failed)?;
    }
    entry.started(&report)?;
    let mut watch = Watch {
        sandbox: &sandbox,
        late: LateSecrets::new(),
        wish: (wish, plan),
        told: Vec::new(),
        interactive: start.terminal.is_some(),
        filtering,
        published,
        terminal: None,
        deadline: timeout.map(|timeout| Instant::now() + timeout),
        how: None,
        ending: false,
        at_rest: false,
    };
    loop {
        if let Some(end) = watch.step(&signals).map_err(failed)? {
            watch.leave_terminal().map_err(failed)?;
            return Ok((report, end));
        }
    }
}

struct Watch<'a> {
    sandbox: &'a Sandbox,
    late: LateSecrets,
    wish: (&'a Request, &'a Plan),
    /// What the person is told at the end, because the command has their terminal.
    told: Vec<String>,
    interactive: bool,
    published: Published,
    filtering: Filtering,
    /// The person's terminal, while the command has one.
    terminal: Option<(Relay, Option<Raw>)>,
    deadline: Option<Instant>,
    how: Option<How>,
    /// The command has been asked to end; at the deadline it is not asked any more.
    ending: bool,
    /// What is not needed to wait has been given back.
    at_rest: bool,
}

impl Watch<'_> {
    fn step(&mut self, signals: &Signals) -> io::Result<Option<End>> {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let patience = (!self.at_rest).then_some(AT_REST);
        let wait = left.into_iter().chain(patience).chain(self.late.wait()).min();
        let timeout = wait
            .map(|wait| Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) });
        let sides = self.terminal.as_ref().map_or_else(Vec::new, |(relay, _)| relay.awaited());
        let mut ready = vec![
            PollFd::new(self.sandbox, PollFlags::IN),
            PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
        ];
        if let Some((relay, _)) = &self.terminal {
            ready.extend(
                sides.iter().map(|(side, wish)| PollFd::from_borrowed_fd(relay.descriptor(*side), *wish)),
            );
        }
        ready.extend(
            self.published.descriptors().map(|listener| PollFd::from_borrowed_fd(listener, PollFlags::IN)),
        );
        ready.extend(self.late.descriptor().map(|late| PollFd::from_borrowed_fd(late, PollFlags::IN)));
        match rustix::event::poll(&mut ready, timeout.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok(None),
            Ok(0) if wait == patience => {
                self.at_rest = true;
                footprint::shrink();
            }
            other => drop(other?),
        }
        let mut ready: Vec<PollFlags> = ready.iter().map(PollFd::revents).collect();
        if self.late.descriptor().is_some() && ready.pop().is_some_and(|late| !late.is_empty()) {
            let line = self.late.hear();
            self.tell(line);
        }
        self.late.go_on(self.sandbox);
        let listeners = 2 + sides.len();
        for (listener, _) in ready[listeners..].iter().enumerate().filter(|(_, ready)| !ready.is_empty()) {
            self.published.accept(listener, self.sandbox)?;
        }
        if !ready[1].is_empty() {
            self.pass_on(signals)?;
        }
        let sides: Vec<_> = sides.iter().zip(&ready[2..]).map(|((side, _), ready)| (*side, *ready)).collect();
        self.serve_terminal(&sides)?;
        if !ready[0].is_empty() {
            return self.hear();
        }
        if left.is_some_and(|left| left.is_zero()) {
            self.time_is_up();
        }
        Ok(None)
    }

    fn tell(&mut self, line: Option<String>) {
        if self.interactive {
            self.told.extend(line);
        } else if let Some(line) = line {
            eprintln!("cofferdam: {line}");
        }
    }

    fn serve_terminal(&mut self, ready: &[(Side, PollFlags)]) -> io::Result<()> {
        let Some((relay, _)) = &mut self.terminal else { return Ok(()) };
        match relay.serve(ready)? {
            Heard::Nothing | Heard::Detach => {}
            Heard::HungUp => self.ask_to_end(HANG_UP),
        }
        Ok(())
    }

    fn leave_terminal(&mut self) -> io::Result<()> {
        match self.terminal.take() {
            Some((relay, _raw_until_here)) => relay.finish(),
            None => Ok(()),
        }
    }

    fn pass_on(&mut self, signals: &Signals) -> io::Result<()> {
        while let Some(signal) = signals.next()? {
            match (signal, &self.terminal) {
                // Who asks the launcher to end, or closes its terminal, does not mean to wait for ever.
                (TERM | HANG_UP, _) => self.ask_to_end(signal),
                (terminal::WINDOW_CHANGED, Some((relay, _))) => relay.resize(),
                (terminal::STOP, Some((_, Some(raw)))) => raw.pause()?,
                (terminal::CONTINUE, Some((relay, Some(raw)))) => {
                    raw.again();
                    relay.resize();
                }
                (terminal::WINDOW_CHANGED | terminal::STOP | terminal::CONTINUE, _) => {}
                (signal, _) => self.send(signal),
            }
        }
        Ok(())
    }

    fn ask_to_end(&mut self, signal: i32) {
        // Asking again gives no more time.
        if !self.ending {
            self.ending = true;
            self.deadline = Some(Instant::now() + GRACE);
        }
        self.send(signal);
    }

    /// A sandbox that is gone already has left word of how it ended, which comes next.
    fn send(&self, signal: i32) {
        let _ = self.sandbox.signal(COMMAND, signal);
    }

    fn time_is_up(&mut self) {
        if self.ending {
            self.deadline = None;
            // As above: if it cannot be asked, it has ended.
            let _ = self.sandbox.finish();
            return;
        }
        self.how = Some(How::TimedOut);
        self.ask_to_end(TERM);
    }

    fn hear(&mut self) -> io::Result<Option<End>> {
        let (id, news) = self.sandbox.news()?;
        match news {
            News::Started { terminal: None } => {}
            News::Started { terminal: Some(controller) } => {
                let relay = Relay::new(controller, self.filtering)?;
                // Between the start and now the window may have changed.
                relay.resize();
                self.terminal = Some((relay, Raw::enter()?));
            }
            News::Connected(socket) => self.published.connected(id, socket),
            News::Namespaces(namespaces) => {
                let line = self.late.begin(&Late::of(self.wish.0, self.wish.1), &namespaces);
                self.tell(line);
            }
            News::NotStarted(why) => self.end(How::NotStarted(why)),
            News::Ended { how, met, .. } => self.ended(how, met),
            News::Gone { ended, met, held } => {
                if let Some(how) = ended {
                    self.ended(how, met);
                }
                let how = self.how.unwrap_or(How::Lost);
                return Ok(Some(End { how, held, told: std::mem::take(&mut self.told) }));
            }
        }
        Ok(None)
    }

    /// What the control group has counted comes first; a limit of single processes was met only as far as is known.
    fn ended(&mut self, ended: Ended, met: Option<Exceeded>) {
        let exceeded = if ended == Ended::Exited(0) { None } else { self.sandbox.exceeded().or(met) };
        self.end(exceeded.map_or(How::Ended(ended), |limit| How::Exceeded(limit, ended)));
    }

    /// The first reason counts: a command that is ended by its timeout has timed out. The sandbox ends by itself.
    fn end(&mut self, how: How) {
        self.how.get_or_insert(how);
        self.deadline = None;
    }
}
