//! What the host has, asked through a trait, so that plans can be made and tested without it.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{DirEntryExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use cofferdam_policy::secret_paths::SNIFFED_BYTES;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    Directory,
    /// Anything that is none of the others.
    File,
    Socket,
    Link(PathBuf),
}

/// What a directory says about one of its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub name: OsString,
    pub kind: Kind,
    /// Two names with the same number are the same file.
    pub inode: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Directory,
    File,
    Socket,
    Link,
}

pub trait Survey {
    /// What stands at this path, without following a link there.
    fn find(&self, path: &Path) -> Option<Found>;
    /// What is in a directory; nothing if it cannot be read.
    fn entries(&self, directory: &Path) -> Vec<Entry>;
    /// The same path without links, if it leads to something.
    fn resolve(&self, path: &Path) -> Option<PathBuf>;
    /// How a file begins; nothing if it cannot be read.
    fn beginning(&self, path: &Path) -> Vec<u8>;
    /// Whether a file has more names than this one.
    fn has_other_names(&self, path: &Path) -> bool;
    /// Memory of the machine, in bytes.
    fn memory(&self) -> u64;
}

/// The machine this runs on, as it is now: what a directory says is asked once. Most names that a plan asks for are
/// in few directories and not there.
#[derive(Debug, Default)]
pub struct Machine {
    names: RefCell<HashMap<PathBuf, Option<HashSet<OsString>>>>,
}

impl Machine {
    pub fn look() -> Self {
        Self::default()
    }

    /// Whether the directory says that it has no such name.
    fn lacks(&self, directory: &Path, name: &OsStr) -> bool {
        let mut known = self.names.borrow_mut();
        if !known.contains_key(directory) {
            known.insert(directory.to_owned(), names(directory));
        }
        let names = known.get(directory).and_then(Option::as_ref);
        names.is_some_and(|names| !names.contains(&name.to_ascii_lowercase()))
    }
}

/// The names in a directory, in lower case, because some file systems find a name in either. None where that cannot be
/// told: a directory that cannot be read, or one with names that such a file system may find under plain letters.
fn names(directory: &Path) -> Option<HashSet<OsString>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(HashSet::new()),
        Err(_) => return None,
    };
    entries
        .map(|entry| Some(entry.ok()?.file_name()).filter(|name| name.is_ascii()))
        .map(|name| Some(name?.to_ascii_lowercase()))
        .collect()
}

impl Survey for Machine {
    fn find(&self, path: &Path) -> Option<Found> {
        let (directory, name) = path.parent().zip(path.file_name()).unzip();
        if directory.zip(name).is_some_and(|(directory, name)| self.lacks(directory, name)) {
            return None;
        }
        Some(match kind(fs::symlink_metadata(path).ok()?.file_type()) {
            Kind::Link => Found::Link(fs::read_link(path).ok()?),
            Kind::Directory => Found::Directory,
            Kind::Socket => Found::Socket,
            Kind::File => Found::File,
        })
    }

    fn entries(&self, directory: &Path) -> Vec<Entry> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let entries = entries.filter_map(|entry| {
            Some(Entry { inode: entry.ino(), kind: kind(entry.file_type().ok()?), name: entry.file_name() })
        });
        entries.collect()
    }

    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }

    fn beginning(&self, path: &Path) -> Vec<u8> {
        // Neither a pipe nor a device that someone has put there may hold the launcher up.
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NOCTTY;
        let opened =
            fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path).ok();
        let plain =
            opened.filter(|file| file.metadata().is_ok_and(|metadata| metadata.file_type().is_file()));
        let mut beginning = Vec::new();
        if let Some(file) = plain {
            // What could be read until an error counts.
            let _ = file.take(SNIFFED_BYTES as u64).read_to_end(&mut beginning);
        }
        beginning
    }

    fn has_other_names(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|metadata| metadata.nlink() > 1)
    }

    fn memory(&self) -> u64 {
        let system = rustix::system::sysinfo();
        (system.totalram as u64).saturating_mul(u64::from(system.mem_unit))
    }
}

fn kind(kind: fs::FileType) -> Kind {
    if kind.is_symlink() {
        Kind::Link
    } else if kind.is_dir() {
        Kind::Directory
    } else if kind.is_socket() {
        Kind::Socket
    } else {
        Kind::File
    }
}
