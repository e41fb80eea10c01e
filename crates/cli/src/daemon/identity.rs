//! Which process the daemon is, across separate calls: its number alone says nothing, because numbers are used again.
//!
//! Beside the number the file holds when the process began, in which boot, and a random word that stands on the
//! process's own command line. All of it is compared *after* a descriptor of the process was opened, and signals go
//! through that descriptor: they reach the process that was compared or nobody.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use cofferdam_linux_sys::private::{Lock, PrivateDir, PrivateError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

const PID_FILE: &str = "daemon.pid";
const LOCK_FILE: &str = "daemon.lock";
const LONGEST: u64 = 4096;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub pid: i32,
    /// In ticks since the boot.
    started: u64,
    boot: String,
    nonce: String,
}

/// The right to be the daemon of this directory. Gone with the process, however it ends.
#[derive(Debug)]
pub struct Tenure {
    runtime: PrivateDir,
    _lock: Lock,
}

/// A running daemon, held so that no other process can take its place.
#[derive(Debug)]
pub struct Found {
    pub identity: Identity,
    process: OwnedFd,
}

impl Identity {
    fn own(nonce: &str) -> io::Result<Self> {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        Ok(Self { pid, started: start_time(pid)?, boot: boot()?, nonce: nonce.to_owned() })
    }

    fn is_that_of(&self, pid: i32) -> bool {
        let same_word = || {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).any(|word| word == self.nonce.as_bytes())
        };
        start_time(pid).is_ok_and(|started| started == self.started)
            && boot().is_ok_and(|boot| boot == self.boot)
            && same_word()
    }
}

/// A word that no other process has on its command line.
pub fn nonce() -> io::Result<String> {
    let mut random = [0; 16];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Tenure {
    /// Takes the place of the daemon, or gives nothing if another process has it. A file that a crash left behind is
    /// overwritten: without the lock it says nothing.
    pub fn take(runtime: &Path, nonce: &str) -> Result<Option<Self>, PrivateError> {
        let directory = PrivateDir::open_or_create(runtime)?;
        let Some(lock) = directory.try_lock(LOCK_FILE)? else { return Ok(None) };
        let failed = |source| PrivateError::system(runtime.join(PID_FILE), "write", source);
        let identity = Identity::own(nonce).map_err(failed)?;
        let text = serde_json::to_vec(&identity).map_err(|error| failed(error.into()))?;
        directory.write_atomically(PID_FILE, &text)?;
        Ok(Some(Self { runtime: directory, _lock: lock }))
    }
}

impl Drop for Tenure {
    fn drop(&mut self) {
        // The lock is still ours, so the file is.
        let _ = self.runtime.remove(PID_FILE);
    }
}

impl Found {
    /// The daemon of this directory, if one runs.
    pub fn look(runtime: &Path) -> Result<Option<Self>, PrivateError> {
        let Some(directory) = PrivateDir::open(runtime)? else { return Ok(None) };
        let text = match directory.read(PID_FILE, LONGEST) {
            Ok(text) => text,
            Err(error) if error.io_kind() == Some(io::ErrorKind::NotFound) => return Ok(None),
            Err(error) => return Err(error),
        };
        // What cannot be read was not written by a daemon that lives.
        let Ok(identity) = serde_json::from_slice::<Identity>(&text) else { return Ok(None) };
        let Some(pid) = Pid::from_raw(identity.pid) else { return Ok(None) };
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return Ok(None) };
        Ok(identity.is_that_of(identity.pid).then_some(Self { identity, process }))
    }

    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.process, signal)?)
    }

    /// Whether the process ended within this time.
    pub fn ended_within(&self, longest: Duration) -> io::Result<bool> {
        wait_for_end(&self.process, longest)
    }
}

/// Whether a process ended within this time.
pub fn wait_for_end(process: impl AsFd, longest: Duration) -> io::Result<bool> {
    let end = std::time::Instant::now() + longest;
    loop {
        let left = end.saturating_duration_since(std::time::Instant::now());
        let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: i64::from(left.subsec_nanos()) };
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&left)) {
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// When a process began. Its name stands in brackets and may hold brackets and spaces itself, so the fields are
/// counted from the last one.
fn start_time(pid: i32) -> io::Result<u64> {
    let text = fs::read(format!("/proc/{pid}/stat"))?;
    parse_start_time(&text).ok_or_else(|| io::Error::other("the process table cannot be read"))
}

fn parse_start_time(stat: &[u8]) -> Option<u64> {
    let after_name = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
    // The 22nd field of the line is the 20th after the name.
    std::str::from_utf8(after_name).ok()?.split_ascii_whitespace().nth(19)?.parse().ok()
}

fn boot() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn req_e13_a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
        let stat = |name: &str| format!("7 ({name}) S 1 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 4242 9 9\n");
        for name in ["plain", "a b", "a) S 1", "((", "x) (y", ")"] {
            assert_eq!(parse_start_time(stat(name).as_bytes()), Some(4242), "{name}");
        }
        assert_eq!(parse_start_time(b"7 (cut"), None);
    }

    #[test]
    fn req_e13_another_process_under_the_same_number_is_not_the_daemon() {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let word = std::env::args().next().unwrap();
        let own = Identity::own(&word).unwrap();
        assert!(own.is_that_of(pid));
        assert!(!Identity { started: own.started + 1, ..own.clone() }.is_that_of(pid));
        assert!(!Identity { boot: "another".to_owned(), ..own.clone() }.is_that_of(pid));
        assert!(!Identity { nonce: "another".to_owned(), ..own }.is_that_of(pid));
    }
}
