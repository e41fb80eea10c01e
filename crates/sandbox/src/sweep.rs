//! Names that the host would run and that were not there when the sandbox was made.
//!
//! The kernel can protect a name that exists by mounting over it; for one that does not exist there is nothing to
//! mount over, and putting an empty file there would leave litter in people's projects. So such a name can be made
//! inside, and is set aside under another one, where nothing runs it, before the sandbox is gone.
//!
//! Where the sandbox stays for further commands, the end of each is such a moment too.
//!
//! At the end everything else in the sandbox is dead, so nothing moves while this looks; between commands, what else
//! runs there has the same rights as this and gains nothing by a race. What was left behind may still be a trap: a link on the way, a directory without the right to write, a thousand names that are taken.

use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawDir, RenameFlags};
use rustix::io::Errno;
use rustix::rand::GetRandomFlags;

use crate::text::Text;

/// A directory with more names than this is asked for those that matter, one by one.
const FEW: usize = 128;

/// Renames what has appeared under these names and gives the new names. Nothing is lost, and a name that cannot
/// be renamed is given as it is, so that the person hears of it.
pub fn set_aside(names: &[Text]) -> Vec<Text> {
    // Most names are in the same directory, so the one that was reached last is kept.
    let mut near = None;
    names.iter().filter_map(|name| appeared(name.as_path(), &mut near)).map(aside).collect()
}

/// Something to be set aside: a name in a directory that was reached without following a link.
struct Appeared {
    directory: Rc<OwnedFd>,
    name: OsString,
    path: PathBuf,
}

/// A directory that was reached, and its path, which has no link in it.
struct Near<'a> {
    path: &'a Path,
    directory: Rc<OwnedFd>,
    /// All that is in it; none where it cannot be told.
    names: Option<Vec<OsString>>,
}

impl<'a> Near<'a> {
    fn new(path: &'a Path, directory: OwnedFd) -> Self {
        let names = names(&directory);
        Self { path, directory: Rc::new(directory), names }
    }

    /// Whether there can be nothing at a path, because the first name on the way from here to it is not there.
    /// Of many paths this is asked after every command, so bytes are compared and nothing is made of them.
    fn lacks(&self, path: &Path) -> bool {
        let [path, here] = [path, self.path].map(|path| path.as_os_str().as_bytes());
        let below = path.strip_prefix(here).and_then(|below| below.strip_prefix(b"/"));
        let (Some(below), Some(names)) = (below, &self.names) else { return false };
        let name = below.split(|byte| *byte == b'/').next().unwrap_or_default();
        // Some file systems find a name in either case.
        !name.is_empty()
            && name != b".."
            && name != b"."
            && !names.iter().any(|found| found.as_bytes().eq_ignore_ascii_case(name))
    }
}

/// What is in a directory, where that takes less than to ask for the names one by one: few names, which a file system
/// without a sense for case finds under no other plain letters, in a directory that can be read.
fn names(directory: &OwnedFd) -> Option<Vec<OsString>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listed = rustix::fs::openat(directory, c".", flags, Mode::empty()).ok()?;
    let mut room = [MaybeUninit::uninit(); 4 << 10];
    let mut entries = RawDir::new(listed, &mut room);
    let mut names = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = entry.ok()?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if names.len() == FEW || !name.is_ascii() {
            return None;
        }
        names.push(name.to_owned());
    }
    Some(names)
}

/// What stands at a path now.
fn appeared<'a>(path: &'a Path, near: &mut Option<Near<'a>>) -> Option<Appeared> {
    let (parent, name) = (path.parent()?, path.file_name()?);
    if near.as_ref().is_some_and(|near| near.lacks(path)) {
        return None;
    }
    let directory = match near {
        Some(near) if near.path == parent => Rc::clone(&near.directory),
        _ => match reach(parent)? {
            Way::Open(directory) => Rc::clone(&near.insert(Near::new(parent, directory)).directory),
            Way::Link(link) => return Some(link),
        },
    };
    look(&directory, name).ok()?;
    Some(Appeared { directory, name: name.to_owned(), path: path.to_owned() })
}

enum Way {
    Open(OwnedFd),
    /// A link on the way was made inside (those of the host are resolved in the plan), and leads elsewhere on the
    /// host than in here: the link itself is what has appeared.
    Link(Appeared),
}

/// Goes to a directory step by step, because the filter of the sandbox, in which this runs as well, has no call that
/// refuses links by itself.
fn reach(path: &Path) -> Option<Way> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut directory = rustix::fs::openat(CWD, c"/", flags, Mode::empty()).ok()?;
    let mut so_far = PathBuf::from("/");
    for name in path.components() {
        let Component::Normal(name) = name else { continue };
        so_far.push(name);
        let open = || rustix::fs::openat(&directory, name, flags, Mode::empty());
        let below = match open() {
            Err(Errno::ACCESS) => make_writable(&directory).and_then(|()| open()),
            other => other,
        };
        match below {
            Ok(below) => directory = below,
            Err(Errno::LOOP | Errno::NOTDIR) if is_link(&directory, name) => {
                let name = name.to_owned();
                return Some(Way::Link(Appeared { directory: Rc::new(directory), name, path: so_far }));
            }
            // A file stands where a directory would have to be, or nothing, so the rest of the path does not exist.
            Err(_) => return None,
        }
    }
    Some(Way::Open(directory))
}

fn look(directory: &OwnedFd, name: &OsStr) -> rustix::io::Result<()> {
    let look = || rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map(drop);
    match look() {
        Err(Errno::ACCESS) => make_writable(directory).and_then(|()| look()),
        other => other,
    }
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
