//! Limits of another process.

use std::io;

/// The bytes that this process may put into message queues, at most.
pub fn most_message_bytes(pid: i32) -> io::Result<u64> {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    #[expect(unsafe_code, reason = "the safe wrapper cannot ask without changing")]
    // SAFETY: no new limit is given, and `limit` is a live structure of the kind that the call fills.
    let asked = unsafe { libc::prlimit64(pid, libc::RLIMIT_MSGQUEUE, std::ptr::null(), &raw mut limit) };
    if asked == 0 { Ok(limit.rlim_max) } else { Err(io::Error::last_os_error()) }
}
