//! Files below a directory that is held open, never through a link.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a directory by its name. One that its owner cannot read is made readable first.
pub fn open_directory(at: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    match rustix::fs::openat(&at, name, DIRECTORY, Mode::empty()) {
        Err(Errno::ACCESS) => {
            rustix::fs::chmodat(&at, name, Mode::RWXU, AtFlags::empty())?;
            Ok(rustix::fs::openat(&at, name, DIRECTORY, Mode::empty())?)
        }
        other => Ok(other?),
    }
}

/// Opens what is at a path below `root`; a link on the way is an error.
pub fn beneath(root: &OwnedFd, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    Ok(rustix::fs::openat2(root, path, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty(), resolve)?)
}

/// The directory that a path is in, and its name there.
pub fn parent<'a>(root: &OwnedFd, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::other("the path has no name"));
    };
    Ok((beneath(root, parent, OFlags::PATH | OFlags::DIRECTORY)?, name))
}

/// The names in a directory, in order.
pub fn names(directory: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// What has this name in a directory.
pub fn look(directory: impl AsFd, name: &OsStr) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(None),
        other => Ok(Some(other?)),
    }
}

pub fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Removes a file, or a directory with all that is in it.
pub fn remove(directory: impl AsFd, name: &OsStr) -> io::Result<()> {
    match rustix::fs::unlinkat(&directory, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {}
        other => return Ok(other?),
    }
    let inner = open_directory(&directory, name)?;
    rustix::fs::fchmod(&inner, Mode::RWXU)?;
    for name in names(&inner)? {
        remove(&inner, &name)?;
    }
    Ok(rustix::fs::unlinkat(&directory, name, AtFlags::REMOVEDIR)?)
}
