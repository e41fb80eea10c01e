//! Carrying out the file operations of a plan: a new tree that becomes the root.
//!
//! Two ways, by who could change a path under our hands. What belongs to the system, or was made here a moment
//! ago, is reached by its path in one call. What belongs to the person, where a program may exchange a directory for
//! a link at any moment, is opened once, without following links, and used by its descriptor.

use std::cell::Cell;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use cofferdam_linux_sys::mount::{self, Restrictions, Tree};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Timespec, Timestamps};
use rustix::io::Errno;

use crate::plan::{Access, Kind, Operation};
use crate::text::Text;

/// An operation that failed, and why.
#[derive(Debug)]
pub struct Failure {
    pub operation: String,
    pub error: io::Error,
}

/// Where the new tree is built, in this namespace's copy of the host's: nothing of the host's is shown from there.
/// It goes with the rest of the copy.
const SITE: &CStr = c"/proc";
/// What stands over what is hidden: nobody can read it, and it holds nothing.
const EMPTY_FILE: &CStr = c"/proc/file";
const EMPTY_DIRECTORY: &CStr = c"/proc/directory";
/// Memory that all private places of one size share, each a directory of it: a file system for every one of them would
/// take longer to make, and they would be that many times the size together.
const POOL: &CStr = c"/proc/pool";
/// Where approved files are kept, beside the tree, each below its own path.
const APPROVED: &[u8] = b"/proc/approved";
/// A file of the system that is no longer than this is copied: a mount costs more.
const SMALL: usize = 64 << 10;

/// The tree while it is built. Its top is the current directory of this process.
#[derive(Debug)]
pub struct Root {
    directory: OwnedFd,
    /// How large the pool is, once there is one.
    pool: Cell<Option<u64>>,
}

impl Root {
    /// An empty tree. Nothing that is mounted from here on reaches the host.
    pub fn begin() -> Result<Self, Failure> {
        Self::prepare().map_err(|error| Failure { operation: "a new root".to_owned(), error })
    }

