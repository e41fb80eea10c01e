//! Ending a child together with everything it started.
//!
//! The group is killed by its number, which is safe while its leader has not been reaped. What left the
//! group (a job of a shell, a process that called `setsid`) is found in `/proc` and signalled through a
//! pidfd, never by number. Everything found is stopped first, so that the tree cannot grow while it is
//! searched, and killed last.

use std::collections::HashMap;
use std::fs;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, kill_process_group, pidfd_open, pidfd_send_signal};

/// A tree that is still growing after this many looks is one whose members die and are replaced; whatever
/// is held by then is killed.
const ROUNDS: usize = 64;

/// `leader` is a session leader and child of this process that has not been reaped. Errors mean that a
/// process was gone already, which is what was wanted.
pub(super) fn kill(leader: Pid) {
    let _ = kill_process_group(leader, Signal::STOP);
    let held = hold_descendants(leader);
    for pidfd in held.values() {
        let _ = pidfd_send_signal(pidfd, Signal::KILL);
    }
    let _ = kill_process_group(leader, Signal::KILL);
}

/// Stops every descendant that can be found and gives the handles to kill them with.
fn hold_descendants(leader: Pid) -> HashMap<Pid, OwnedFd> {
    let mut held = HashMap::new();
    if !proc_is_ours() {
        return held;
    }
    if let Ok(pidfd) = pidfd_open(leader, PidfdFlags::empty()) {
        held.insert(leader, pidfd);
    }
    for _ in 0..ROUNDS {
        let before = held.len();
        for pid in processes() {
            if !held.contains_key(&pid)
                && let Some(pidfd) = hold(pid, leader, &held)
            {
                held.insert(pid, pidfd);
            }
        }
        if held.len() == before {
            break;
        }
    }
    held
}

/// Stops a process if it is a descendant, with a proof that survives the reuse of process numbers: the
/// handle is taken first, then `/proc` is read, and the process was still alive afterwards, so what was read
/// was about this one. Its parent is ours if the parent's handle was alive after that as well; the number of
/// the session is ours because its leader has not been reaped.
fn hold(pid: Pid, leader: Pid, held: &HashMap<Pid, OwnedFd>) -> Option<OwnedFd> {
    let seen = Lineage::read(pid)?;
    if seen.session != leader && !held.contains_key(&seen.parent) {
        return None;
    }
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    let lineage = Lineage::read(pid)?;
    let belongs = lineage.session == leader || held.get(&lineage.parent).is_some_and(alive);
    if !belongs || !alive(&pidfd) {
        return None;
    }
    pidfd_send_signal(&pidfd, Signal::STOP).ok()?;
    Some(pidfd)
}

fn alive(pidfd: &OwnedFd) -> bool {
    let mut ended = [PollFd::new(pidfd, PollFlags::IN)];
    poll(&mut ended, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(0)
}

/// In a `/proc` of another PID namespace the numbers mean other processes.
fn proc_is_ours() -> bool {
    fs::read_link("/proc/self")
        .is_ok_and(|link| link.to_str().and_then(|pid| pid.parse().ok()) == Some(getpid().as_raw_pid()))
}

fn processes() -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()))
        .filter_map(Pid::from_raw)
        .collect()
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lineage {
    pub(super) parent: Pid,
    pub(super) session: Pid,
}

impl Lineage {
    fn read(pid: Pid) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?)
    }

    /// `pid (comm) state ppid pgrp session …`, where `comm` is whatever the process likes, closing
    /// parentheses included: the fields are counted from the last one.
    pub(super) fn parse(stat: &[u8]) -> Option<Self> {
        let after = stat.iter().rposition(|&byte| byte == b')')? + 1;
        let mut fields = std::str::from_utf8(&stat[after..]).ok()?.split_ascii_whitespace();
        let parent = fields.nth(1)?.parse().ok().and_then(Pid::from_raw)?;
        let session = fields.nth(1)?.parse().ok().and_then(Pid::from_raw)?;
        Some(Self { parent, session })
    }
}
