//! What a layer changes: the directory that overlayfs wrote, set against the workspace below it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use cofferdam_policy::secret_paths;
use rustix::fs::{FileType, Mode, OFlags, Stat};
use serde::Serialize;

use super::files;
use crate::layout;
use crate::text::Text;

/// Deeper than people build, and within what one process can hold open.
const DEEPEST: usize = 200;

/// One thing that is different.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    /// From the top of the workspace on.
    pub path: Text,
    #[serde(flatten)]
    pub what: What,
    /// Why it will not be applied.
    pub held: Option<Held>,
    /// What stood there when the change was looked at; it must still be that when the change is applied.
    #[serde(skip)]
    pub base: Option<Base>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum What {
    AddedFile {
        bytes: u64,
        /// It has a set-user-id or set-group-id bit, which is not applied.
        set_id: bool,
    },
    ModifiedFile {
        bytes: u64,
        set_id: bool,
    },
    AddedDirectory {
        mode: u32,
    },
    /// A link, new or changed.
    Link {
        to: Text,
    },
    Mode {
        from: u32,
        to: u32,
    },
    DeletedFile,
    DeletedDirectory,
    /// A pipe, a socket, a device.
    Special,
}

/// Why a change stays in the layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Held {
    /// Tools on the host run what is under this name.
    RunsOnTheHost,
    /// Files of this name hold secrets.
    Secret,
    /// A link that leads out of the workspace.
    LeadsOutside,
    /// Neither a file nor a directory nor a link.
    Special,
    /// A file where a directory was, or the other way round.
    OtherKind,
    /// Somebody else has changed it in the workspace since.
    BaseChanged,
    TooDeep,
}

impl Held {
    pub fn words(self) -> &'static str {
        match self {
            Self::RunsOnTheHost => "your own tools would run what is under this name",
            Self::Secret => "files of this name hold secrets",
            Self::LeadsOutside => "the link leads out of the workspace",
            Self::Special => "it is neither a file nor a directory nor a link",
            Self::OtherKind => "a file stands where a directory was, or the other way round",
            Self::BaseChanged => "it was changed in the workspace since",
            Self::TooDeep => "it lies too deep",
        }
    }
}

/// What identifies a file of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Base {
    pub inode: u64,
    pub size: i64,
    pub modified: (i64, i64),
    pub directory: bool,
}

impl Base {
    pub fn of(stat: &Stat) -> Self {
        Self {
            inode: stat.st_ino,
            size: stat.st_size,
            modified: (stat.st_mtime, stat.st_mtime_nsec as i64),
            directory: files::kind(stat) == FileType::Directory,
        }
    }
}

pub fn changes(upper: &OwnedFd, lower: &OwnedFd, created: (i64, i64)) -> io::Result<Vec<Change>> {
    let mut walk = Walk { created, found: Vec::new() };
    walk.directory(upper, Some(lower), Path::new(""))?;
    Ok(walk.found)
}

struct Walk {
    created: (i64, i64),
    found: Vec<Change>,
}

/// One name in both trees.
struct Pair<'a> {
    upper: &'a OwnedFd,
    lower: Option<&'a OwnedFd>,
    name: &'a OsStr,
    path: PathBuf,
    above: Stat,
    below: Option<Stat>,
}

impl Walk {
    fn directory(&mut self, upper: &OwnedFd, lower: Option<&OwnedFd>, path: &Path) -> io::Result<()> {
        let names = files::names(upper)?;
        for name in &names {
            let Some(above) = files::look(upper, name)? else { continue };
            let below = lower.map(|lower| files::look(lower, name)).transpose()?.flatten();
            self.pair(&Pair { upper, lower, name, path: path.join(name), above, below })?;
        }
        // A directory that was removed and made anew hides all that was in the old one.
        let Some(lower) = lower.filter(|_| attribute(upper, c"user.overlay.opaque") == Some(b'y')) else {
            return Ok(());
        };
        for name in files::names(lower)?.iter().filter(|name| names.binary_search(name).is_err()) {
            if let Some(below) = files::look(lower, name)? {
                self.deleted(lower, name, &path.join(name), &below)?;
            }
        }
        Ok(())
    }

    fn pair(&mut self, pair: &Pair<'_>) -> io::Result<()> {
        match (files::kind(&pair.above), &pair.below, pair.lower) {
            // This is how overlayfs writes that a name is gone.
            (FileType::CharacterDevice, Some(below), Some(lower)) if pair.above.st_rdev == 0 => {
                self.deleted(lower, pair.name, &pair.path, below)
            }
            (FileType::CharacterDevice, ..) if pair.above.st_rdev == 0 => Ok(()),
            (FileType::Directory, ..) => self.sub_directory(pair),
            (FileType::RegularFile, ..) => self.file(pair),
            (FileType::Symlink, ..) => self.link(pair),
            _ => {
                self.push(&pair.path, What::Special, pair.below.as_ref(), Some(Held::Special));
                Ok(())
            }
        }
    }

