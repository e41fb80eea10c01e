//! Where the report goes. That is settled before the command runs, so that nothing that it leaves behind leads elsewhere:
//! a link in the place of the file, or of a directory on the way to it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags};

use crate::exit::Exit;
use crate::failure::Failure;

pub struct ReportFile {
    path: PathBuf,
    place: Place,
}

enum Place {
    /// A name in a directory that is held open. What is not a file under that name is replaced, and not followed.
    Named(OwnedFd, OsString),
    /// A link, a pipe or a terminal that was there before, where no command can write.
    Open(File),
}

impl ReportFile {
    pub fn choose(path: &Path, workspace: &Path) -> Result<Self, Failure> {
        let place = place(path, workspace).map_err(|error| {
            Failure::new(Exit::NotStarted, format!("no report can be written to {}: {error}", path.display()))
                .hint("name a file in a directory that is there, without links on the way to it")
        })?;
        Ok(Self { path: path.to_owned(), place })
    }

    pub fn write(self, text: &str) -> Result<(), Failure> {
        let file = match self.place {
            Place::Open(file) => Ok(file),
            Place::Named(directory, name) => replaced(&directory, &name),
        };
        let written = file.and_then(|mut file| {
            if file.metadata()?.is_file() {
                file.set_len(0)?;
            }
            file.write_all(text.as_bytes())
        });
        written.map_err(|error| {
            let path = self.path.display();
            Failure::new(Exit::Unavailable, format!("cannot write the report to {path}: {error}"))
        })
    }
}

fn place(path: &Path, workspace: &Path) -> io::Result<Place> {
    let whole = std::env::current_dir()?.canonicalize()?.join(path);
    let (Some(above), Some(name)) = (whole.parent(), whole.file_name()) else {
        return Err(io::Error::other("it has no name"));
    };
    // An earlier command may have left links in the workspace, so none is followed there.
    if let Ok(below) = above.strip_prefix(workspace)
        && !below.components().any(|part| part == Component::ParentDir)
    {
        return Ok(Place::Named(beneath(workspace, below)?, name.to_owned()));
    }
    let real = above.canonicalize()?;
    let is_file = |found: fs::Metadata| found.is_file();
    if real.starts_with(workspace) || fs::symlink_metadata(&whole).map_or(true, is_file) {
        return Ok(Place::Named(open_directory(&real)?, name.to_owned()));
    }
    Ok(Place::Open(File::options().write(true).open(&whole)?))
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, path, flags, Mode::empty())?)
}

fn beneath(workspace: &Path, below: &Path) -> io::Result<OwnedFd> {
    let top = open_directory(workspace)?;
    // The name of the directory itself; an empty one would be no path.
    let below: PathBuf = [Component::CurDir].into_iter().chain(below.components()).collect();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(rustix::fs::openat2(&top, &below, flags, Mode::empty(), resolve)?)
}

/// The file of this name, or a new one in the place of what is no file.
fn replaced(directory: &OwnedFd, name: &OsString) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let open = |flags| rustix::fs::openat(directory, name, flags, Mode::from_raw_mode(0o666)).map(File::from);
    if let Ok(file) = open(flags)
        && file.metadata()?.is_file()
    {
        return Ok(file);
    }
    rustix::fs::unlinkat(directory, name, AtFlags::empty())?;
    Ok(open(flags | OFlags::EXCL)?)
}
