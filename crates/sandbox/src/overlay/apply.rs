//! Carrying a layer over into the workspace: each file at once or not at all, by descriptor, and never over
//! something that another has changed meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, Timestamps};
use rustix::io::Errno;

use super::diff::{self, Base, Change, Held, What};
use super::files;

/// What was carried over, and what was not.
#[derive(Debug, Default)]
pub struct Applied {
    pub done: Vec<Change>,
    /// Each with its reason.
    pub held: Vec<Change>,
}

/// Why one change was not carried over.
enum Stop {
    Held(Held),
    Failed(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Errno> for Stop {
    fn from(error: Errno) -> Self {
        Self::Failed(error.into())
    }
}

pub fn apply(upper: &OwnedFd, lower: &OwnedFd, changes: Vec<Change>, id: &str) -> io::Result<Applied> {
    let work = Work { upper, lower, aside: OsString::from(format!(".cofferdam-{id}")) };
    let mut applied = Applied::default();
    for mut change in changes {
        let outcome = match change.held {
            Some(held) => Err(Stop::Held(held)),
            None => work.one(&change),
        };
        match outcome {
            Ok(()) => applied.done.push(change),
            Err(Stop::Held(held)) => {
                change.held = Some(held);
                applied.held.push(change);
            }
            Err(Stop::Failed(error)) => {
                return Err(io::Error::new(error.kind(), format!("{}: {error}", change.path)));
            }
        }
    }
    Ok(applied)
}

struct Work<'a> {
    upper: &'a OwnedFd,
    lower: &'a OwnedFd,
    /// The name under which a file waits for its place, in the directory where it belongs.
    aside: OsString,
}

impl Work<'_> {
    fn one(&self, change: &Change) -> Result<(), Stop> {
        let path = change.path.as_path();
        let (at, name) = files::parent(self.lower, path).map_err(moved)?;
        match &change.what {
            What::AddedDirectory { mode } => {
                match rustix::fs::mkdirat(&at, name, Mode::from_raw_mode(mode | 0o700)) {
                    // It is forgotten with the layer: what it holds has yet to be carried over.
                    Ok(()) | Err(Errno::EXIST) => Ok(()),
                    Err(error) => Err(error.into()),
                }
            }
            What::AddedFile { .. } | What::ModifiedFile { .. } => {
                self.copy(path, &at)?;
                self.put(&at, name, change.base)?;
                self.forget(path)
            }
            What::Link { to } => {
                self.clear(&at)?;
                rustix::fs::symlinkat(to.as_os_str(), &at, &self.aside)?;
                self.put(&at, name, change.base)?;
                self.forget(path)
            }
            What::Mode { to, .. } => {
                let file = files::beneath(&at, Path::new(name), OFlags::RDONLY | OFlags::NONBLOCK)?;
                if change.base.is_some_and(|base| !base.directory && Base::of(&stat(&file)) != base) {
                    return Err(Stop::Held(Held::BaseChanged));
                }
                rustix::fs::fchmod(&file, Mode::from_raw_mode(*to))?;
                Ok(())
            }
            What::DeletedFile | What::DeletedDirectory => {
                self.take_away(&at, name, change.base)?;
                self.forget(path)
            }
            What::Special => Err(Stop::Held(Held::Special)),
        }
    }

    /// Writes the new contents beside the place where they belong.
    fn copy(&self, path: &Path, at: &OwnedFd) -> Result<(), Stop> {
        let (from, name) = files::parent(self.upper, path)?;
        let mut source = File::from(diff::readable(&from, name)?);
        let stat = stat(&source);
        self.clear(at)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut target = File::from(rustix::fs::openat(at, &self.aside, flags, Mode::RUSR | Mode::WUSR)?);
        io::copy(&mut source, &mut target)?;
        // No bit that changes who a program runs as.
        rustix::fs::fchmod(&target, Mode::from_raw_mode(stat.st_mode & 0o777))?;
        let time = |seconds, nanoseconds| rustix::time::Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
        let modified = time(stat.st_mtime, stat.st_mtime_nsec as i64);
        rustix::fs::futimens(&target, &Timestamps { last_access: modified, last_modification: modified })?;
        target.sync_data()?;
        Ok(())
    }

    /// Removes what an interrupted call has left.
    fn clear(&self, at: &OwnedFd) -> Result<(), Stop> {
        match rustix::fs::unlinkat(at, &self.aside, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives what waits aside its name. What has the name now must be what was looked at, or nothing if that was so.
    fn put(&self, at: &OwnedFd, name: &OsStr, base: Option<Base>) -> Result<(), Stop> {
        let Some(base) = base else {
            return match rustix::fs::renameat_with(at, &self.aside, at, name, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => {
                    self.clear(at)?;
                    Err(Stop::Held(Held::BaseChanged))
                }
                other => Ok(other?),
            };
        };
        // Both exist all the time, so that nothing is lost if the other is not the one that was looked at.
        match rustix::fs::renameat_with(at, &self.aside, at, name, RenameFlags::EXCHANGE) {
            Err(Errno::NOENT) => {
                self.clear(at)?;
                return Err(Stop::Held(Held::BaseChanged));
            }
            other => other?,
        }
        let found = files::look(at, &self.aside)?;
        if found.is_none_or(|found| Base::of(&found) != base) {
            rustix::fs::renameat_with(at, &self.aside, at, name, RenameFlags::EXCHANGE)?;
            self.clear(at)?;
            return Err(Stop::Held(Held::BaseChanged));
        }
        self.clear(at)
    }

    fn take_away(&self, at: &OwnedFd, name: &OsStr, base: Option<Base>) -> Result<(), Stop> {
        match rustix::fs::renameat_with(at, name, at, &self.aside, RenameFlags::NOREPLACE) {
            // It is gone already, which is all that was asked.
            Err(Errno::NOENT) => return Ok(()),
            other => other?,
        }
        let found = files::look(at, &self.aside)?;
        if found.is_some_and(|found| Some(Base::of(&found)) != base) {
            rustix::fs::renameat_with(at, &self.aside, at, name, RenameFlags::NOREPLACE)?;
            return Err(Stop::Held(Held::BaseChanged));
        }
        Ok(files::remove(at, &self.aside)?)
    }

    /// Takes a change that was carried over out of the layer.
    fn forget(&self, path: &Path) -> Result<(), Stop> {
        let (at, name) = files::parent(self.upper, path)?;
        match rustix::fs::unlinkat(&at, name, AtFlags::empty()) {
            // A name that an opaque directory hides has nothing of its own in the layer.
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// A directory on the way is gone, or is a link now: somebody else has been there.
fn moved(error: io::Error) -> Stop {
    match Errno::from_io_error(&error) {
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Stop::Held(Held::BaseChanged),
        _ => Stop::Failed(error),
    }
}

fn stat(file: &impl std::os::fd::AsFd) -> rustix::fs::Stat {
    rustix::fs::fstat(file).expect("the status of an open file can be read")
}
