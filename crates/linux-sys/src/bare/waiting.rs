//! Waiting for an answer and for signals at once.

use super::Errno;
use super::call::{call, number};
use super::files::Descriptor;

const SIG_BLOCK: usize = 0;
const SIG_SETMASK: usize = 2;
/// How many bytes the kernel's signal sets have.
const SET: usize = 8;
const SFD_NONBLOCK: usize = 0o4000;
const SFD_CLOEXEC: usize = 0o2_000_000;
const POLLIN: i16 = 1;

/// Signals that arrive as data instead of interrupting, until this is dropped.
#[derive(Debug)]
pub struct Signals {
    descriptor: Descriptor,
    blocked_before: u64,
}

impl Signals {
    #[expect(unsafe_code, reason = "the kernel reads and fills sets of ours")]
    pub fn take_over(signals: &[u8]) -> Result<Self, Errno> {
        let set = signals.iter().fold(0_u64, |set, signal| set | 1 << (signal - 1));
        let mut blocked_before = 0_u64;
        let (new, old) = (&raw const set as usize, &raw mut blocked_before as usize);
        // SAFETY: both sets are 64 bits, as the length says, and ours.
        unsafe { call(number::RT_SIGPROCMASK, [SIG_BLOCK, new, old, SET, 0, 0]) }?;
        let flags = SFD_NONBLOCK | SFD_CLOEXEC;
        // SAFETY: as above; -1 asks for a new descriptor.
        match unsafe { call(number::SIGNALFD4, [usize::MAX, new, SET, flags, 0, 0]) } {
            Ok(made) => Ok(Self { descriptor: Descriptor(made as i32), blocked_before }),
            Err(error) => {
                block_only(blocked_before);
                Err(error)
            }
        }
    }

    /// The next signal that has arrived, if one has.
    pub fn next(&self) -> Option<u8> {
        // `struct signalfd_siginfo`, of which the first number is the signal's.
        let mut record = [0_u8; 128];
        let read = self.descriptor.read(&mut record).ok()?;
        (read == record.len()).then_some(record[0])
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        block_only(self.blocked_before);
    }
}

#[expect(unsafe_code, reason = "the kernel reads a set of ours")]
fn block_only(set: u64) {
    // SAFETY: the set is 64 bits, as the length says, and ours. The call cannot fail with these.
    let _ = unsafe { call(number::RT_SIGPROCMASK, [SIG_SETMASK, &raw const set as usize, 0, SET, 0, 0]) };
}

/// What there is to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    pub answer: bool,
    pub signal: bool,
}

#[repr(C)]
struct Awaited {
    descriptor: i32,
    events: i16,
    happened: i16,
}

/// Waits for an answer or a signal; for neither, if that takes longer than these seconds.
#[expect(unsafe_code, reason = "the kernel reads and fills structures of ours")]
pub fn wait(socket: &Descriptor, signals: &Signals, patience_seconds: Option<u64>) -> Ready {
    let awaited = |descriptor: &Descriptor| Awaited { descriptor: descriptor.0, events: POLLIN, happened: 0 };
    let mut both = [awaited(socket), awaited(&signals.descriptor)];
    let mut patience = [patience_seconds.unwrap_or(0), 0];
    let longest = if patience_seconds.is_some() { patience.as_mut_ptr() as usize } else { 0 };
    // SAFETY: two structures of the layout of `pollfd`, as the count says; seconds and nanoseconds, which the kernel
    // may lower, or a null for no limit; no signal set. All of it is ours alone. An interruption is as if nothing had happened.
    let _ = unsafe { call(number::PPOLL, [both.as_mut_ptr() as usize, both.len(), longest, 0, SET, 0]) };
    Ready { answer: both[0].happened != 0, signal: both[1].happened != 0 }
}
