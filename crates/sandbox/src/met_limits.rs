//! Whether a command that failed had met a limit of single processes, of which the kernel keeps no account.
//!
//! Memory is refused in silence, so requests that are large beside the limit are heard of before they are answered, and of
//! many small ones it is known how far they got. Processes are counted when the command has failed: what it could not
//! start one more of is still there. Both say that a limit was met, and not that nothing else went wrong.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use cofferdam_linux_sys::large_requests;
use cofferdam_linux_sys::limits::own_most_memory;

use rustix::event::PollFlags;

use crate::control_group::Exceeded;
use crate::plan::Limits;
use crate::trees::Reach;

/// What the first process knows of the commands' limits.
#[derive(Debug)]
pub struct MetLimits {
    memory: Option<u64>,
    processes: Option<u64>,
    /// Where large requests of a command are heard of.
    requests: Vec<(u64, OwnedFd)>,
    /// Commands of which a request was more than was left.
    refused: BTreeSet<u64>,
}

/// A request for this part of the limit is large.
pub fn large(memory: u64) -> u32 {
    u32::try_from((memory / 16).max(1 << 20)).unwrap_or(u32::MAX)
}

impl MetLimits {
    pub fn new(limits: &Limits, reach: Reach) -> Self {
        // Without a namespace the limit counts all processes of the person, which are nobody's to look through.
        let processes = limits.processes.filter(|_| reach == Reach::Namespace);
        Self { memory: limits.memory, processes, requests: Vec::new(), refused: BTreeSet::new() }
    }

    pub fn hear(&mut self, command: u64, requests: Option<OwnedFd>) {
        self.requests.extend(requests.map(|requests| (command, requests)));
    }

    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.requests.iter().map(|(_, requests)| requests.as_fd())
    }

    /// Lets those go on that wait. Of a descriptor without a user left nothing is heard any more.
    pub fn answer(&mut self, ready: &[PollFlags]) {
        let most = self.memory.unwrap_or(u64::MAX);
        for ((command, requests), ready) in self.requests.iter().zip(ready) {
            // One that was ended meanwhile is not there any more.
            let waits = ready.contains(PollFlags::IN).then(|| large_requests::next(requests.as_fd()));
            let Some(Ok(request)) = waits else { continue };
            if data_of(request.process).saturating_add(request.bytes) > most {
                self.refused.insert(*command);
            }
            large_requests::go_on(requests.as_fd(), request);
        }
        let mut ready = ready.iter();
        self.requests.retain(|_| ready.next().is_none_or(|ready| !ready.contains(PollFlags::HUP)));
    }

    /// To be asked when a command has failed, before anything else is ended, with the most memory that it used.
    pub fn met(&mut self, command: u64, most_memory: u64) -> Option<Exceeded> {
        // A command begins with the memory of this process.
        let grown = |most: u64| most_memory >= most / 10 * 9 && most_memory > own_most_memory();
        if self.refused.remove(&command) || self.memory.is_some_and(grown) {
            return Some(Exceeded::Memory);
        }
        // Numbers of processes that have ended are not all given out again, so not all of them can be in use.
        let crowded = |most: u64| tasks() >= most / 10 * 9;
        self.processes.is_some_and(crowded).then_some(Exceeded::Processes)
    }
}

/// The writable memory of its own that a process has.
fn data_of(process: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let data = status.lines().find_map(|line| line.strip_prefix("VmData:"));
    let kibibytes = data.and_then(|data| data.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kibibytes.unwrap_or(0) << 10
}

/// How many processes and threads there are.
fn tasks() -> u64 {
    let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes =
        listed.filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit));
    processes
        .map(|entry| fs::read_dir(entry.path().join("task")).map_or(1, |tasks| tasks.count() as u64))
        .sum()
}