    fn prepare() -> io::Result<Self> {
        // What is made here has the mode that is written here, whatever the launcher's mask was.
        rustix::process::umask(Mode::empty());
        mount::make_private()?;
        memory(SITE, 64 << 20, 0o755)?;
        rustix::process::chdir(SITE)?;
        rustix::fs::mkdirat(CWD, c"root", Mode::from_raw_mode(0o755))?;
        rustix::fs::mkdirat(CWD, c"directory", Mode::empty())?;
        make_file(c"file", Mode::empty())?;
        for mask in [c"file", c"directory"] {
            mount::bind(mask, mask)?;
            mount::restrict(mask, Restrictions::READ_ONLY.and(Restrictions::NO_EXECUTION))?;
        }
        // Only what is a mount of its own can become the root.
        mount::bind(c"root", c"root")?;
        rustix::process::chdir(c"root")?;
        let directory = rustix::fs::openat(CWD, c".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { directory, pool: Cell::new(None) })
    }

    pub fn carry_out(&self, operations: &[Operation]) -> Result<(), Failure> {
        operations.iter().try_for_each(|operation| {
            self.one(operation).map_err(|error| Failure { operation: operation.to_string(), error })
        })
    }

    /// Makes the tree the root of this process. Afterwards nothing of the host is reachable by a path that the
    /// plan does not name.
    pub fn enter(self) -> Result<(), Failure> {
        rustix::process::fchdir(&self.directory)
            .map_err(io::Error::from)
            .and_then(|()| mount::pivot_to_current_directory())
            .map_err(|error| Failure { operation: "the change to the new root".to_owned(), error })
    }

    fn one(&self, operation: &Operation) -> io::Result<()> {
        match operation {
            Operation::Directory { path } => make_directory(&relative(path.as_path())?),
            Operation::Link { path, to } => with_parents(&relative(path.as_path())?, |path| {
                rustix::fs::symlinkat(to.as_os_str(), CWD, path)
            }),
            Operation::File { path, contents } => {
                write_file(&relative(path.as_path())?, contents.as_os_str().as_bytes())
            }
            Operation::System { path, kind } => {
                let (from, at) = (text(path.as_os_str())?, relative(path.as_path())?);
                if *kind == Kind::File && copy(&from, &at)? == Copied::Yes {
                    return Ok(());
                }
                make(&at, *kind)?;
                mount::bind(&from, &at)?;
                mount::restrict(&at, Restrictions::READ_ONLY)
            }
            Operation::Device { path } => {
                let (from, at) = (text(path.as_os_str())?, relative(path.as_path())?);
                make(&at, Kind::File)?;
                mount::bind(&from, &at)?;
                mount::restrict(&at, Restrictions::DEVICE)
            }
            Operation::Private { path, bytes } => {
                let at = relative(path.as_path())?;
                make_directory(&at)?;
                let shared =
                    ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|shared| path.as_path() == Path::new(shared));
                self.private(&at, *bytes, if shared { 0o1777 } else { 0o755 })
            }
            Operation::Processes { path, keep } => {
                let at = relative(path.as_path())?;
                make_directory(&at)?;
                // What may not be traced is not there at all: the first process, and its command line with it.
                mount::new_at(c"proc", &at, Restrictions::NO_EXECUTION, c"hidepid=ptraceable")?;
                hide_kernel_files(&at, keep)
            }
            Operation::Terminals { path } => {
                let at = relative(path.as_path())?;
                make_directory(&at)?;
                let options = c"newinstance,ptmxmode=0666,mode=0620";
                mount::new_at(c"devpts", &at, Restrictions::DEVICE, options)
            }
            Operation::Mask { path } if path.as_path().starts_with("/proc") => {
                hide(&relative(path.as_path())?)
            }
            Operation::Freeze { path } => {
                let at = relative(path.as_path())?;
                mount::bind(&at, &at)?;
                mount::restrict(&at, Restrictions::READ_ONLY)
            }
            Operation::Seal => mount::restrict_top(c".", Restrictions::READ_ONLY),
            Operation::Bind { path, from, access } => self.bind(path.as_path(), from.as_path(), *access),
            Operation::Mask { path } => self.mask(path.as_path()),
            Operation::Approved { path, contents } => {
                self.approved(path.as_path(), contents.as_os_str().as_bytes())
            }
            Operation::Layered { path, layer } => self.layered(path.as_path(), layer.as_path()),
        }
    }

    fn private(&self, at: &CStr, bytes: u64, mode: u32) -> io::Result<()> {
        match self.pool.get() {
            None => {
                rustix::fs::mkdirat(CWD, POOL, Mode::from_raw_mode(0o755))?;
                memory(POOL, bytes, 0o755)?;
                self.pool.set(Some(bytes));
            }
            Some(size) if size == bytes => {}
            Some(_) => return memory(at, bytes, mode),
        }
        // A path of the new tree has no name twice, and neither has the pool.
        let name = at.to_bytes().iter().map(|&byte| if byte == b'/' { b'!' } else { byte });
        let name: Vec<u8> = POOL.to_bytes().iter().copied().chain([b'/']).chain(name).collect();
        let from = CString::new(name).map_err(io::Error::other)?;
        rustix::fs::mkdirat(CWD, &*from, Mode::from_raw_mode(mode))?;
        mount::bind(&from, at)
    }

