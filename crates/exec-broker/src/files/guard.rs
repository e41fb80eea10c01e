//! The file guard, as far as a process inside a sandbox can have it.
//!
//! `linux_sys::read_guard` asks the kernel not to follow handles of procfs, by a call that a sandbox does not have. Here
//! it need not: whatever a handle leads to lies in the same sandbox, and this process has nothing open but its
//! connections. The rest is the same: every question is asked of a descriptor, and what passed is opened
//! through it.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use cofferdam_policy::read_guard::{KernelFilesystem, PROCFS, READABLE_PROC_FILES};
use cofferdam_policy::secret_paths::{self, SNIFFED_BYTES};
use rustix::fs::{CWD, FileType, Mode, OFlags};

use super::failed;
use crate::message::{ErrorKind, ToolError};

/// Bytes that are read at once; more than are looked at.
const CHUNK: usize = 64 << 10;

/// A file that may be read, as far as it was read to know that.
pub struct Opened {
    pub beginning: Vec<u8>,
    /// What follows; none if the beginning is all of it.
    pub rest: Option<File>,
}

/// Opens a file for reading if it may be read.
pub fn open(path: &str) -> Result<Opened, ToolError> {
    let refused = |why: String| ErrorKind::Denied.with(format!("{path} {why}"));
    let failed = |error: io::Error| failed("read", path, &error);
    let seen = look(path).map_err(failed)?;
    let stat = rustix::fs::fstat(&seen).map_err(|error| failed(error.into()))?;
    let magic = rustix::fs::fstatfs(&seen).map_err(|error| failed(error.into()))?.f_type as u32;
    let real = std::fs::read_link(handle(&seen)).map_err(failed)?;
    let about_the_machine =
        magic == PROCFS && READABLE_PROC_FILES.iter().any(|name| real == Path::new("/proc").join(name));
    if let (Some(filesystem), false) = (KernelFilesystem::by_magic(magic), about_the_machine) {
        return Err(refused(format!(
            "is on {}, which holds no files but windows into the kernel",
            filesystem.name
        )));
    }
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(refused("is not a regular file".to_owned()));
    }
    if let Some(kind) = secret_paths::kind_of_path(&real) {
        return Err(refused(format!("is {}", kind.description())));
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let file =
        rustix::fs::openat(CWD, handle(&seen), flags, Mode::empty()).map_err(|error| failed(error.into()))?;
    let file = File::from(file);
    let (beginning, ended) = beginning(&file, stat.st_size).map_err(failed)?;
    match secret_paths::kind_of_content(&beginning[..beginning.len().min(SNIFFED_BYTES)]) {
        Some(kind) => Err(refused(format!("is {}", kind.description()))),
        None => Ok(Opened { beginning, rest: (!ended).then_some(file) }),
    }
}

/// Enough to look at, and whether that is all. A file that is as long as it says is at its end; those of procfs say that
/// they are empty.
fn beginning(file: &File, size: i64) -> io::Result<(Vec<u8>, bool)> {
    let mut read = Vec::with_capacity(CHUNK);
    loop {
        let count = match rustix::io::read(file, rustix::buffer::spare_capacity(&mut read)) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other?,
        };
        if count == 0 || i64::try_from(read.len()) == Ok(size) {
            return Ok((read, true));
        }
        if read.len() >= SNIFFED_BYTES {
            return Ok((read, false));
        }
    }
}

/// Finds what is at a path without opening it: no device is touched, and a pipe does not wait.
fn look(path: &str) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}

fn handle(descriptor: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd())
}
