//! Carrying out the file operations of a plan: a new tree, built from descriptors, that becomes the root.

use std::ffi::CString;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use cofferdam_linux_sys::mount::{self, Restrictions, Tree};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};

use crate::plan::{Access, Operation};
use crate::text::Text;

/// An operation that failed, and why.
#[derive(Debug)]
pub struct Failure {
    pub operation: String,
    pub error: io::Error,
}

/// Builds the tree and makes it the root of this process. Afterwards nothing of the host is reachable by a path
/// that the plan does not name.
pub fn build(operations: &[Operation]) -> Result<(), Failure> {
    let failed = |operation: &dyn ToString| {
        let operation = operation.to_string();
        move |error| Failure { operation, error }
    };
    mount::make_private().map_err(failed(&"private mounts"))?;
    // What is taken from the host is opened first: the new tree will stand where some of it is.
    let mut sources = Vec::with_capacity(operations.len());
    for operation in operations {
        sources.push(source(operation).map_err(failed(operation))?);
    }
    let root = Root::new().map_err(failed(&"a new root"))?;
    for (operation, source) in operations.iter().zip(sources) {
        root.carry_out(operation, source).map_err(failed(operation))?;
    }
    root.enter().map_err(failed(&"the change to the new root"))
}

/// The host's part of an operation, already restricted.
fn source(operation: &Operation) -> io::Result<Option<Tree>> {
    let tree = match operation {
        Operation::Bind { from, access, .. } => {
            let tree = Tree::copy(from.as_path())?;
            tree.restrict(match access {
                Access::ReadOnly => Restrictions::READ_ONLY,
                Access::Writable => Restrictions::BASE,
            })?;
            tree
        }
        Operation::Device { path } => {
            let tree = Tree::copy(path.as_path())?;
            tree.restrict(Restrictions::DEVICE)?;
            tree
        }
        _ => return Ok(None),
    };
    Ok(Some(tree))
}

struct Root {
    tree: Tree,
    /// Opened below the place where the tree was attached: a path of this mount namespace.
    directory: OwnedFd,
    empty_file: Tree,
    empty_directory: Tree,
}

impl Root {
    fn new() -> io::Result<Self> {
        let tree = memory(64 << 20, 0o755)?;
        let old = rustix::fs::openat(CWD, c"/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        tree.attach(old.as_fd())?;
        let directory =
            rustix::fs::openat(tree.as_fd(), c".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let (empty_file, empty_directory) = masks()?;
        Ok(Self { tree, directory, empty_file, empty_directory })
    }

    fn carry_out(&self, operation: &Operation, source: Option<Tree>) -> io::Result<()> {
        match operation {
            Operation::Directory { path } => self.directory(path.as_path()).map(drop),
            Operation::Link { path, to } => {
                let (parent, name) = self.parent(path.as_path())?;
                Ok(rustix::fs::symlinkat(to.as_os_str(), parent, name)?)
            }
            Operation::File { path, contents } => {
                let (parent, name) = self.parent(path.as_path())?;
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                let file = rustix::fs::openat(parent, name, flags, Mode::from_raw_mode(0o644))?;
                std::fs::File::from(file).write_all(contents.as_bytes())
            }
            Operation::Bind { path, .. } | Operation::Device { path } => {
                let Some(tree) = source else { return Err(io::Error::other("its source was not opened")) };
                self.attach(&tree, path.as_path())
            }
            Operation::Private { path, bytes } => {
                let shared =
                    ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|shared| path.as_path() == Path::new(shared));
                let tree = memory(*bytes, if shared { 0o1777 } else { 0o755 })?;
                self.attach(&tree, path.as_path())
            }
            Operation::Mask { path } => {
                match self.open(path.as_path()) {
                    // What the new tree does not have needs no hiding.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                    other => self.mask(&other?),
                }
            }
            Operation::Freeze { path } => {
                let target = self.open(path.as_path())?;
                let tree = Tree::copy_of(target.as_fd())?;
                tree.restrict(Restrictions::READ_ONLY)?;
                tree.attach(target.as_fd())
            }
            Operation::Processes { path, keep } => {
                // What may not be traced is not there at all: the first process, and its command line with it.
                let tree = Tree::new(c"proc", &[(c"hidepid", Some(c"ptraceable"))])?;
                tree.restrict(Restrictions::NO_EXECUTION)?;
                self.attach(&tree, path.as_path())?;
                self.hide_kernel_files(path.as_path(), keep)
            }
            Operation::Terminals { path } => {
                let options =
                    [(c"newinstance", None), (c"ptmxmode", Some(c"0666")), (c"mode", Some(c"0620"))];
                let tree = Tree::of_devices(c"devpts", &options)?;
                tree.restrict(Restrictions::DEVICE)?;
                self.attach(&tree, path.as_path())
            }
            Operation::Seal => self.tree.restrict_top(Restrictions::READ_ONLY),
        }
    }

    fn mask(&self, target: &OwnedFd) -> io::Result<()> {
        let mask = match FileType::from_raw_mode(rustix::fs::fstat(target)?.st_mode) {
            FileType::Directory => &self.empty_directory,
            _ => &self.empty_file,
        };
        Tree::copy_of(mask.as_fd())?.attach(target.as_fd())
    }

    /// Hides what is neither a process nor on the list: a list of what to hide would miss what the next kernel
    /// brings. The names are read from the new file system, which has a single process so far.
    fn hide_kernel_files(&self, path: &Path, keep: &[Text]) -> io::Result<()> {
        let processes = self.open(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let list = rustix::fs::openat(&processes, c".", flags, Mode::empty())?;
        for entry in rustix::fs::Dir::read_from(list)? {
            let entry = entry?;
            let name = entry.file_name();
            let is_process = name.to_bytes().iter().all(u8::is_ascii_digit);
            let kept = keep.iter().any(|keep| keep.as_os_str().as_bytes() == name.to_bytes());
            if is_process || kept || matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            self.mask(&rustix::fs::openat(&processes, name, flags, Mode::empty())?)?;
        }
        Ok(())
    }

    fn enter(self) -> io::Result<()> {
        rustix::process::fchdir(&self.directory)?;
        mount::pivot_to_current_directory()
    }

    /// Puts a tree at a path, making what it stands on where the path is still the new tree's own.
    fn attach(&self, tree: &Tree, path: &Path) -> io::Result<()> {
        let target = match self.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let kind = FileType::from_raw_mode(rustix::fs::fstat(tree.as_fd())?.st_mode);
                if kind == FileType::Directory {
                    self.directory(path)?
                } else {
                    let (parent, name) = self.parent(path)?;
                    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                    rustix::fs::openat(parent, name, flags, Mode::from_raw_mode(0o444))?;
                    self.open(path)?
                }
            }
            other => other?,
        };
        tree.attach(target.as_fd())
    }

