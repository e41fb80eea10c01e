//! Files that nobody else may read, from their first byte on.
//!
//! A [`PrivateDir`] is an open descriptor of a directory that was found to be ours alone, and every file is
//! opened beneath it by a single name, without following links. So what was checked is what is used, whatever
//! happens to the path meanwhile.
//!
//! * Modes are given when a thing is created (0700, 0600). The umask can only take bits away; if it took some
//!   of the owner's, they are given back by descriptor, which never makes anything wider than that.
//! * A link, another owner, a mode that lets others in, or a pipe in place of a file is an error that names
//!   the path and the fix. Nothing is repaired silently: somebody may have read what lay open.
//! * It stops at the user: a process with the same user id, outside a sandbox, can do all that we can.

mod error;
mod walk;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{self, AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::process::{geteuid, getpid};

pub use error::{Expected, PrivateError, Problem};
use walk::Missing;

const FILE_MODE: u32 = 0o600;
/// Non-blocking, because opening a planted pipe would otherwise wait for its other end; it means nothing for
/// a regular file, and nothing else gets past the check that follows.
const ALWAYS: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// A directory that belongs to this user alone, held open.
#[derive(Debug)]
pub struct PrivateDir {
    directory: OwnedFd,
    path: PathBuf,
}

impl PrivateDir {
    /// Opens the directory; it and what is missing above it are created with mode 0700.
    pub fn open_or_create(path: &Path) -> Result<Self, PrivateError> {
        let directory = walk::directory(path, Missing::Create)?;
        Ok(Self { directory, path: path.to_owned() })
    }