    fn sub_directory(&mut self, pair: &Pair<'_>) -> io::Result<()> {
        let added = What::AddedDirectory { mode: pair.above.st_mode & 0o777 };
        if pair.path.components().count() > DEEPEST {
            self.push(&pair.path, added, None, Some(Held::TooDeep));
            return Ok(());
        }
        let lower = match &pair.below {
            None => {
                self.push(&pair.path, added, None, None);
                None
            }
            Some(below) if files::kind(below) == FileType::Directory => {
                if let Some(what) = mode_change(below, &pair.above) {
                    self.push(&pair.path, what, Some(below), None);
                }
                pair.lower.map(|lower| files::open_directory(lower, pair.name)).transpose()?
            }
            Some(below) => {
                self.push(&pair.path, added, Some(below), Some(Held::OtherKind));
                return Ok(());
            }
        };
        let upper = files::open_directory(pair.upper, pair.name)?;
        self.directory(&upper, lower.as_ref(), &pair.path)
    }

    fn file(&mut self, pair: &Pair<'_>) -> io::Result<()> {
        let (bytes, set_id) = (pair.above.st_size.unsigned_abs(), pair.above.st_mode & 0o6000 != 0);
        match &pair.below {
            None => {
                // A file that was copied up had one below it, which somebody else has removed since.
                let file = readable(pair.upper, pair.name)?;
                let gone = attribute(&file, c"user.overlay.origin").is_some();
                let held = gone.then_some(Held::BaseChanged);
                self.push(&pair.path, What::AddedFile { bytes, set_id }, None, held);
            }
            Some(below) if files::kind(below) == FileType::Directory => {
                self.push(&pair.path, What::AddedFile { bytes, set_id }, Some(below), Some(Held::OtherKind));
            }
            Some(below) => {
                // Only what was compared whole and found equal is the same: a file that cannot be read, or that
                // there is nothing to compare with, is shown as changed and so not passed over.
                let same = files::kind(below) == FileType::RegularFile
                    && below.st_size == pair.above.st_size
                    && pair
                        .lower
                        .is_some_and(|lower| matches!(same_contents(pair.upper, lower, pair.name), Ok(true)));
                let what = if same {
                    mode_change(below, &pair.above)
                } else {
                    Some(What::ModifiedFile { bytes, set_id })
                };
                if let Some(what) = what {
                    self.push(&pair.path, what, Some(below), self.newer(below));
                }
            }
        }
        Ok(())
    }

    fn link(&mut self, pair: &Pair<'_>) -> io::Result<()> {
        let to = rustix::fs::readlinkat(pair.upper, pair.name, Vec::new())?;
        let target = Path::new(OsStr::from_bytes(to.to_bytes()));
        if let (Some(below), Some(lower)) = (&pair.below, pair.lower)
            && files::kind(below) == FileType::Symlink
            && rustix::fs::readlinkat(lower, pair.name, Vec::new())? == to
        {
            return Ok(());
        }
        let held = match &pair.below {
            _ if leads_outside(&pair.path, target) => Some(Held::LeadsOutside),
            Some(below) if files::kind(below) == FileType::Directory => Some(Held::OtherKind),
            Some(below) => self.newer(below),
            None => None,
        };
        self.push(&pair.path, What::Link { to: target.into() }, pair.below.as_ref(), held);
        Ok(())
    }

    fn deleted(&mut self, lower: &OwnedFd, name: &OsStr, path: &Path, below: &Stat) -> io::Result<()> {
        if files::kind(below) == FileType::Directory {
            let held = self.newer_inside(lower, name, path)?;
            self.push(path, What::DeletedDirectory, Some(below), held);
        } else {
            self.push(path, What::DeletedFile, Some(below), self.newer(below));
        }
        Ok(())
    }

    /// A directory may go only if nothing in it is newer than the layer, and nothing is held for its name.
    fn newer_inside(&self, at: &OwnedFd, name: &OsStr, path: &Path) -> io::Result<Option<Held>> {
        if path.components().count() > DEEPEST {
            return Ok(Some(Held::TooDeep));
        }
        let directory = files::open_directory(at, name)?;
        for name in files::names(&directory)? {
            let Some(stat) = files::look(&directory, &name)? else { continue };
            let path = path.join(&name);
            let held = match (files::kind(&stat), by_name(&path).or_else(|| self.newer(&stat))) {
                (_, Some(held)) => Some(held),
                (FileType::Directory, None) => self.newer_inside(&directory, &name, &path)?,
                _ => None,
            };
            if held.is_some() {
                return Ok(held);
            }
        }
        Ok(None)
    }

