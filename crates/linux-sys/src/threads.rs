//! Whether this process has one thread.

use std::{fs, io};

/// Fails unless the calling thread is the only one.
pub fn require_single() -> io::Result<()> {
    match fs::metadata("/proc/self/task") {
        // A directory has a link for itself, one for its name, and one for each directory in it.
        Ok(task) if std::os::unix::fs::MetadataExt::nlink(&task) == 3 => Ok(()),
        Ok(_) => Err(io::Error::other("this process has more than one thread")),
        Err(error) => Err(error),
    }
}
