//! Notices that the configuration was saved: written in place, or moved over the old one as editors do.

use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};

#[derive(Debug)]
pub struct ConfigWatch {
    descriptor: OwnedFd,
    file: OsString,
}

impl ConfigWatch {
    /// Nothing where there is no directory to watch; `reload` by hand is left then.
    pub fn of(path: &Path) -> Option<Self> {
        let descriptor = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        let events = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO;
        inotify::add_watch(&descriptor, path.parent()?, events).ok()?;
        Some(Self { descriptor, file: path.file_name()?.to_owned() })
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
                    saved |= name == Some(&self.file);
                }
                Err(error) if io::Error::from(error).kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return saved,
            }
        }
    }
}

impl AsFd for ConfigWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
