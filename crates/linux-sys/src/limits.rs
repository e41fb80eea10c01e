//! Limits of another process, and how near it came to one.

use std::io;
use std::mem::MaybeUninit;

/// The bytes that this process may put into message queues, at most.
pub fn most_message_bytes(pid: i32) -> io::Result<u64> {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    #[expect(unsafe_code, reason = "the safe wrapper cannot ask without changing")]
    // SAFETY: no new limit is given, and `limit` is a live structure of the kind that the call fills.
    let asked = unsafe { libc::prlimit64(pid, libc::RLIMIT_MSGQUEUE, std::ptr::null(), &raw mut limit) };
    if asked == 0 { Ok(limit.rlim_max) } else { Err(io::Error::last_os_error()) }
}

/// A child that has ended, and is waited for with this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collected {
    pub pid: i32,
    pub end: End,
    /// The most bytes of memory that it, or one that it had waited for, had in use at a time.
    pub most_memory: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Exited(i32),
    Killed(i32),
}

/// Waits for any child that has ended; none if all are alive. Without a child that is an error.
#[expect(unsafe_code, reason = "the safe wrapper does not tell what was used")]
pub fn collect_any() -> io::Result<Option<Collected>> {
    let mut status = 0;
    let mut used = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both are live, and of the kinds that the call fills.
    let pid = unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, used.as_mut_ptr()) };
    // SAFETY: zeros, which it was before, are a value of this structure of numbers.
    let used = unsafe { used.assume_init() };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        pid => {
            let end = if libc::WIFSIGNALED(status) {
                End::Killed(libc::WTERMSIG(status))
            } else {
                End::Exited(libc::WEXITSTATUS(status))
            };
            Ok(Some(Collected { pid, end, most_memory: bytes(used) }))
        }
    }
}

/// The most bytes of memory that this process had in use at a time.
#[expect(unsafe_code, reason = "there is no safe wrapper")]
pub fn own_most_memory() -> u64 {
    let mut used = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: it is live, and of the kind that the call fills.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, used.as_mut_ptr()) };
    // SAFETY: as above.
    bytes(unsafe { used.assume_init() })
}

fn bytes(used: libc::rusage) -> u64 {
    u64::try_from(used.ru_maxrss).unwrap_or(0) << 10
}
