//! Names that the host would run and that were not there when the sandbox was made.
//!
//! The kernel can protect a name that exists by mounting over it; for one that does not exist there is nothing to
//! mount over, and putting an empty file there would leave litter in people's projects. So such a name can be made
//! inside, and is set aside under another one, where nothing runs it, before the sandbox is gone.
//!
//! Everything else in the sandbox is dead by then, so nothing moves while this looks. What it left behind may still
//! be a trap: a link on the way, a directory without the right to write, a thousand names that are taken.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::rand::GetRandomFlags;

use crate::text::Text;

/// Renames what has appeared under these names and gives the new names. Nothing is lost, and a name that cannot
/// be renamed is given as it is, so that the person hears of it.
pub fn set_aside(names: &[Text]) -> Vec<Text> {
    names.iter().filter_map(|name| appeared(name.as_path())).map(aside).collect()
}

/// Something to be set aside: a name in a directory that was reached without following a link.
struct Appeared {
    directory: OwnedFd,
    name: OsString,
    path: PathBuf,
}

/// What stands at a path now. A link on the way there was made inside (those of the host are resolved in the
/// plan), and leads elsewhere on the host than in here: the link itself is what has appeared.
fn appeared(path: &Path) -> Option<Appeared> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // Nearly always there is nothing, which one call tells: with a link on the way it would fail differently.
    let look = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = rustix::fs::openat2(CWD, path, look, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    if matches!(found, Err(Errno::NOENT | Errno::NOTDIR)) {
        return None;
    }
    let mut directory = rustix::fs::openat(CWD, c"/", flags, Mode::empty()).ok()?;
    let mut so_far = PathBuf::from("/");
    let mut names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    let mut name = names.next()?;
    loop {
        so_far.push(name);
        let look = || rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW);
        match look() {
            Err(Errno::ACCESS) => make_writable(&directory).and_then(|()| look()),
            other => other,
        }
        .ok()?;
        let Some(next) = names.next() else { break };
        match rustix::fs::openat(&directory, name, flags | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(below) => directory = below,
            Err(Errno::LOOP | Errno::NOTDIR) if is_link(&directory, name) => break,
            // A file stands where a directory would have to be, so the rest of the path does not exist.
            Err(_) => return None,
        }
        name = next;
    }
    Some(Appeared { directory, name: name.to_owned(), path: so_far })
}

fn is_link(directory: &OwnedFd, name: &OsStr) -> bool {
    rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|found| rustix::fs::FileType::from_raw_mode(found.st_mode).is_symlink())
}

fn aside(found: Appeared) -> Text {
    let mut suffix = String::from(".held");
    // Names that are taken already cannot go on for ever: the later ones cannot be guessed.
    for _ in 0..8 {
        let mut other = found.name.clone();
        other.push(&suffix);
        let rename = || {
            rustix::fs::renameat_with(
                &found.directory,
                &found.name,
                &found.directory,
                &other,
                RenameFlags::NOREPLACE,
            )
        };
        let renamed = match rename() {
            Err(Errno::ACCESS) => make_writable(&found.directory).and_then(|()| rename()),
            other => other,
        };
        match renamed {
            Ok(()) => return found.path.with_file_name(other).into(),
            Err(Errno::EXIST) => suffix = format!(".held-{}", unguessable()),
            Err(_) => break,
        }
    }
    found.path.into()
}

/// The owner of a directory can always take the right to write back; whoever took it away was that same user.
fn make_writable(directory: &OwnedFd) -> rustix::io::Result<()> {
    let mode = rustix::fs::fstat(directory)?.st_mode;
    rustix::fs::chmodat(directory, c".", Mode::from_raw_mode(mode) | Mode::RWXU, AtFlags::empty())
}

fn unguessable() -> String {
    let mut bytes = [0; 8];
    // Without randomness the names are only unlikely to be taken.
    let _ = rustix::rand::getrandom(&mut bytes, GetRandomFlags::empty());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