    /// Opens a path of the new tree; a link on the way is an error, so that nothing leads elsewhere.
    fn open(&self, path: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        Ok(rustix::fs::openat2(&self.directory, relative(path), flags, Mode::empty(), resolve)?)
    }

    /// Makes a directory and those above it, where they are missing.
    fn directory(&self, path: &Path) -> io::Result<OwnedFd> {
        let mut so_far = PathBuf::from("/");
        for component in path.components().filter(|component| matches!(component, Component::Normal(_))) {
            so_far.push(component);
            let directory = self.open(so_far.parent().unwrap_or(Path::new("/")))?;
            match rustix::fs::mkdirat(directory, component.as_os_str(), Mode::from_raw_mode(0o755)) {
                Err(error) if error != rustix::io::Errno::EXIST && error != rustix::io::Errno::ROFS => {
                    return Err(error.into());
                }
                _ => {}
            }
        }
        self.open(path)
    }

    fn parent<'a>(&self, path: &'a Path) -> io::Result<(OwnedFd, &'a std::ffi::OsStr)> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::other("the path has no name"));
        };
        Ok((self.directory(parent)?, name))
    }
}

/// The two things that stand over what is hidden: nobody can read them, and they hold nothing. They keep their
/// names in a file system that is attached nowhere, because what has no name cannot be mounted.
fn masks() -> io::Result<(Tree, Tree)> {
    let home = memory(1 << 16, 0o000)?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = rustix::fs::openat(home.as_fd(), c"file", flags, Mode::empty())?;
    rustix::fs::mkdirat(home.as_fd(), c"directory", Mode::empty())?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(home.as_fd(), c"directory", flags, Mode::empty())?;
    let (file, directory) = (Tree::copy_of(file.as_fd())?, Tree::copy_of(directory.as_fd())?);
    for mask in [&file, &directory] {
        mask.restrict(Restrictions::READ_ONLY.and(Restrictions::NO_EXECUTION))?;
    }
    Ok((file, directory))
}

/// A file system in memory that only the owner of this user namespace can write to.
fn memory(bytes: u64, mode: u32) -> io::Result<Tree> {
    let text = |value: String| CString::new(value).map_err(io::Error::other);
    // Nothing at all would mean no limit to the kernel; a page is as close as it gets.
    let (size, mode) = (text(bytes.max(4096).to_string())?, text(format!("{mode:o}"))?);
    Tree::new(c"tmpfs", &[(c"size", Some(size.as_c_str())), (c"mode", Some(mode.as_c_str()))])
}

fn relative(path: &Path) -> &Path {
    match path.strip_prefix("/") {
        Ok(rest) if rest.as_os_str().as_bytes().is_empty() => Path::new("."),
        Ok(rest) => rest,
        Err(_) => path,
    }
}
