//! Large requests for memory, told before the kernel answers them ([seccomp_unotify]).
//!
//! A limit of the data of a process ends nothing by itself and is counted nowhere: the kernel refuses a request, and what
//! the program makes of that is its own affair. Who wants to know that a limit was met has to hear of the requests.
//! Only large ones are told, so that an ordinary program is not held up at all.
//!
//! [seccomp_unotify]: https://man7.org/linux/man-pages/man2/seccomp_unotify.2.html
#![expect(unsafe_code, reason = "seccomp(2) and its requests take pointers")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::seccomp::Instruction;

const LOAD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

/// A process that waits to be let go on with its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LargeRequest {
    id: u64,
    /// By its number in the namespace of whoever asks.
    pub process: i32,
    /// How much writable memory of its own it wants on top of what it has, at most.
    pub bytes: u64,
}

/// From here on this process, and what it starts, is held up when it asks for this much memory in one piece, until
/// whoever has the descriptor lets it go on. `no_new_privs` must be set.
pub fn watch(at_least: u32) -> io::Result<OwnedFd> {
    let filter = filter(at_least);
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(io::Error::other)?,
        filter: filter.as_ptr().cast_mut().cast(),
    };
    // SAFETY: `program` points to as many instructions as it says, laid out as the kernel reads them, which live until
    // the call returns; the kernel copies them.
    let listener = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const program,
        )
    };
    let listener = i32::try_from(listener).map_err(io::Error::other)?;
    if listener < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(listener) })
}

/// The next one who waits. An error means that there is none any more: it was ended meanwhile.
pub fn next(listener: BorrowedFd<'_>) -> io::Result<LargeRequest> {
    // SAFETY: zeros are a value of this structure of numbers, and the one that the kernel wants to be given.
    let mut told: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the request fills the structure that it is named after, which lives until it returns.
    if unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV as _, &raw mut told) } == -1
    {
        return Err(io::Error::last_os_error());
    }
    let [_, old_or_length, new_or_protection, flags, ..] = told.data.args;
    let call = libc::c_long::from(told.data.nr);
    let writable = new_or_protection & libc::PROT_WRITE as u64 != 0;
    let bytes = match call {
        libc::SYS_mremap => new_or_protection.saturating_sub(old_or_length),
        libc::SYS_mmap if !writable || flags & 0xf != libc::MAP_PRIVATE as u64 => 0,
        libc::SYS_mprotect if !writable => 0,
        _ => old_or_length,
    };
    Ok(LargeRequest { id: told.id, process: i32::try_from(told.pid).unwrap_or(0), bytes })
}

/// Has the kernel answer the request as if nobody had heard of it.
pub fn go_on(listener: BorrowedFd<'_>, request: LargeRequest) {
    let answer = libc::seccomp_notif_resp {
        id: request.id,
        val: 0,
        error: 0,
        flags: libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
    };
    // It fails if the process has ended, and then there is nobody to let go on.
    // SAFETY: the request reads the structure that it is named after, which lives until it returns.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND as _, &raw const answer) };
}

/// The places of the call's number and of the halves of its arguments in what a filter sees.
const CALL: u32 = 0;
const fn low(argument: u32) -> u32 {
    16 + 8 * argument
}
const fn high(argument: u32) -> u32 {
    low(argument) + 4
}

fn filter(at_least: u32) -> [Instruction; 14] {
    let line = |code, value, if_true, if_false| Instruction { code, if_true, if_false, value };
    let call = |number: libc::c_long| u32::try_from(number).unwrap_or(u32::MAX);
    [
        line(LOAD, CALL, 0, 0),
        line(IF_EQUAL, call(libc::SYS_mmap), 2, 0),
        line(IF_EQUAL, call(libc::SYS_mprotect), 1, 0),
        line(IF_EQUAL, call(libc::SYS_mremap), 4, 8),
        // Their length.
        line(LOAD, high(1), 0, 0),
        line(IF_EQUAL, 0, 0, 7),
        line(LOAD, low(1), 0, 0),
        line(IF_AT_LEAST, at_least, 5, 4),
        // The length that there is to be afterwards.
        line(LOAD, high(2), 0, 0),
        line(IF_EQUAL, 0, 0, 3),
        line(LOAD, low(2), 0, 0),
        line(IF_AT_LEAST, at_least, 1, 0),
        line(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
        line(RETURN, libc::SECCOMP_RET_USER_NOTIF, 0, 0),
    ]
}
