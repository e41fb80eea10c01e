//! From a path to a directory, one component at a time, so that what was checked is what is opened.

use std::ffi::OsStr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::error::{Expected, PrivateError, Problem};

/// What to do with a component that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Create,
    Report,
}

const DIRECTORY_MODE: u32 = 0o700;
const STEP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const LAST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// Opens the directory at `path`, creating what is missing with mode 0700, and checks that it is ours alone.
///
/// A link in the last component is refused whoever made it. Above that, a link is followed only where nobody
/// but the administrator can have put it (`/home` is one on some systems): a link that we would have had to
/// make ourselves was made by somebody else. `RESOLVE_NO_SYMLINKS` for the whole path cannot tell the two apart, and older
/// container filters refuse `openat2`, so it only ever says yes: to a path without any link, which is nearly every one.
pub(super) fn directory(path: &Path, missing: Missing) -> Result<OwnedFd, PrivateError> {
    if let Some(opened) = without_a_link(path) {
        return checked(opened, path);
    }
    let mut here = open_start(path)?;
    let mut so_far = PathBuf::new();
    let mut components = path.components().peekable();
    while let Some(component) = components.next() {
        let parent = so_far.clone();
        so_far.push(component);
        here = match component {
            Component::Normal(name) if components.peek().is_none() => {
                return last(&here, name, &so_far, missing);
            }
            Component::Normal(name) => step(&here, name, (&parent, &so_far), missing)?,
            Component::ParentDir => fs::openat(&here, "..", STEP, Mode::empty())
                .map_err(|errno| PrivateError::system(&so_far, "open", errno))?,
            Component::RootDir | Component::CurDir | Component::Prefix(_) => here,
        };
    }
    // Only `/`, `.` and `..` end without a name, and none of them is a private directory.
    Err(PrivateError::new(path, Problem::NotAName))
}

/// The directory, if it is there and no component on the way to it is a link: what the walk would have opened, in one call
/// instead of two for each component.
fn without_a_link(path: &Path) -> Option<OwnedFd> {
    let named = matches!(path.components().next_back(), Some(Component::Normal(_)));
    named.then(|| fs::openat2(CWD, path, LAST, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok())?
}

fn open_start(path: &Path) -> Result<OwnedFd, PrivateError> {
    let start = if path.is_absolute() { "/" } else { "." };
    fs::openat(CWD, start, STEP, Mode::empty()).map_err(|errno| PrivateError::system(start, "open", errno))
}

fn step(
    here: &OwnedFd,
    name: &OsStr,
    (parent, path): (&Path, &Path),
    missing: Missing,
) -> Result<OwnedFd, PrivateError> {
    match open_or_make(here, name, path, (STEP | OFlags::NOFOLLOW, missing)) {
        Err(error)
            if matches!(error.problem(), Problem::SymbolicLink) && administrators_own(here, parent) =>
        {
            fs::openat(here, name, STEP, Mode::empty())
                .map_err(|errno| PrivateError::system(path, "open", errno))
        }
        opened => opened,
    }
}

/// The last step, and the check.
pub(super) fn last(
    here: &OwnedFd,
    name: &OsStr,
    path: &Path,
    missing: Missing,
) -> Result<OwnedFd, PrivateError> {
    checked(open_or_make(here, name, path, (LAST, missing))?, path)
}

fn checked(opened: OwnedFd, path: &Path) -> Result<OwnedFd, PrivateError> {
    let stat = fs::fstat(&opened).map_err(|errno| PrivateError::system(path, "examine", errno))?;
    super::check_owner_and_mode(path, &stat, DIRECTORY_MODE)?;
    Ok(opened)
}

fn open_or_make(
    here: &OwnedFd,
    name: &OsStr,
    path: &Path,
    (flags, missing): (OFlags, Missing),
) -> Result<OwnedFd, PrivateError> {
    match fs::openat(here, name, flags, Mode::empty()) {
        Err(Errno::NOENT) if missing == Missing::Create => make(here, name, path, flags),
        Err(Errno::NOTDIR | Errno::LOOP) => Err(not_a_directory(here, name, path)),
        opened => opened.map_err(|errno| PrivateError::system(path, "open", errno)),
    }
}

fn make(here: &OwnedFd, name: &OsStr, path: &Path, flags: OFlags) -> Result<OwnedFd, PrivateError> {
    match fs::mkdirat(here, name, Mode::from_raw_mode(DIRECTORY_MODE)) {
        Ok(()) => restore_owner_bits(here, name)
            .map_err(|errno| PrivateError::system(path, "set the mode of", errno))?,
        // Another process was faster; what it made is checked like everything that was there before.
        Err(Errno::EXIST) => {}
        Err(errno) => return Err(PrivateError::system(path, "create", errno)),
    }
    match fs::openat(here, name, flags, Mode::empty()) {
        Err(Errno::NOTDIR | Errno::LOOP) => Err(not_a_directory(here, name, path)),
        opened => opened.map_err(|errno| PrivateError::system(path, "open", errno)),
    }
}

/// A umask such as 0277 takes the owner's own bits from a new directory. They are given back to the directory
/// itself, by its descriptor: a plain descriptor cannot be had without them, and a path could lead elsewhere.
fn restore_owner_bits(here: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    let made = fs::openat(here, name, STEP | OFlags::NOFOLLOW, Mode::empty())?;
    if fs::fstat(&made)?.st_mode & 0o777 == DIRECTORY_MODE {
        return Ok(());
    }
    let by_descriptor = format!("/proc/self/fd/{}", made.as_raw_fd());
    fs::chmod(by_descriptor, Mode::from_raw_mode(DIRECTORY_MODE))
}

fn not_a_directory(here: &OwnedFd, name: &OsStr, path: &Path) -> PrivateError {
    let is_link = fs::statat(here, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
    let problem = match is_link {
        true => Problem::SymbolicLink,
        false => Problem::WrongKind { expected: Expected::Directory },
    };
    PrivateError::new(path, problem)
}

/// Whether only the administrator can put an entry into this directory. For the administrator's own processes
/// that says nothing about who made a link, so for them it holds for `/` alone.
fn administrators_own(directory: &OwnedFd, path: &Path) -> bool {
    let by_root_alone = fs::fstat(directory).is_ok_and(|stat| stat.st_uid == 0 && stat.st_mode & 0o022 == 0);
    by_root_alone && (!geteuid().is_root() || path == Path::new("/"))
}
