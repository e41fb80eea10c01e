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
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions};

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

/// Which processes are the sandbox's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// All in this process's own namespace.
    Namespace,
    /// Without one, those below this process: it is whose child every orphan of them becomes.
    Descendants,
}

#[derive(Debug)]
pub struct Trees {
    reach: Reach,
    first: u64,
    lowest: u64,
}

impl Trees {
    pub fn new(reach: Reach) -> Self {
        let first =
            rustix::process::getrlimit(Resource::Msgqueue).maximum.map_or(MOST, |most| most.min(MOST));
        Self { reach, first, lowest: first }
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
            for pid in self.processes() {
                let Some(process) = self.open(pid) else { continue };
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

    /// Ends every process of the sandbox but this one and waits until the last is gone, so that nothing is written
    /// any more.
    pub fn end_all(&self) {
        // Whoever loses its parent becomes a child of this process, so without children there is nobody.
        if matches!(rustix::process::wait(WaitOptions::NOHANG), Err(Errno::CHILD)) {
            return;
        }
        if self.reach == Reach::Namespace {
            // The number means all but the caller.
            let _ = rustix::process::kill_process_group(Pid::INIT, Signal::KILL);
            while !matches!(rustix::process::wait(WaitOptions::empty()), Err(Errno::CHILD)) {}
            return;
        }
        loop {
            for process in self.processes().into_iter().filter_map(|pid| self.open(pid)) {
                let _ = rustix::process::pidfd_send_signal(&process, Signal::KILL);
            }
            // One has ended, or all have: then others may have become children of this process.
            if matches!(rustix::process::wait(WaitOptions::empty()), Err(Errno::CHILD)) {
                return;
            }
        }
    }

    /// A process of the sandbox by its number. The descriptor comes first: what is asked afterwards is about the
    /// process that it means, or about one with the same number after that one's end, and then a signal goes nowhere.
    fn open(&self, pid: i32) -> Option<OwnedFd> {
        let process = rustix::process::pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        // Without a namespace the number may be anybody's by now. It is not while the descriptor says that it lives.
        let ours = self.reach == Reach::Namespace || (descends_from_this(pid) && is_alive(&process));
        ours.then_some(process)
    }

    /// Every process of the sandbox but this one. A process that may not be traced is missing in the list of all, but
    /// not in that of its parent's children; and when such a one is killed, its own children become this process's.
    fn processes(&self) -> BTreeSet<i32> {
        let this = rustix::process::getpid().as_raw_nonzero().get();
        let mut found = BTreeSet::from([this]);
        if self.reach == Reach::Namespace {
            let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
            found.extend(listed.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()));
            found.extend(children_of_all(&found));
        } else {
            let mut newest = found.clone();
            while !newest.is_empty() {
                newest = children_of_all(&newest).into_iter().filter(|pid| found.insert(*pid)).collect();
            }
        }
        found.remove(&this);
        found
    }
}

/// Whether the way up from a process, by the parents that they have now, comes to this one.
fn descends_from_this(mut pid: i32) -> bool {
    let this = rustix::process::getpid().as_raw_nonzero().get();
    // Longer than any way up can be; a number that changes hands meanwhile could make it go round.
    for _ in 0..4096 {
        match parent(pid) {
            Some(parent) if parent == this => return true,
            Some(parent) if parent > 1 => pid = parent,
            _ => return false,
        }
    }
    false
}

/// `pid (name) state parent …`, where the name is whatever the process likes, closing parentheses included.
fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn children_of_all(pids: &BTreeSet<i32>) -> Vec<i32> {
    pids.iter().flat_map(|pid| children(*pid)).collect()
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