    /// Opens the directory, or gives `None` if there is none.
    pub fn open(path: &Path) -> Result<Option<Self>, PrivateError> {
        match walk::directory(path, Missing::Report) {
            Ok(directory) => Ok(Some(Self { directory, path: path.to_owned() })),
            Err(error) if error.io_kind() == Some(std::io::ErrorKind::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A directory in this one, which is created where it is missing. The way here is not walked again.
    pub fn subdirectory(&self, name: &str) -> Result<Self, PrivateError> {
        let path = self.path.join(name);
        let directory = walk::last(&self.directory, name.as_ref(), &path, Missing::Create)?;
        Ok(Self { directory, path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of all entries, in no particular order.
    pub fn names(&self) -> Result<Vec<String>, PrivateError> {
        let failed = |errno| PrivateError::system(&self.path, "list", errno);
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(&self.directory).map_err(failed)? {
            // A name that is not UTF-8 is none of ours.
            if let Ok(name) = entry.map_err(failed)?.file_name().to_str()
                && !matches!(name, "." | "..")
            {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Opens a file for reading and for writing at its end; an absent one is created with mode 0600.
    pub fn open_append(&self, name: &str) -> Result<File, PrivateError> {
        self.open_file(name, OFlags::RDWR | OFlags::CREATE | OFlags::APPEND)
    }

    /// Opens a file for reading and for writing anywhere; an absent one is created with mode 0600.
    pub fn open_update(&self, name: &str) -> Result<File, PrivateError> {
        self.open_file(name, OFlags::RDWR | OFlags::CREATE)
    }

    /// Opens a file for reading.
    pub fn open_read(&self, name: &str) -> Result<File, PrivateError> {
        self.open_file(name, OFlags::RDONLY)
    }

    /// Creates a file with mode 0600 that was not there before.
    pub fn create_new(&self, name: &str) -> Result<File, PrivateError> {
        self.open_file(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
    }

    /// Reads a whole file of at most `limit` bytes.
    pub fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>, PrivateError> {
        let path = self.path.join(name);
        let mut bytes = Vec::new();
        self.open_read(name)?
            .take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|source| PrivateError::system(&path, "read", source))?;
        if bytes.len() as u64 > limit {
            return Err(PrivateError::new(path, Problem::TooLarge { limit }));
        }
        Ok(bytes)
    }

    /// Puts a file in place whole: after a crash at any moment there is the old one or the new one.
    ///
    /// Renaming would replace a link without following it, yet a link there is still refused: it shows that
    /// somebody was at work, and a person should hear of it.
    pub fn write_atomically(&self, name: &str, bytes: &[u8]) -> Result<(), PrivateError> {
        self.check_existing(name)?;
        let (temporary, mut file) = self.create_temporary(name)?;
        let path = self.path.join(name);
        let written = file
            .write_all(bytes)
            .and_then(|()| file.sync_all())
            .and_then(|()| Ok(fs::renameat(&self.directory, &temporary, &self.directory, name)?))
            .map_err(|source| PrivateError::system(&path, "write", source));
        if written.is_err() {
            // The first error is the one to report.
            let _ = fs::unlinkat(&self.directory, &temporary, AtFlags::empty());
        }
        written.and_then(|()| self.sync())
    }

    /// Removes a file; one that is not there is removed already.
    pub fn remove(&self, name: &str) -> Result<(), PrivateError> {
        self.check_name(name)?;
        match fs::unlinkat(&self.directory, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(PrivateError::system(self.path.join(name), "remove", errno)),
        }
    }

    /// Makes the directory's own entries survive a loss of power.
    pub fn sync(&self) -> Result<(), PrivateError> {
        fs::fsync(&self.directory).map_err(|errno| PrivateError::system(&self.path, "sync", errno))
    }

    /// Waits until this process alone holds the lock of that name.
    pub fn lock(&self, name: &str) -> Result<Lock, PrivateError> {
        let file = self.open_update(name)?;
        loop {
            match fs::flock(&file, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(PrivateError::system(self.path.join(name), "lock", errno)),
            }
        }
    }

    /// Takes the lock of that name, or gives `None` if another process holds it.
    pub fn try_lock(&self, name: &str) -> Result<Option<Lock>, PrivateError> {
        let file = self.open_update(name)?;
        match fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(PrivateError::system(self.path.join(name), "lock", errno)),
        }
    }

    fn open_file(&self, name: &str, flags: OFlags) -> Result<File, PrivateError> {
        self.check_name(name)?;
        let path = self.path.join(name);
        let file = match fs::openat(&self.directory, name, flags | ALWAYS, Mode::from_raw_mode(FILE_MODE)) {
            Ok(file) => file,
            Err(Errno::LOOP) => return Err(PrivateError::new(path, Problem::SymbolicLink)),
            // `O_EXCL` reports a link as something that exists; the person should hear that it is a link.
            Err(errno) => {
                self.check_existing(name)?;
                return Err(PrivateError::system(path, "open", errno));
            }
        };
        let stat = fs::fstat(&file).map_err(|errno| PrivateError::system(&path, "examine", errno))?;
        check_file(&path, &stat)?;
        restore_owner_bits(&file, &stat, flags)
            .map_err(|errno| PrivateError::system(&path, "create", errno))?;
        Ok(File::from(file))
    }

    fn create_temporary(&self, name: &str) -> Result<(String, File), PrivateError> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        loop {
            let count = COUNTER.fetch_add(1, Ordering::Relaxed);
            let temporary = format!(".{name}.{}-{count}.tmp", getpid().as_raw_nonzero());
            match self.create_new(&temporary) {
                Ok(file) => return Ok((temporary, file)),
                // Left behind by a process that had the same number and was killed.
                Err(error) if error.io_kind() == Some(std::io::ErrorKind::AlreadyExists) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// What stands under this name, if anything does, must be a private file.
    fn check_existing(&self, name: &str) -> Result<(), PrivateError> {
        self.check_name(name)?;
        let path = self.path.join(name);
        match fs::statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => check_file(&path, &stat),
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(PrivateError::system(path, "examine", errno)),
        }
    }

    fn check_name(&self, name: &str) -> Result<(), PrivateError> {
        if name.is_empty() || matches!(name, "." | "..") || name.contains(['/', '\0']) {
            return Err(PrivateError::new(name, Problem::NotAName));
        }
        Ok(())
    }
}

/// A lock between processes; given back when it is dropped, and by the kernel when the process dies.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

fn check_file(path: &Path, stat: &Stat) -> Result<(), PrivateError> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => check_owner_and_mode(path, stat, FILE_MODE),
        FileType::Symlink => Err(PrivateError::new(path, Problem::SymbolicLink)),
        _ => Err(PrivateError::new(path, Problem::WrongKind { expected: Expected::File })),
    }
}

/// Only what lets others in counts: an owner may give up rights of their own.
fn check_owner_and_mode(path: &Path, stat: &Stat, expected: u32) -> Result<(), PrivateError> {
    let owner = geteuid().as_raw();
    if stat.st_uid != owner {
        let problem = Problem::WrongOwner { owner: stat.st_uid, expected: owner };
        return Err(PrivateError::new(path, problem));
    }
    let mode = stat.st_mode & 0o7777;
    if mode & 0o077 != 0 {
        return Err(PrivateError::new(path, Problem::TooOpen { mode, expected }));
    }
    Ok(())
}

/// A umask such as 0277 takes the owner's own bits from a new file, and the next process could not open it.
fn restore_owner_bits(file: impl AsFd, stat: &Stat, flags: OFlags) -> Result<(), Errno> {
    let fresh = flags.contains(OFlags::CREATE) && stat.st_size == 0;
    if fresh && stat.st_mode & 0o777 != FILE_MODE {
        fs::fchmod(file, Mode::from_raw_mode(FILE_MODE))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
