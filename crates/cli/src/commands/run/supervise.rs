//! Waiting for a command: signals go in, time runs out, the end comes back.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use cofferdam_linux_sys::signals::Signals;
use cofferdam_sandbox::launch::{News, Prepared, Sandbox, Start};
use cofferdam_sandbox::messages::{Ended, NotStarted};
use cofferdam_sandbox::plan::Plan;
use cofferdam_sandbox::report::Report;
use cofferdam_sandbox::text::Text;
use rustix::event::{PollFd, PollFlags, Timespec};

use super::outcome;
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
    TimedOut,
    /// The sandbox itself was ended, from outside.
    Lost,
}

/// Builds the sandbox for the command, and stays with it until both are gone.
pub fn supervise(
    prepared: Prepared,
    plan: &Plan,
    start: &Start<'_>,
    timeout: Option<Duration>,
) -> Result<(Report, End), Failure> {
    let failed = |error: io::Error| Failure::new(Exit::NotStarted, format!("the sandbox was lost: {error}"));
    let signals = Signals::take_over(&PASSED_ON).map_err(failed)?;
    let built = prepared.build_for(plan, COMMAND, start);
    let (sandbox, report) = built.map_err(|problem| outcome::not_built(&problem))?;
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    let mut watch = Watch { sandbox: &sandbox, deadline, how: None, ending: false };
    loop {
        if let Some(end) = watch.step(&signals).map_err(failed)? {
            return Ok((report, end));
        }
    }
}

struct Watch<'a> {
    sandbox: &'a Sandbox,
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
        let mut ready = [
            PollFd::new(self.sandbox, PollFlags::IN),
            PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
        ];
        match rustix::event::poll(&mut ready, timeout.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok(None),
            other => other?,
        };
        let [news, signal] = ready.map(|ready| !ready.revents().is_empty());
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
        match self.sandbox.news()?.1 {
            News::Started { .. } => {}
            News::NotStarted(why) => self.end(How::NotStarted(why)),
            News::Ended(ended) => self.end(How::Ended(ended)),
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
