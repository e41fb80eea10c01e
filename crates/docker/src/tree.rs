//! An image's tree, opened once; everything below it is reached by descriptor and cannot lead out of it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, ResolveFlags, Stat, Uid};

/// The root of an image. Links in it lead where they would lead in the container: `/etc/x` means the image's own.
#[derive(Debug)]
pub struct Tree(OwnedFd);

impl Tree {
    pub fn open(root: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::PATH;
        Ok(Self(rustix::fs::openat(CWD, root, flags, Mode::empty())?))
    }

    fn resolve(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let inside = path.strip_prefix("/").unwrap_or(path);
        let inside = if inside.as_os_str().is_empty() { Path::new(".") } else { inside };
        let (flags, mode) = (flags | OFlags::CLOEXEC, Mode::empty());
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        Ok(rustix::fs::openat2(&self.0, inside, flags, mode, resolve)?)
    }

    /// What is at a path, by way of links.
    pub fn status(&self, path: &Path) -> io::Result<Stat> {
        Ok(rustix::fs::fstat(self.resolve(path, OFlags::PATH)?)?)
    }

    /// The contents of an ordinary file.
    pub fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let file = self.resolve(path, OFlags::RDONLY | OFlags::NONBLOCK)?;
        if FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let mut bytes = Vec::new();
        File::from(file).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Makes the directories that are missing, root's and closed to other writers.
    pub fn make_directories(&self, path: &Path) -> io::Result<()> {
        let mut made = PathBuf::from("/");
        for part in path.components().filter(|part| matches!(part, Component::Normal(_))) {
            let parent = self.resolve(&made, OFlags::DIRECTORY | OFlags::RDONLY)?;
            match rustix::fs::mkdirat(&parent, part.as_os_str(), Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            made.push(part);
        }
        Ok(())
    }

    /// Puts a file of root's at a path, in one step: a reader sees the old one or the whole new one.
    pub fn put(&self, path: &Path, contents: &[u8], mode: u32) -> io::Result<()> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent =
            self.resolve(path.parent().unwrap_or(Path::new("/")), OFlags::DIRECTORY | OFlags::RDONLY)?;
        let mut new = std::ffi::OsString::from(".");
        new.push(name);
        new.push(format!(".{}", std::process::id()));
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&parent, &new, flags, Mode::from_raw_mode(0o600))?;
        let written = write(file, contents, mode)
            .and_then(|()| Ok(rustix::fs::renameat(&parent, &new, &parent, name)?));
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&parent, &new, AtFlags::empty());
        }
        written
    }
}

fn write(file: OwnedFd, contents: &[u8], mode: u32) -> io::Result<()> {
    let mut file = File::from(file);
    file.write_all(contents)?;
    // Somebody who prepares a tree without being root leaves the owner to the tool that packs it.
    if rustix::process::geteuid().is_root() {
        rustix::fs::fchown(&file, Some(Uid::ROOT), Some(Gid::ROOT))?;
    }
    rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
    file.sync_all()
}
