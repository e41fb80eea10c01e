//! Descriptors at numbers of one's choice.
#![expect(unsafe_code, reason = "a number that is overwritten may have had an owner")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Closes every descriptor above the standard streams but this one.
///
/// Call it only in a process that goes its own way for good, such as the copy that a clone has made: whoever
/// owned a descriptor further up the stack never runs again.
pub fn keep_only(kept: BorrowedFd<'_>) -> io::Result<()> {
    let kept = u32::try_from(kept.as_raw_fd()).map_err(io::Error::other)?;
    for (first, last) in [(3, kept.saturating_sub(1)), (kept + 1, u32::MAX)] {
        if first > last {
            continue;
        }
        // SAFETY: the call takes numbers only; the caller does not return to any owner of what is closed.
        if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Makes `number` a copy of `descriptor` that survives the start of a program. Whatever was open there is closed,
/// so call it only right before one starts, when every owner in this process is about to be forgotten.
pub fn place(descriptor: BorrowedFd<'_>, number: i32) -> io::Result<()> {
    // SAFETY: dup2 reads and writes no memory; the caller starts a program next, so no owner uses `number` again.
    match unsafe { libc::dup2(descriptor.as_raw_fd(), number) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Whether something that was sent to the other end of a connection has not been read there.
pub fn is_unread(connection: BorrowedFd<'_>) -> bool {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the request fills one number, which is ours alone.
    let asked = unsafe { libc::ioctl(connection.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    asked == 0 && bytes > 0
}

/// A copy of the descriptor that this process was started with at `number`.
pub fn inherited(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes numbers only, and one that is not open is an error.
    match unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: the kernel has just made this descriptor, and nobody else owns it.
        copy => Ok(unsafe { OwnedFd::from_raw_fd(copy) }),
    }
}