    /// The two directories are taken by descriptor to names of our own, because no character of those has a meaning
    /// in the options of a mount.
    fn layered(&self, path: &Path, layer: &Path) -> io::Result<()> {
        let site = |name: &CStr| {
            make_directory(name)?;
            rustix::fs::openat(CWD, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
                .map_err(io::Error::from)
        };
        for (from, name) in [(path, c"/proc/lower"), (layer, c"/proc/layer")] {
            let tree = Tree::copy(from)?;
            tree.restrict(Restrictions::BASE)?;
            tree.attach(site(name)?.as_fd())?;
        }
        let tree = Tree::new(
            c"overlay",
            &[
                (c"lowerdir", Some(c"/proc/lower")),
                (c"upperdir", Some(c"/proc/layer/upper")),
                (c"workdir", Some(c"/proc/layer/work")),
                (c"userxattr", None),
            ],
        )?;
        tree.attach(self.directory(path)?.as_fd())
    }

    /// Puts a part of the host's tree at a path, making what it stands on where the path is still the new tree's own.
    fn bind(&self, path: &Path, from: &Path, access: Access) -> io::Result<()> {
        let tree = Tree::copy(from)?;
        tree.restrict(match access {
            Access::ReadOnly => Restrictions::READ_ONLY,
            Access::Writable => Restrictions::BASE,
        })?;
        let target = match self.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let kind = FileType::from_raw_mode(rustix::fs::fstat(tree.as_fd())?.st_mode);
                if kind == FileType::Directory {
                    self.directory(path)?
                } else {
                    let (parent, name) = self.parent(path)?;
                    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                    rustix::fs::openat(parent, name, flags, Mode::from_raw_mode(0o444))?
                }
            }
            other => other?,
        };
        tree.attach(target.as_fd())
    }

    fn mask(&self, path: &Path) -> io::Result<()> {
        let target = match self.open(path) {
            // What the new tree does not have needs no hiding.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        let mask = match FileType::from_raw_mode(rustix::fs::fstat(&target)?.st_mode) {
            FileType::Directory => EMPTY_DIRECTORY,
            _ => EMPTY_FILE,
        };
        Tree::copy(Path::new(OsStr::from_bytes(mask.to_bytes())))?.attach(target.as_fd())
    }

    /// Puts the approved bytes over a file. Where there is none, or something else, whoever starts the command finds that
    /// out.
    fn approved(&self, path: &Path, contents: &[u8]) -> io::Result<()> {
        let Ok(target) = self.open(path) else { return Ok(()) };
        let found = rustix::fs::fstat(&target)?;
        if !FileType::from_raw_mode(found.st_mode).is_file() {
            return Ok(());
        }
        let place = text(OsStr::from_bytes(&[APPROVED, b"/", path.as_os_str().as_bytes()].concat()))?;
        write_file(&place, contents)?;
        // As it was, for programs that compare times and for those that start it.
        let time = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
        let times = Timestamps {
            last_access: time(found.st_atime, found.st_atime_nsec as i64),
            last_modification: time(found.st_mtime, found.st_mtime_nsec as i64),
        };
        rustix::fs::utimensat(CWD, &place, &times, AtFlags::empty())?;
        rustix::fs::chmod(&place, Mode::from_raw_mode(found.st_mode & 0o555))?;
        let tree = Tree::copy(Path::new(OsStr::from_bytes(place.to_bytes())))?;
        tree.restrict(Restrictions::READ_ONLY)?;
        tree.attach(target.as_fd())
    }

    /// Opens a path of the new tree; a link on the way is an error, so that nothing leads elsewhere.
    fn open(&self, path: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let path = relative(path)?;
        Ok(rustix::fs::openat2(&self.directory, &*path, flags, Mode::empty(), resolve)?)
    }

    /// Makes a directory and those above it, where they are missing.
    fn directory(&self, path: &Path) -> io::Result<OwnedFd> {
        let mut so_far = PathBuf::from("/");
        for component in path.components().filter(|component| matches!(component, Component::Normal(_))) {
            let above = self.open(&so_far)?;
            so_far.push(component);
            match rustix::fs::mkdirat(above, component.as_os_str(), Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST | Errno::ROFS) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.open(path)
    }

    fn parent<'a>(&self, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::other("the path has no name"));
        };
        Ok((self.directory(parent)?, name))
    }
}

/// Hides what is neither a process nor on the list: a list of what to hide would miss what the next kernel brings.
/// The names are read from the new file system, which has a single process so far.
fn hide_kernel_files(processes: &CStr, keep: &[Text]) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let list = rustix::fs::openat(CWD, processes, flags, Mode::empty())?;
    for entry in rustix::fs::Dir::new(list)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        let is_process = name.iter().all(u8::is_ascii_digit);
        let kept = keep.iter().any(|keep| keep.as_os_str().as_bytes() == name);
        if is_process || kept || matches!(name, b"." | b"..") {
            continue;
        }
        let mask = if entry.file_type() == FileType::Directory { EMPTY_DIRECTORY } else { EMPTY_FILE };
        mount::bind(mask, &text(OsStr::from_bytes(&[processes.to_bytes(), b"/", name].concat()))?)?;
    }
    Ok(())
}

