//! `write_file`, and the way in which every tool writes: beside the file first, then in its place.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use serde::Deserialize;
use serde_json::{Value, json};

use super::failed;
use crate::message::ToolError;

#[derive(Deserialize)]
pub struct WriteFile {
    path: String,
    content: String,
}

pub fn write_file(wish: &WriteFile) -> Result<Value, ToolError> {
    let staged = Staged::new(Path::new(&wish.path), wish.content.as_bytes())
        .map_err(|error| failed("write", &wish.path, &error))?;
    staged.commit().map_err(|error| failed("write", &wish.path, &error))?;
    Ok(json!({"bytes_written": wish.content.len()}))
}

/// New contents that lie beside the file they are for. Whatever happens, a reader sees the old ones or the new.
#[derive(Debug)]
pub struct Staged {
    directory: OwnedFd,
    beside: String,
    name: std::ffi::OsString,
    committed: bool,
}

impl Staged {
    pub fn new(path: &Path, contents: &[u8]) -> io::Result<Self> {
        let (place, mode) = place(path)?;
        let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else {
            return Err(io::Error::other("the path names no file"));
        };
        fs::create_dir_all(parent)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(CWD, parent, flags, Mode::empty())?;
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let beside = format!(".cofferdam-{}-{number}", std::process::id());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let mut file =
            File::from(rustix::fs::openat(&directory, beside.as_str(), flags, Mode::from_raw_mode(0o644))?);
        let staged = Self { directory, beside, name: name.to_owned(), committed: false };
        if let Some(mode) = mode {
            file.set_permissions(Permissions::from_mode(mode & 0o777))?;
        }
        file.write_all(contents)?;
        Ok(staged)
    }

    pub fn commit(mut self) -> io::Result<()> {
        rustix::fs::renameat(&self.directory, self.beside.as_str(), &self.directory, &self.name)?;
        self.committed = true;
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.committed {
            // It is gone already if this fails.
            let _ = rustix::fs::unlinkat(&self.directory, self.beside.as_str(), AtFlags::empty());
        }
    }
}

/// Where a path leads, through links, and the mode of what is there. Only a regular file is written over.
fn place(path: &Path) -> io::Result<(PathBuf, Option<u32>)> {
    match fs::canonicalize(path) {
        Ok(real) => {
            let found = fs::symlink_metadata(&real)?;
            if !found.is_file() {
                return Err(io::Error::other("it is not a regular file"));
            }
            Ok((real, Some(found.permissions().mode())))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                return Err(io::Error::other("it is a link that leads nowhere"));
            }
            Ok((std::path::absolute(path)?, None))
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, content: &str) -> Result<Value, ToolError> {
        write_file(&WriteFile {
            path: path.to_str().expect("a name").to_owned(),
            content: content.to_owned(),
        })
    }

    #[test]
    fn a_file_keeps_its_mode_and_its_links_and_nothing_lies_beside_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("deep/er/run.sh");
        write(&path, "one").expect("written");
        fs::set_permissions(&path, Permissions::from_mode(0o4755)).expect("a mode");
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        write(&link, "two").expect("written");
        assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
        assert_eq!(fs::read_to_string(&path).expect("read"), "two");
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o7777, 0o755, "rights of another user are not carried over");
        assert_eq!(fs::read_dir(path.parent().expect("a parent")).expect("a list").count(), 1);
    }

    #[test]
    fn req_i15_only_regular_files_are_written_over() {
        let directory = tempfile::tempdir().expect("a directory");
        assert!(write(directory.path(), "x").is_err());
        assert!(write(Path::new("/dev/null"), "x").is_err());
        let link = directory.path().join("nowhere");
        std::os::unix::fs::symlink("/no/such/place", &link).expect("a link");
        assert!(write(&link, "x").is_err());
        assert!(write(&directory.path().join("file/.."), "x").is_err());
    }
}
