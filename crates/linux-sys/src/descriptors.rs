//! Descriptors at numbers of one's choice.
#![expect(unsafe_code, reason = "a number that is overwritten may have had an owner")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Makes `number` a copy of `descriptor` that survives the start of a program. Whatever was open there is closed,
/// so call it only right before one starts, when every owner in this process is about to be forgotten.
pub fn place(descriptor: BorrowedFd<'_>, number: i32) -> io::Result<()> {
    // SAFETY: dup2 reads and writes no memory; the caller starts a program next, so no owner uses `number` again.
    match unsafe { libc::dup2(descriptor.as_raw_fd(), number) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
