//! The worker as its supervisor sees it: there, on its way, or to be started again at some moment.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use cofferdam_policy::environment::ChildEnvironment;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::process::{Pid, Signal, WaitOptions, pidfd_send_signal, waitpid};

use crate::daemon::handover::{FromWorker, Job, ToWorker};
use crate::daemon::launch::{self, WorkerProcess};

/// A worker that lived for so long is started again at once, whatever was before.
const SOUND: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
const PING_EVERY: Duration = Duration::from_secs(5);
/// One that has not answered for so long hangs.
const HANGS_AFTER: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub struct Worker {
    state: Stage,
    /// How often in a row it died young.
    failures: u32,
    next_job: u64,
}

#[derive(Debug)]
enum Stage {
    Running(Running),
    Gone { again: Instant },
}

#[derive(Debug)]
struct Running {
    process: WorkerProcess,
    since: Instant,
    ready: bool,
    /// When it last said anything, and when it is asked next.
    heard: Instant,
    next_ping: Instant,
}

impl Worker {
    pub fn none_yet(now: Instant) -> Self {
        Self { state: Stage::Gone { again: now }, failures: 0, next_job: 1 }
    }

    pub fn start(&mut self, environment: &ChildEnvironment, now: Instant) -> io::Result<()> {
        let process = launch::start_worker(environment)?;
        set_socket_timeout(&process.channel, Timeout::Send, Some(HANGS_AFTER / 4))?;
        tracing::info!(worker = process.pid, "the worker was started");
        let next_ping = now + PING_EVERY;
        self.state = Stage::Running(Running { process, since: now, ready: false, heard: now, next_ping });
        Ok(())
    }

    /// Asks it for something; the number of the question, or nothing if nobody is there.
    pub fn ask(&mut self, job: Job, descriptors: &[BorrowedFd<'_>]) -> Option<u64> {
        let Stage::Running(running) = &self.state else { return None };
        let id = self.next_job;
        self.next_job += 1;
        match running.process.channel.send(&ToWorker { id, job }, descriptors) {
            Ok(()) => Some(id),
            Err(error) => {
                tracing::warn!("the worker does not listen: {error}");
                self.kill();
                None
            }
        }
    }

    /// What it says, if there is something.
    pub fn hear(&mut self, now: Instant) -> Option<FromWorker> {
        let Stage::Running(running) = &mut self.state else { return None };
        running.heard = now;
        match running.process.channel.receive() {
            Ok(Some((said, _))) => Some(said),
            // Its end is seen by its descriptor; what cannot be understood ends it.
            Ok(None) | Err(_) => {
                self.kill();
                None
            }
        }
    }

    pub fn became_ready(&mut self) {
        if let Stage::Running(running) = &mut self.state {
            running.ready = true;
        }
    }

    pub fn is_ready(&self) -> bool {
        matches!(&self.state, Stage::Running(running) if running.ready)
    }

    pub fn pid(&self) -> Option<u32> {
        match &self.state {
            Stage::Running(running) => u32::try_from(running.process.pid).ok(),
            Stage::Gone { .. } => None,
        }
    }

    /// Its messages, and its end.
    pub fn sources(&self) -> Option<(BorrowedFd<'_>, BorrowedFd<'_>)> {
        match &self.state {
            Stage::Running(running) => {
                Some((running.process.channel.as_fd(), running.process.process.as_fd()))
            }
            Stage::Gone { .. } => None,
        }
    }

    /// When something is to be done about it.
    pub fn deadline(&self) -> Instant {
        match &self.state {
            Stage::Running(running) => running.next_ping,
            Stage::Gone { again } => *again,
        }
    }

    pub fn is_due(&self, now: Instant) -> bool {
        matches!(&self.state, Stage::Gone { again } if *again <= now)
    }

    /// Sees to it that a worker that hangs is one that has ended.
    pub fn watch(&mut self, now: Instant) {
        let Stage::Running(running) = &mut self.state else { return };
        if running.next_ping > now {
            return;
        }
        running.next_ping = now + PING_EVERY;
        if now.saturating_duration_since(running.heard) > HANGS_AFTER {
            tracing::error!(worker = running.process.pid, "the worker hangs");
            self.kill();
        } else {
            self.ask(Job::Ping, &[]);
        }
    }

    /// It has ended. Decides when there is to be another one, and says how it ended.
    pub fn ended(&mut self, now: Instant) -> String {
        let Stage::Running(running) = &self.state else { return String::new() };
        let pid = Pid::from_raw(running.process.pid);
        let status = waitpid(pid, WaitOptions::empty()).ok().flatten().map(|(_, status)| status);
        let how = match status.map(|status| (status.exit_status(), status.terminating_signal())) {
            Some((_, Some(signal))) => format!("signal {signal}"),
            Some((Some(status), _)) => format!("status {status}"),
            _ => "nobody knows how".to_owned(),
        };
        let pause = if now.saturating_duration_since(running.since) >= SOUND {
            self.failures = 0;
            Duration::ZERO
        } else {
            self.failures += 1;
            let doubled = FIRST_PAUSE.saturating_mul(1 << self.failures.saturating_sub(2).min(10));
            if self.failures == 1 { Duration::ZERO } else { doubled.min(LONGEST_PAUSE) }
        };
        self.state = Stage::Gone { again: now + pause };
        how
    }

    pub fn kill(&self) {
        if let Stage::Running(running) = &self.state {
            // One that has ended needs no signal.
            let _ = pidfd_send_signal(&running.process.process, Signal::KILL);
        }
    }

    /// Ends it and waits for that: nothing of the daemon is left when the supervisor goes.
    pub fn end(&mut self) {
        self.kill();
        if let Stage::Running(running) = &self.state {
            let _ = waitpid(Pid::from_raw(running.process.pid), WaitOptions::empty());
        }
    }
}
