//! What the host has, asked through a trait, so that plans can be made and tested without it.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use cofferdam_policy::secret_paths::SNIFFED_BYTES;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    Directory,
    /// Anything that is none of the others.
    File,
    Socket,
    Link(PathBuf),
}

/// What a directory says about one of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    pub name: &'a OsStr,
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
    /// Shows what is in a directory, one name after the other; nothing if it cannot be read.
    fn entries(&self, directory: &Path, show: &mut dyn FnMut(Entry<'_>));
    /// The same path without links, if it leads to something.
    fn resolve(&self, path: &Path) -> Option<PathBuf>;
    /// How a file begins; nothing if it cannot be read.
    fn beginning(&self, path: &Path) -> Vec<u8>;
    /// Whether a file has more names than this one.
    fn has_other_names(&self, path: &Path) -> bool;
    /// Memory of the machine, in bytes.
    fn memory(&self) -> u64;
}

/// The machine this runs on, as it is now.
#[derive(Debug, Default)]
pub struct Machine {
    /// Directories that a plan asks many names of, most of which are not there: what they say is asked once.
    known: Vec<(PathBuf, Names)>,
}

/// The names in a directory and what they are, by the names in lower case, because some file systems find a name in
/// either.
type Names = HashMap<OsString, (OsString, Kind)>;

impl Machine {
    pub fn look() -> Self {
        Self::default()
    }

    /// The same for whoever will ask most about what is directly in these directories.
    pub fn look_into(directories: &[&Path]) -> Self {
        let known = directories.iter().filter_map(|path| Some((path.to_path_buf(), names(path)?)));
        Self { known: known.collect() }
    }

    /// What a directory that is known says about the first name below it on the way to a path, and whether that is the
    /// path itself. Nothing where the path has to be asked.
    fn ask(&self, path: &Path) -> Option<Said> {
        self.known.iter().find_map(|(directory, names)| {
            let below = path.as_os_str().as_bytes().strip_prefix(directory.as_os_str().as_bytes())?;
            let below = below.strip_prefix(b"/")?;
            let end = below.iter().position(|byte| *byte == b'/').unwrap_or(below.len());
            let name = OsStr::from_bytes(&below[..end]);
            match names.get(&*name.to_ascii_lowercase()) {
                None => Some(Said::Nothing),
                Some((exactly, kind)) if end == below.len() && *exactly == *name => Some(Said::Is(*kind)),
                Some(_) => None,
            }
        })
    }
}

enum Said {
    Nothing,
    Is(Kind),
}

/// None where it cannot be told: a directory that cannot be read, or one with names that a file system without a
/// sense for case may find under plain letters, or the same name in two spellings.
fn names(directory: &Path) -> Option<Names> {
    let mut names = Names::new();
    let mut unclear = false;
    let listed = list(directory, &mut |Entry { name, kind, .. }| {
        unclear |=
            !name.is_ascii() || names.insert(name.to_ascii_lowercase(), (name.to_owned(), kind)).is_some();
    });
    (listed.is_ok() && !unclear).then_some(names)
}

/// Goes through a directory with as few calls as there can be: it stands between a person and the start of a command.
fn list(directory: &Path, show: &mut dyn FnMut(Entry<'_>)) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(CWD, directory, flags, Mode::empty())?;
    let mut room = [MaybeUninit::uninit(); 8 << 10];
    let mut entries = RawDir::new(&directory, &mut room);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not say.
            FileType::Unknown => match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => FileType::from_raw_mode(found.st_mode),
                Err(_) => continue,
            },
            said => said,
        };
        show(Entry { name: OsStr::from_bytes(name.to_bytes()), kind: kind.into(), inode: entry.ino() });
    }
    Ok(())
}

impl Survey for Machine {
    fn find(&self, path: &Path) -> Option<Found> {
        let kind = match self.ask(path) {
            Some(Said::Nothing) => return None,
            Some(Said::Is(kind)) => kind,
            None => {
                let found = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
                FileType::from_raw_mode(found.st_mode).into()
            }
        };
        Some(match kind {
            Kind::Link => Found::Link(fs::read_link(path).ok()?),
            Kind::Directory => Found::Directory,
            Kind::Socket => Found::Socket,
            Kind::File => Found::File,
        })
    }

    fn entries(&self, directory: &Path, show: &mut dyn FnMut(Entry<'_>)) {
        // What could be read until an error counts.
        let _ = list(directory, show);
    }

    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }

    fn beginning(&self, path: &Path) -> Vec<u8> {
        read_beginning(path).unwrap_or_default()
    }

    fn has_other_names(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|metadata| metadata.nlink() > 1)
    }

    fn memory(&self) -> u64 {
        let system = rustix::system::sysinfo();
        (system.totalram as u64).saturating_mul(u64::from(system.mem_unit))
    }
}

fn read_beginning(path: &Path) -> rustix::io::Result<Vec<u8>> {
    // Neither a pipe nor a device that someone has put there may hold the launcher up.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&file)?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return Ok(Vec::new());
    }
    // Some file systems call a file empty that can be read.
    let said = usize::try_from(stat.st_size).ok().filter(|size| *size > 0);
    let whole = said.unwrap_or(SNIFFED_BYTES).min(SNIFFED_BYTES);
    let mut beginning = vec![0; whole];
    let mut length = 0;
    while length < whole {
        match rustix::io::read(&file, &mut beginning[length..]) {
            Err(rustix::io::Errno::INTR) => {}
            // What could be read until an error counts.
            Ok(0) | Err(_) => break,
            Ok(read) => length += read,
        }
    }
    beginning.truncate(length);
    Ok(beginning)
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::Symlink => Self::Link,
            FileType::Directory => Self::Directory,
            FileType::Socket => Self::Socket,
            _ => Self::File,
        }
    }
}
