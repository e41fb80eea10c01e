//! `docker shim heal`: files that root left in the state directory of a service.
//!
//! Everything is looked at and changed by descriptor: what was judged is what is changed, whoever renames things in the
//! meantime. No link is followed, no mount is entered, and the walk cannot leave the directory.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, ResolveFlags, Stat, Uid};

/// Deeper than this nobody has state; a tree that is made to exhaust us ends here.
const DEEPEST: usize = 64;

/// Whom the files should belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    pub user: u32,
    pub group: u32,
}

/// Whether to change anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    Look,
    Apply,
}

/// What became of something of root's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is root's.
    Found,
    /// It was.
    Healed,
    /// It is left as it is.
    Left(Why),
}

/// Why something is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Another name of the same file may be outside: giving it away would give that away.
    HardLink,
    /// Device, pipe or socket: nothing that a tool's call leaves.
    Special,
    /// It would keep its bit, or lose it: a person should look.
    SetIdBit,
    Mount,
    TooDeep,
    Failed(io::ErrorKind),
}

impl Why {
    pub fn words(self) -> String {
        match self {
            Self::HardLink => "has another name, which may be elsewhere".to_owned(),
            Self::Special => "is a device, a pipe or a socket".to_owned(),
            Self::SetIdBit => "has a set-user-ID or set-group-ID bit".to_owned(),
            Self::Mount => "is a mount".to_owned(),
            Self::TooDeep => format!("is more than {DEEPEST} directories down"),
            Self::Failed(kind) => kind.to_string(),
        }
    }
}

/// Something of root's in the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Below the directory.
    pub path: PathBuf,
    pub outcome: Outcome,
}

/// Walks the directory. The directory itself is opened without following a link at its end.
pub fn heal(directory: &Path, owner: Owner, doing: Doing) -> io::Result<Vec<Finding>> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    let top = rustix::fs::openat(CWD, directory, flags, Mode::empty())?;
    let mut walk = Walk { owner, doing, findings: Vec::new() };
    let status = rustix::fs::fstat(&top)?;
    walk.judge(top.as_fd(), &status, Path::new("."));
    walk.directory(&top, Path::new(""), 0)?;
    walk.findings.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(walk.findings)
}

struct Walk {
    owner: Owner,
    doing: Doing,
    findings: Vec<Finding>,
}

impl Walk {
    fn directory(&mut self, directory: &OwnedFd, path: &Path, depth: usize) -> io::Result<()> {
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                let path = path.join(name);
                if let Err(error) = self.entry(directory, name, &path, depth) {
                    self.leave(path, Why::Failed(error.kind()));
                }
            }
        }
        Ok(())
    }

    fn entry(&mut self, parent: &OwnedFd, name: &OsStr, path: &Path, depth: usize) -> io::Result<()> {
        let opened = match open_entry(parent, name, OFlags::PATH) {
            Ok(opened) => opened,
            Err(rustix::io::Errno::XDEV) => {
                self.leave(path.to_owned(), Why::Mount);
                return Ok(());
            }
            // It went away while we were walking.
            Err(rustix::io::Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let status = rustix::fs::fstat(&opened)?;
        self.judge(opened.as_fd(), &status, path);
        if FileType::from_raw_mode(status.st_mode) != FileType::Directory {
            return Ok(());
        }
        if depth == DEEPEST {
            self.leave(path.to_owned(), Why::TooDeep);
            return Ok(());
        }
        // The same directory again, this time to read it: `.` of what was judged, not the name once more.
        let inside = rustix::fs::openat(
            &opened,
            ".",
            OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        self.directory(&inside, path, depth + 1)
    }

    fn judge(&mut self, opened: std::os::fd::BorrowedFd<'_>, status: &Stat, path: &Path) {
        if status.st_uid != 0 && status.st_gid != 0 {
            return;
        }
        // Root's group alone on a file of somebody else's is that person's business.
        if status.st_uid != 0 && status.st_uid != self.owner.user {
            return;
        }
        let outcome = match reason_to_leave(status) {
            Some(why) => Outcome::Left(why),
            None if self.doing == Doing::Look => Outcome::Found,
            None => {
                let (user, group) = (Uid::from_raw(self.owner.user), Gid::from_raw(self.owner.group));
                match rustix::fs::chownat(opened, "", Some(user), Some(group), AtFlags::EMPTY_PATH) {
                    Ok(()) => Outcome::Healed,
                    Err(error) => Outcome::Left(Why::Failed(io::Error::from(error).kind())),
                }
            }
        };
        self.findings.push(Finding { path: path.to_owned(), outcome });
    }

    fn leave(&mut self, path: PathBuf, why: Why) {
        self.findings.push(Finding { path, outcome: Outcome::Left(why) });
    }
}

fn open_entry(parent: &OwnedFd, name: &OsStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    rustix::fs::openat2(parent, name, flags, Mode::empty(), resolve)
}

/// What is not given away, although it is root's. A link itself can be: its target is not touched by it.
fn reason_to_leave(status: &Stat) -> Option<Why> {
    match FileType::from_raw_mode(status.st_mode) {
        FileType::Directory => None,
        FileType::RegularFile | FileType::Symlink if status.st_nlink > 1 => Some(Why::HardLink),
        FileType::RegularFile if status.st_mode & 0o6000 != 0 => Some(Why::SetIdBit),
        FileType::RegularFile | FileType::Symlink => None,
        _ => Some(Why::Special),
    }
}