    fn newer(&self, below: &Stat) -> Option<Held> {
        let changed = (below.st_ctime, below.st_ctime_nsec as i64);
        (changed > self.created).then_some(Held::BaseChanged)
    }

    fn push(&mut self, path: &Path, what: What, below: Option<&Stat>, held: Option<Held>) {
        let held = by_name(path).or(held);
        self.found.push(Change { path: path.into(), what, held, base: below.map(Base::of) });
    }
}

/// Whether the name alone keeps a change back, wherever in the workspace it stands.
fn by_name(path: &Path) -> Option<Held> {
    let parts: Vec<&OsStr> = path.iter().collect();
    let among = |parts: &[&OsStr], names: &[&str]| {
        names.iter().any(|name| {
            let name: Vec<&OsStr> = Path::new(name).iter().collect();
            parts.windows(name.len()).any(|window| window == name)
        })
    };
    // Submodules and worktrees have the same names further down.
    let repository = parts.iter().position(|part| *part == OsStr::new(".git"));
    let protected = among(&parts, layout::WORKSPACE_PROTECTED)
        || repository.is_some_and(|git| among(&parts[git..], layout::REPOSITORY_PROTECTED));
    if protected {
        return Some(Held::RunsOnTheHost);
    }
    // A `.git` that is a file, or that goes as a whole, leads the host's git to another place.
    if path.file_name() == Some(OsStr::new(".git")) {
        return Some(Held::RunsOnTheHost);
    }
    parts.iter().any(|part| secret_paths::kind_of_name(part).is_some()).then_some(Held::Secret)
}

/// Whether a link at `path` (from the top of the workspace) points above that top.
fn leads_outside(path: &Path, target: &Path) -> bool {
    let mut depth = path.components().count() as i64 - 1;
    target.components().any(|component| {
        match component {
            Component::RootDir | Component::Prefix(_) => return true,
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
        }
        depth < 0
    })
}

fn mode_change(below: &Stat, above: &Stat) -> Option<What> {
    // Bits that change who a program runs as are never carried over, so they are no change either.
    let (from, to) = (below.st_mode & 0o777, above.st_mode & 0o777);
    (from != to).then_some(What::Mode { from, to })
}

/// Opens a file of the layer for reading. One that its owner cannot read is made readable first.
pub fn readable(directory: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(directory, name, flags, Mode::empty())?)
}

/// The first byte of an attribute, if it has one.
fn attribute(file: &OwnedFd, name: &std::ffi::CStr) -> Option<u8> {
    let mut value = [0; 256];
    rustix::fs::fgetxattr(file, name, &mut value).ok().filter(|length| *length > 0).map(|_| value[0])
}

fn same_contents(one: &OwnedFd, other: &OwnedFd, name: &OsStr) -> io::Result<bool> {
    let (mut one, mut other) = (File::from(readable(one, name)?), File::from(readable(other, name)?));
    let (mut left, mut right) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        let count = one.read(&mut left)?;
        if count == 0 {
            return Ok(other.read(&mut right)? == 0);
        }
        if other.read_exact(&mut right[..count]).is_err() || left[..count] != right[..count] {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn req_i15_a_link_that_climbs_out_is_seen_wherever_it_stands() {
        for (path, target, outside) in [
            ("a", "b", false),
            ("a", "../b", true),
            ("d/a", "../b", false),
            ("d/a", "../../b", true),
            ("d/a", "x/../../../b", true),
            ("a", "/etc/passwd", true),
        ] {
            assert_eq!(leads_outside(Path::new(path), Path::new(target)), outside, "{path} -> {target}");
        }
    }

    #[test]
    fn names_that_the_host_runs_or_that_hold_secrets_are_kept_back_at_any_depth() {
        for (path, held) in [
            ("src/main.rs", None),
            (".git/hooks/post-checkout", Some(Held::RunsOnTheHost)),
            ("vendor/x/.git/config", Some(Held::RunsOnTheHost)),
            ("web/.vscode/tasks.json", Some(Held::RunsOnTheHost)),
            (".git", Some(Held::RunsOnTheHost)),
            (".git/modules/m/hooks/post-merge", Some(Held::RunsOnTheHost)),
            (".git/objects/aa", None),
            (".env", Some(Held::Secret)),
            ("web/.env.local", Some(Held::Secret)),
            (".env.example", None),
        ] {
            assert_eq!(by_name(Path::new(path)), held, "{path}");
        }
    }
}
