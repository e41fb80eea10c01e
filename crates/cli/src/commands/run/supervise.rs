//! Waiting for a command: signals go in, time runs out, the end comes back.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use cofferdam_linux_sys::signals::Signals;
use cofferdam_sandbox::launch::{Exceeded, News, Prepared, Sandbox, Start};
use cofferdam_sandbox::messages::{Ended, NotStarted};
use cofferdam_sandbox::plan::Plan;
use cofferdam_sandbox::report::Report;
use cofferdam_sandbox::text::Text;
use rustix::event::{PollFd, PollFlags, Timespec};

use super::outcome;
use super::publish::Published;
use crate::exit::Exit;
use crate::failure::Failure;

const COMMAND: u64 = 1;
/// Signals that people and programs send to a launcher and mean for what it has launched.
const PASSED_ON: [i32; 6] = [1, 2, 3, 10, 12, 15];
const TERM: i32 = 15;
/// From the request to end until the end of all patience.
const GRACE: Duration = Duration::from_secs(2);

/// How a command ended, and what is to be told of it.
#[derive(Debug)]
pub struct End {
    pub how: How,
    pub held: Vec<Text>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Ended(Ended),
    NotStarted(NotStarted),
    /// It failed, and something in the sandbox had run into a limit.
    Exceeded(Exceeded, Ended),
    TimedOut,
    /// The sandbox itself was ended, from outside.
    Lost,
}

/// What to do while the command runs.
#[derive(Debug)]
pub struct Wait {
    pub timeout: Option<Duration>,
    pub published: Published,
}

/// Builds the sandbox for the command, and stays with it until both are gone.
pub fn supervise(
    prepared: Prepared,
    plan: &Plan,
    start: &Start<'_>,
    wait: Wait,
) -> Result<(Report, End), Failure> {
    let failed = |error: io::Error| Failure::new(Exit::NotStarted, format!("the sandbox was lost: {error}"));
    let signals = Signals::take_over(&PASSED_ON).map_err(failed)?;
    let built = prepared.build_for(plan, COMMAND, start);
    let (sandbox, report) = built.map_err(|problem| outcome::not_built(&problem))?;
    let Wait { timeout, published } = wait;
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    let mut watch = Watch { sandbox: &sandbox, published, deadline, how: None, ending: false };
    loop {
        if let Some(end) = watch.step(&signals).map_err(failed)? {
            return Ok((report, end));
        }
    }
}

struct Watch<'a> {
    sandbox: &'a Sandbox,
    published: Published,
    deadline: Option<Instant>,
    how: Option<How>,
    /// The command has been asked to end; at the deadline it is not asked any more.
    ending: bool,
}

impl Watch<'_> {
    fn step(&mut self, signals: &Signals) -> io::Result<Option<End>> {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let timeout = left
            .map(|left| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) });
        let mut ready = vec![
            PollFd::new(self.sandbox, PollFlags::IN),
            PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
        ];
        ready.extend(
            self.published.descriptors().map(|listener| PollFd::from_borrowed_fd(listener, PollFlags::IN)),
        );
        match rustix::event::poll(&mut ready, timeout.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok(None),
            other => other?,
        };
        let ready: Vec<bool> = ready.iter().map(|ready| !ready.revents().is_empty()).collect();
        let (news, signal) = (ready[0], ready[1]);
        for listener in (0..ready.len() - 2).filter(|listener| ready[listener + 2]) {
            self.published.accept(listener, self.sandbox)?;
        }
        if signal {
            self.pass_on(signals)?;
        }
        if news {
            return self.hear();
        }
        if left.is_some_and(|left| left.is_zero()) {
            self.time_is_up()?;
        }
        Ok(None)
    }

    fn pass_on(&mut self, signals: &Signals) -> io::Result<()> {
        while let Some(signal) = signals.next()? {
            self.sandbox.signal(COMMAND, signal)?;
            // Who asks the launcher to end, or closes its terminal, does not mean to wait for ever.
            if signal == TERM || signal == 1 {
                self.ending = true;
                self.deadline = Some(Instant::now() + GRACE);
            }
        }
        Ok(())
    }

    fn time_is_up(&mut self) -> io::Result<()> {
        if self.ending {
            self.deadline = None;
            return self.sandbox.finish();
        }
        self.how = Some(How::TimedOut);
        self.ending = true;
        self.deadline = Some(Instant::now() + GRACE);
        self.sandbox.signal(COMMAND, TERM)
    }

    fn hear(&mut self) -> io::Result<Option<End>> {
        let (id, news) = self.sandbox.news()?;
        match news {
            News::Started { .. } => {}
            News::Connected(socket) => self.published.connected(id, socket),
            News::NotStarted(why) => self.end(How::NotStarted(why)),
            News::Ended(Ended::Exited(0)) => self.end(How::Ended(Ended::Exited(0))),
            News::Ended(ended) => {
                let how =
                    self.sandbox.exceeded().map_or(How::Ended(ended), |limit| How::Exceeded(limit, ended));
                self.end(how);
            }
            News::Gone { held } => return Ok(Some(End { how: self.how.unwrap_or(How::Lost), held })),
        }
        Ok(None)
    }

    /// The first reason counts: a command that is ended by its timeout has timed out. The sandbox ends by itself.
    fn end(&mut self, how: How) {
        self.how.get_or_insert(how);
        self.deadline = None;
    }
}
