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

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use cofferdam_linux_sys::limits;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal};

/// The kernel's default, and far more commands than a sandbox starts.
const MOST: u64 = 819_200;
/// A tree that still grows after so many rounds of being killed is left to the end of the sandbox.
const ROUNDS: usize = 1000;
const FIRST: i32 = 1;

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
        let mut ended = BTreeSet::new();
        for _ in 0..ROUNDS {
            let mut found = false;
            for pid in processes() {
                // The descriptor comes first: what is asked afterwards is about the process that it means, or about
                // one with the same number after that one's end, and then the signal goes nowhere.
                let Some(number) = Pid::from_raw(pid) else { continue };
                let Ok(process) = rustix::process::pidfd_open(number, PidfdFlags::empty()) else { continue };
                if limits::most_message_bytes(pid).is_ok_and(|its| its == mark || its < self.lowest) {
                    let _ = rustix::process::pidfd_send_signal(&process, Signal::KILL);
                    // Children that were hidden behind it are in the list of the next round, and only there.
                    found |= is_alive(&process) || ended.insert(pid);
                }
            }
            if !found {
                return;
            }
            std::thread::yield_now();
        }
    }
}

/// Every process but this one, the first. A process that may not be traced is missing in the list of all, but not
/// in that of its parent's children; and when such a one is killed, its own children become this process's.
fn processes() -> BTreeSet<i32> {
    let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut found: BTreeSet<i32> =
        listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    found.insert(FIRST);
    let children: Vec<i32> = found.iter().flat_map(|pid| children(*pid)).collect();
    found.extend(children);
    found.remove(&FIRST);
    found
}

fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split(' ').filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

/// The descriptor of a process is ready when it has ended.
fn is_alive(process: &OwnedFd) -> bool {
    let mut ended = [PollFd::new(process, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut ended, Some(&at_once)) == Ok(0)
}
