//! The directories that are watched, and what appears in them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use cofferdam_policy::secret_paths::{self, Evidence};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::Late;
use crate::search::{self, Bounds};
use crate::survey::{Entry, Found, Kind, Machine, Survey};
use crate::text::Text;

/// The most directories that are watched: each costs the kernel about a kilobyte, of which every user has so much.
const MOST: usize = 8192;

/// A search of this adds every directory that it goes into, before it reads it: so nothing is missed in between.
pub struct Watched<'a> {
    late: &'a Late,
    machine: Machine,
    inotify: OwnedFd,
    directories: RefCell<HashMap<i32, PathBuf>>,
    missed: Cell<bool>,
}

impl<'a> Watched<'a> {
    pub fn begin(late: &'a Late) -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let directories = RefCell::new(HashMap::new());
        Ok(Self { late, machine: Machine::look(), inotify, directories, missed: Cell::new(false) })
    }

    /// Whether there are more directories than are watched.
    pub fn has_missed(&self) -> bool {
        self.missed.get()
    }

    /// How many directories are watched.
    pub fn count(&self) -> usize {
        self.directories.borrow().len()
    }

    /// Every secret that there is now, those included that are covered already.
    pub fn look_over(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = Vec::new();
        for name in &self.late.names {
            name.as_path().parent().into_iter().for_each(|directory| self.watch(directory));
            found.push(name.as_path().to_owned());
        }
        for (tree, bounds) in self.trees() {
            found.extend(search::search(self, tree, bounds).secrets);
        }
        self.worth_covering(found)
    }

    /// Secrets in what has happened since.
    pub fn appeared(&self) -> io::Result<Vec<PathBuf>> {
        let mut room = [MaybeUninit::uninit(); 16 << 10];
        let mut events = Reader::new(&self.inotify, &mut room);
        let mut found = Vec::new();
        loop {
            let event = match events.next() {
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => continue,
                other => other?,
            };
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                return Ok(self.look_over());
            }
            if event.events().contains(ReadFlags::IGNORED) {
                self.directories.borrow_mut().remove(&event.wd());
            }
            let directory = self.directories.borrow().get(&event.wd()).cloned();
            if let (Some(directory), Some(name)) = (directory, event.file_name()) {
                self.judge(&directory, OsStr::from_bytes(name.to_bytes()), event.events(), &mut found);
            }
            // What is found is covered before more is read: there may be no end of it.
            if events.is_buffer_empty() {
                break;
            }
        }
        Ok(self.worth_covering(found))
    }

    fn judge(&self, directory: &Path, name: &OsStr, happened: ReadFlags, found: &mut Vec<PathBuf>) {
        let path = || directory.join(name);
        if self.late.names.iter().any(|known| known.as_path() == path()) {
            return found.push(path());
        }
        let Some((tree, bounds)) = self.trees().find(|(tree, _)| directory.starts_with(tree)) else { return };
        let is_directory = happened.contains(ReadFlags::ISDIR);
        // Most names say nothing, and then the file is not looked at.
        let kind = if is_directory { Kind::Directory } else { Kind::File };
        if is_known_by_name(name) && search::is_secret(self, tree, directory, &Entry { name, kind, inode: 0 })
        {
            found.push(path());
        } else if is_directory && !search::is_left_out(name) {
            found.extend(search::search_from(self, tree, &path(), bounds).secrets);
        }
    }

    /// What is left alone: what is set aside when a command ends, because what is covered cannot be renamed; what one of
    /// these, or a whole tree, is in; and links, because what they lead to has a name of its own.
    fn worth_covering(&self, mut found: Vec<PathBuf>) -> Vec<PathBuf> {
        found.sort_unstable();
        found.dedup();
        let kept = |kept: &Text, path: &Path| kept.as_path().starts_with(path);
        let late = self.late;
        found.retain(|path| {
            let mut above = late.set_aside.iter().chain(&late.around).chain([&late.workspace]);
            let by_name = late.names.iter().any(|name| name.as_path() == path)
                || path.file_name().is_some_and(is_known_by_name);
            by_name
                && !above.any(|kept_whole| kept(kept_whole, path))
                && matches!(self.machine.find(path), Some(Found::File | Found::Directory))
        });
        found
    }

    fn trees(&self) -> impl Iterator<Item = (&'a Path, Bounds)> {
        let around = self.late.around.iter().map(|tree| (tree.as_path(), Bounds::AROUND));
        [(self.late.workspace.as_path(), Bounds::WORKSPACE)].into_iter().chain(around)
    }

    fn watch(&self, directory: &Path) {
        let mut directories = self.directories.borrow_mut();
        if directories.len() >= MOST {
            return self.missed.set(true);
        }
        let events = WatchFlags::CREATE | WatchFlags::MOVED_TO;
        let flags = events | WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW | WatchFlags::EXCL_UNLINK;
        match inotify::add_watch(&self.inotify, directory, flags) {
            Ok(number) => drop(directories.insert(number, directory.to_owned())),
            Err(Errno::NOSPC | Errno::NOMEM) => self.missed.set(true),
            // What cannot be read, or is gone, shows nothing.
            Err(_) => {}
        }
    }
}

/// Keys that are known by what they hold are what a command makes for itself while it works: a certificate for a test, an
/// archive that it unpacks. Those are left to it.
fn is_known_by_name(name: &OsStr) -> bool {
    secret_paths::evidence_of_name(name) != Some(Evidence::Content)
}

impl AsFd for Watched<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

impl Survey for Watched<'_> {
    fn find(&self, path: &Path) -> Option<Found> {
        self.machine.find(path)
    }

    fn entries(&self, directory: &Path, show: &mut dyn FnMut(Entry<'_>)) {
        self.watch(directory);
        self.machine.entries(directory, show);
    }

    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        self.machine.resolve(path)
    }

    fn beginning(&self, path: &Path) -> Vec<u8> {
        self.machine.beginning(path)
    }

    fn has_other_names(&self, path: &Path) -> bool {
        self.machine.has_other_names(path)
    }

    fn memory(&self) -> u64 {
        self.machine.memory()
    }
}
