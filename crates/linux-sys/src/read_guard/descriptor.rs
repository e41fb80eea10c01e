//! What a descriptor is: its filesystem, its identity, its path.

use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use cofferdam_policy::read_guard::PROCFS;
use rustix::fs::{CWD, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::{NotOpened, READ, Refusal, openat2};

/// One file, however it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    pub device: u64,
    pub inode: u64,
}

impl Identity {
    pub fn of(stat: &Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }

    /// The file at a path, links followed; `None` when there is none that we may see, in which case nothing
    /// that we could open is the same file.
    pub fn at(path: &Path) -> Option<Self> {
        rustix::fs::stat(path).ok().map(|stat| Self::of(&stat))
    }
}

/// Finds what is at a path without opening it: no device is touched, and a FIFO does not wait.
///
/// Links are followed, except for those of procfs that lead to an open file, a working directory or a root
/// of some process: they are not names of files but handles on them.
pub(super) fn look(path: &Path) -> Result<OwnedFd, NotOpened> {
    match openat2(CWD, path, OFlags::PATH, ResolveFlags::NO_MAGICLINKS) {
        Ok(descriptor) => Ok(descriptor),
        // The kernel has one number for both: a handle of procfs, and links that go round in circles.
        Err(Errno::LOOP) => match openat2(CWD, path, OFlags::PATH, ResolveFlags::empty()) {
            Err(Errno::LOOP) => Err(Errno::LOOP.into()),
            _ => Err(Refusal::MagicLink.into()),
        },
        // Not even we may look, which in a procfs is no matter of a file's mode.
        Err(Errno::ACCESS | Errno::PERM) if lies_in_procfs(path) => Err(Refusal::Process.into()),
        Err(error) => Err(error.into()),
    }
}

/// Whether the last directory on the way to a path that can be seen is one of a procfs.
fn lies_in_procfs(path: &Path) -> bool {
    path.ancestors()
        .skip(1)
        .find_map(|above| openat2(CWD, above, OFlags::PATH, ResolveFlags::NO_MAGICLINKS).ok())
        .is_some_and(|above| filesystem(&above) == Ok(PROCFS))
}

/// The number of the filesystem that a descriptor lies on. It has 32 bits in a field whose type varies.
pub(super) fn filesystem(descriptor: impl AsFd) -> rustix::io::Result<u32> {
    Ok(rustix::fs::fstatfs(descriptor)?.f_type as u32)
}

/// The root of a procfs at `/proc`, proven to be one, and the calling thread's descriptors in it.
pub(super) struct ProcRoot {
    root: OwnedFd,
    descriptors: OwnedFd,
}

impl ProcRoot {
    /// The inode number of the root directory of every procfs.
    const INODE: u64 = 1;

    pub fn open() -> Result<Self, NotOpened> {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let root = openat2(CWD, c"/proc", flags, ResolveFlags::NO_SYMLINKS).map_err(|_| NotOpened::NoProc)?;
        if filesystem(&root)? != PROCFS || rustix::fs::fstat(&root)?.st_ino != Self::INODE {
            return Err(NotOpened::NoProc);
        }
        // A thread may have descriptors of its own, so it is this thread's directory and not the process's.
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
        let descriptors = openat2(&root, c"thread-self/fd", flags, resolve).map_err(|_| NotOpened::NoProc)?;
        Ok(Self { root, descriptors })
    }

    /// Opens an entry of the root directory itself, and nothing that is mounted over it.
    pub fn open_entry(&self, name: &str) -> rustix::io::Result<OwnedFd> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        openat2(&self.root, name, READ, resolve)
    }

    /// The path of what a descriptor holds, as the kernel knows it.
    pub fn path_of(&self, descriptor: &OwnedFd) -> Result<PathBuf, NotOpened> {
        let number = descriptor.as_raw_fd().to_string();
        let mut path = rustix::fs::readlinkat(&self.descriptors, number, Vec::new())?.into_bytes();
        // A file without a name any more still lay somewhere.
        if path.ends_with(DELETED) && rustix::fs::fstat(descriptor)?.st_nlink == 0 {
            path.truncate(path.len() - DELETED.len());
        }
        let path = PathBuf::from(OsString::from_vec(path));
        if path.is_absolute() { Ok(path) } else { Err(Refusal::Unreachable.into()) }
    }

    /// Opens what a descriptor holds, through the descriptor: the one place that uses a handle of procfs,
    /// and it is our own.
    pub fn reopen(&self, descriptor: &OwnedFd) -> rustix::io::Result<OwnedFd> {
        openat2(&self.descriptors, descriptor.as_raw_fd().to_string(), READ, ResolveFlags::empty())
    }
}

/// What the kernel puts after the path of a file that was unlinked.
const DELETED: &[u8] = b" (deleted)";
