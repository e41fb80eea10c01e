//! Everything that one command has started, found again wherever it has moved to.
//!
//! In a sandbox with several commands the end of one must take its daemons along, which have left its session, its
//! process group and its parent. So every command starts with a mark that its descendants inherit and cannot take
//! off: the hard limit of the bytes in message queues, a little lower for every command. Without a capability a
//! limit can only be lowered, so what claims a lower one than was ever given belongs to every tree that ends.
//!
//! A reaper process for every command was rejected: it doubles the cost of a start. Where it stops: a process can
//! take the mark of a command that was started later than its own, in the same sandbox; the end of the sandbox
//! takes it all the same.

use std::fs;
use std::io;

use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal};

/// The kernel's default, and far more commands than a sandbox starts.
const MOST: u64 = 819_200;
/// A tree that still grows after so many rounds of being killed is left to the end of the sandbox.
const ROUNDS: usize = 1000;

/// The mark of one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(u64);

impl Mark {
    pub fn put_on_this_process(self) -> io::Result<()> {
        Ok(rustix::process::setrlimit(
            Resource::Msgqueue,
            Rlimit { current: Some(self.0), maximum: Some(self.0) },
        )?)
    }
}

#[derive(Debug)]
pub struct Trees {
    first: u64,
    lowest: u64,
}

impl Trees {
    pub fn new() -> Self {
        let first =
            rustix::process::getrlimit(Resource::Msgqueue).maximum.map_or(MOST, |most| most.min(MOST));
        Self { first, lowest: first }
    }

    /// The mark for a command that is about to start.
    pub fn begin(&mut self, id: u64) -> Mark {
        let mark = self.mark(id);
        self.lowest = self.lowest.min(mark.0);
        mark
    }

    fn mark(&self, id: u64) -> Mark {
        Mark(self.first - id % (self.first + 1))
    }

    /// Kills until none is left. What was killed is collected later, like every orphan.
    pub fn end(&self, id: u64) {
        let mark = self.mark(id).0;
        for _ in 0..ROUNDS {
            let mut found = false;
            for pid in processes() {
                // The descriptor comes first: what is read afterwards is about the process that it means, or about
                // one with the same number after that one's end, and then the signal goes nowhere.
                let Ok(process) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { continue };
                if read_mark(pid).is_some_and(|its| its == mark || its < self.lowest) {
                    let _ = rustix::process::pidfd_send_signal(&process, Signal::KILL);
                    found |= is_alive(pid);
                }
            }
            if !found {
                return;
            }
            std::thread::yield_now();
        }
    }
}

/// Every process but this one, the first.
fn processes() -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
        .filter(|pid| !pid.is_init())
        .collect()
}

fn read_mark(pid: Pid) -> Option<u64> {
    let limits = fs::read_to_string(format!("/proc/{}/limits", pid.as_raw_nonzero())).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max msgqueue size"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// A process that has ended and waits to be collected has nothing left to kill.
fn is_alive(pid: Pid) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())) else { return false };
    // The name stands in parentheses and may hold some itself.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
