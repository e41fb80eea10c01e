//! Signals as a descriptor, and back to their defaults before a program starts.
#![expect(unsafe_code, reason = "signal masks and signalfd have no safe wrapper")]

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// Signals that arrive as data instead of interrupting: blocked from now on, read from the descriptor.
#[derive(Debug)]
pub struct Signals(OwnedFd);

impl Signals {
    pub fn take_over(signals: &[i32]) -> io::Result<Self> {
        let set = set_of(signals)?;
        // SAFETY: `set` is an initialised signal set; the old mask is not asked for.
        check(unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) })?;
        // SAFETY: as above; -1 asks for a new descriptor.
        let descriptor =
            unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        check(descriptor)?;
        // SAFETY: the kernel has just made this descriptor, and nobody else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// The next signal that has arrived, if one has.
    pub fn next(&self) -> io::Result<Option<i32>> {
        Ok(self.next_with_sender()?.map(|arrived| arrived.signal))
    }

    /// The same with the process that sent it.
    pub fn next_with_sender(&self) -> io::Result<Option<Arrived>> {
        let mut record = [0u8; size_of::<libc::signalfd_siginfo>()];
        let field = |record: &[u8], at: usize| {
            i32::from_ne_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
        };
        match rustix::io::read(&self.0, &mut record) {
            Ok(_) => Ok(Some(Arrived {
                signal: field(&record, std::mem::offset_of!(libc::signalfd_siginfo, ssi_signo)),
                sender: field(&record, std::mem::offset_of!(libc::signalfd_siginfo, ssi_pid)),
            })),
            Err(rustix::io::Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// A signal that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    pub signal: i32,
    /// In this process's own namespace; nought for one that is not in it, and for the kernel.
    pub sender: i32,
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Nothing blocked and nothing ignored or caught: what a program expects when it starts.
pub fn reset() -> io::Result<()> {
    forget_handlers()?;
    unblock()
}

/// Nothing is ignored or caught any more. A process that starts many programs does this once, for all of them.
pub fn forget_handlers() -> io::Result<()> {
    for signal in 1..=libc::SIGRTMAX() {
        // The kernel refuses it for KILL, STOP and the two that the C library keeps; those are right already.
        // SAFETY: the default action runs no code of this process.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    Ok(())
}

/// Nothing is blocked any more: what a program expects when it starts.
pub fn unblock() -> io::Result<()> {
    let none = set_of(&[])?;
    // SAFETY: `none` is an initialised signal set.
    check(unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()) })
}

/// Everything is blocked until this is dropped.
#[derive(Debug)]
pub struct Blocked(libc::sigset_t);

impl Blocked {
    pub fn all() -> io::Result<Self> {
        let (mut all, mut before) = (set_of(&[])?, set_of(&[])?);
        // SAFETY: `all` is an initialised signal set.
        check(unsafe { libc::sigfillset(&raw mut all) })?;
        // SAFETY: both are initialised signal sets, and the call fills the second.
        check(unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const all, &raw mut before) })?;
        Ok(Self(before))
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the set was filled by the kernel.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

fn set_of(signals: &[i32]) -> io::Result<libc::sigset_t> {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the whole set.
    check(unsafe { libc::sigemptyset(set.as_mut_ptr()) })?;
    // SAFETY: it was initialised by the call above.
    let mut set = unsafe { set.assume_init() };
    for &signal in signals {
        // SAFETY: `set` is initialised; a number that is no signal is an error, not undefined.
        check(unsafe { libc::sigaddset(&raw mut set, signal) })?;
    }
    Ok(set)
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
