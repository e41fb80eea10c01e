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
        let mut record = [0u8; size_of::<libc::signalfd_siginfo>()];
        match rustix::io::read(&self.0, &mut record) {
            Ok(_) => Ok(Some(i32::from_ne_bytes([record[0], record[1], record[2], record[3]]))),
            Err(rustix::io::Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Nothing is ignored or caught any more.
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