/// Hides a name of the kernel's own, of which nobody knows beforehand whether it is there and what it is.
fn hide(path: &CStr) -> io::Result<()> {
    let hidden = match mount::bind(EMPTY_FILE, path) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => mount::bind(EMPTY_DIRECTORY, path),
        other => other,
    };
    match hidden {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn make(path: &CStr, kind: Kind) -> io::Result<()> {
    match kind {
        Kind::Directory => make_directory(path),
        Kind::File => with_parents(path, |path| match make_file(path, Mode::from_raw_mode(0o444)) {
            Err(Errno::EXIST) => Ok(()),
            other => other,
        }),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copied {
    Yes,
    No,
}

/// Copies a small file that everybody may read. Anything else is left to a mount, which shows it as it is.
fn copy(from: &CStr, at: &CStr) -> io::Result<Copied> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::openat(CWD, from, flags, Mode::empty()) else { return Ok(Copied::No) };
    let stat = rustix::fs::fstat(&file)?;
    let length = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
    if !FileType::from_raw_mode(stat.st_mode).is_file() || stat.st_mode & 0o004 == 0 || length > SMALL {
        return Ok(Copied::No);
    }
    // From one file to the other inside the kernel: a buffer here would cost more than the copy.
    create(at, |copy| {
        let mut left = length;
        while left > 0 {
            match rustix::fs::sendfile(&copy, &file, None, left)? {
                0 => break,
                sent => left -= sent,
            }
        }
        Ok(())
    })?;
    Ok(Copied::Yes)
}

fn make_file(path: &CStr, mode: Mode) -> Result<(), Errno> {
    rustix::fs::mknodat(CWD, path, FileType::RegularFile, mode, 0)
}

fn make_directory(path: &CStr) -> io::Result<()> {
    with_parents(path, |path| match rustix::fs::mkdirat(CWD, path, Mode::from_raw_mode(0o755)) {
        Err(Errno::EXIST) => Ok(()),
        other => other,
    })
}

/// Does something at a path of the new tree, and again with the directories above it where they were missing.
fn with_parents(path: &CStr, act: impl Fn(&CStr) -> Result<(), Errno>) -> io::Result<()> {
    match (act(path), Path::new(OsStr::from_bytes(path.to_bytes())).parent()) {
        (Err(Errno::NOENT), Some(parent)) if !parent.as_os_str().is_empty() => {
            make_directory(&text(parent.as_os_str())?)?;
            Ok(act(path)?)
        }
        (done, _) => Ok(done?),
    }
}

fn write_file(path: &CStr, contents: &[u8]) -> io::Result<()> {
    create(path, |file| {
        let mut rest = contents;
        while !rest.is_empty() {
            rest = &rest[rustix::io::write(&file, rest)?..];
        }
        Ok(())
    })
}

/// A new file of the new tree, and what is in it.
fn create(path: &CStr, fill: impl Fn(OwnedFd) -> Result<(), Errno>) -> io::Result<()> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    with_parents(path, |path| fill(rustix::fs::openat(CWD, path, flags, Mode::from_raw_mode(0o644))?))
}

/// A file system in memory that only the owner of this user namespace can write to.
fn memory(target: &CStr, bytes: u64, mode: u32) -> io::Result<()> {
    // Nothing at all would mean no limit to the kernel; a page is as close as it gets.
    let options =
        CString::new(format!("size={},mode={mode:o}", bytes.max(4096))).map_err(io::Error::other)?;
    mount::new_at(c"tmpfs", target, Restrictions::BASE, &options)
}

fn relative(path: &Path) -> io::Result<CString> {
    let rest = path.strip_prefix("/").unwrap_or(path).as_os_str();
    text(if rest.is_empty() { OsStr::new(".") } else { rest })
}

fn text(path: &OsStr) -> io::Result<CString> {
    CString::new(path.as_bytes()).map_err(io::Error::other)
}
