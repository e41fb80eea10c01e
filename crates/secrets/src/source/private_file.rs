//! Opening a file that only its owner can read or change. Every check is made on the descriptor that is then
//! read, so that nothing can be swapped in between.
//!
//! Links: the last part of a path may be a symbolic link (dotfile managers and container orchestrators use
//! them) if it belongs to the user or to root; whoever owns a link decides what it names. Directories on the
//! way are followed as the kernel follows them: a file that passes the checks on its owner and mode is
//! private, whichever way led to it.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, open, readlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;
use zeroize::Zeroizing;

use super::SourceError;

/// Enough for any list of variables or service account.
const MAX_SIZE: u64 = 1024 * 1024;
const MAX_LINKS: usize = 8;

/// The whole contents of a private file, in memory that is wiped.
pub(super) fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    let file = open_private(path)?;
    let not_read = |cause| SourceError::FileNotRead { path: path.to_owned(), cause };
    let size = file.metadata().map_err(not_read)?.len();
    let too_large = || SourceError::FileTooLarge { path: path.to_owned(), limit: MAX_SIZE };
    if size > MAX_SIZE {
        return Err(too_large());
    }
    // One byte more than the limit, and at once: a vector that grows leaves copies behind. The size may be
    // wrong by now, so it decides nothing else.
    let limit = usize::try_from(MAX_SIZE).expect("a small number") + 1;
    let mut bytes =
        Zeroizing::new(vec![0; limit.min(usize::try_from(size).expect("at most the limit") + 4096)]);
    let mut length = 0;
    while length < bytes.len() {
        match (&file).read(&mut bytes[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(not_read(error)),
        }
    }
    // A file that grew by more than a page while it was read is being written, and half of it is not it.
    if length == bytes.len() {
        return Err(too_large());
    }
    bytes.truncate(length);
    Ok(bytes)
}

fn open_private(path: &Path) -> Result<File, SourceError> {
    let mut at = path.to_owned();
    for _ in 0..MAX_LINKS {
        // Non-blocking, so that a FIFO is opened and refused instead of waited for; it changes nothing for
        // a regular file.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        match open(&at, flags, Mode::empty()) {
            Ok(descriptor) => {
                let file = File::from(descriptor);
                let stat = fstat(&file).map_err(|cause| not_opened(&at, cause))?;
                check(&at, &stat)?;
                return Ok(file);
            }
            Err(Errno::LOOP) => at = follow(&at)?,
            // What a socket gives.
            Err(Errno::NXIO) => return Err(SourceError::NotARegularFile { path: at }),
            Err(cause) => return Err(not_opened(&at, cause)),
        }
    }
    Err(SourceError::TooManyLinks { path: path.to_owned() })
}

fn check(path: &Path, stat: &Stat) -> Result<(), SourceError> {
    let path = path.to_owned();
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(SourceError::NotARegularFile { path });
    }
    if !trusted(stat.st_uid) {
        return Err(SourceError::ForeignFile { path, owner: stat.st_uid });
    }
    let mode = stat.st_mode & 0o7777;
    if mode & 0o077 != 0 {
        return Err(SourceError::OpenToOthers { path, mode });
    }
    Ok(())
}

/// Where a link leads, read through a descriptor of the link itself once its owner is known.
fn follow(link: &Path) -> Result<PathBuf, SourceError> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let descriptor =
        rustix::fs::openat(CWD, link, flags, Mode::empty()).map_err(|cause| not_opened(link, cause))?;
    let stat = fstat(&descriptor).map_err(|cause| not_opened(link, cause))?;
    if !trusted(stat.st_uid) {
        return Err(SourceError::ForeignLink { path: link.to_owned(), owner: stat.st_uid });
    }
    let target = readlinkat(&descriptor, "", Vec::new()).map_err(|cause| not_opened(link, cause))?;
    let target = PathBuf::from(std::ffi::OsString::from_vec(target.into_bytes()));
    Ok(link.parent().unwrap_or(Path::new("/")).join(target))
}

fn trusted(owner: u32) -> bool {
    owner == 0 || owner == geteuid().as_raw()
}

fn not_opened(path: &Path, cause: Errno) -> SourceError {
    SourceError::FileNotOpened { path: path.to_owned(), cause: cause.into() }
}
