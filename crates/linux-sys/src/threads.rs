//! Whether this process has one thread.
#![expect(unsafe_code, reason = "unshare has no safe wrapper for this question")]

use std::{fs, io};

/// Fails unless the calling thread is the only one.
pub fn require_single() -> io::Result<()> {
    // To leave the threads beside it changes nothing for a thread that has none, and is refused to any other. It is
    // asked on the way of every start, and looking into /proc takes fifty times as long.
    // SAFETY: the call takes a number and no pointer.
    if unsafe { libc::unshare(libc::CLONE_THREAD) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::EINVAL) => Err(several()),
        // A filter around this process does not let the call through, whatever it asks for.
        _ => look(),
    }
}

fn look() -> io::Result<()> {
    match fs::metadata("/proc/self/task") {
        // A directory has a link for itself, one for its name, and one for each directory in it.
        Ok(task) if std::os::unix::fs::MetadataExt::nlink(&task) == 3 => Ok(()),
        Ok(_) => Err(several()),
        Err(error) => Err(error),
    }
}

fn several() -> io::Error {
    io::Error::other("this process has more than one thread")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_thread_is_seen_either_way() {
        // The test harness runs every test in a thread of its own.
        assert!(require_single().is_err() && look().is_err());
    }
}
