//! Notices that the configuration was saved: written in place, or moved over the old one as editors do.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};

/// How long an empty file counts as one that is being written: whoever writes in place empties it first.
const EMPTIED: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct ConfigWatch {
    descriptor: OwnedFd,
    path: PathBuf,
    emptied: Emptied,
}

/// Since when the file has been empty.
#[derive(Debug, Default)]
struct Emptied(Option<Instant>);

impl ConfigWatch {
    /// Nothing where there is no directory to watch; `reload` by hand is left then.
    pub fn of(path: &Path) -> Option<Self> {
        let descriptor = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        let events = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO;
        inotify::add_watch(&descriptor, path.parent()?, events).ok()?;
        path.file_name()?;
        Some(Self { descriptor, path: path.to_owned(), emptied: Emptied::default() })
    }

    /// Whether the file was saved since the last time this was asked.
    pub fn saved(&self) -> bool {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.descriptor, &mut buffer);
        let mut saved = false;
        loop {
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                    saved |= name == self.path.file_name();
                }
                Err(error) if io::Error::from(error).kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return saved,
            }
        }
    }

    /// Whether somebody seems to be writing the file just now. What is in it then is not what they mean.
    pub fn is_being_written(&mut self, now: Instant) -> bool {
        self.emptied.just_now(fs::metadata(&self.path).is_ok_and(|file| file.len() == 0), now)
    }
}

impl Emptied {
    fn just_now(&mut self, is_empty: bool, now: Instant) -> bool {
        if !is_empty {
            self.0 = None;
            return false;
        }
        now.saturating_duration_since(*self.0.get_or_insert(now)) < EMPTIED
    }
}

impl AsFd for ConfigWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that is emptied on purpose takes effect as well, a little later.
    #[test]
    fn a_file_that_is_just_being_written_is_not_read_yet() {
        let (mut emptied, start) = (Emptied::default(), Instant::now());
        assert!(!emptied.just_now(false, start));
        assert!(emptied.just_now(true, start));
        assert!(emptied.just_now(true, start + EMPTIED / 2));
        assert!(!emptied.just_now(false, start + EMPTIED / 2), "it was written");
        assert!(emptied.just_now(true, start + EMPTIED), "and is being written again");
        assert!(!emptied.just_now(true, start + EMPTIED * 2), "it is meant to be empty");
    }
}
