//! The file guard, for agents that read files in their own process.
//!
//! A path is only a wish. It is turned into a descriptor first, without opening what is there, and then
//! every question is asked of the descriptor: on which filesystem it lies, what kind of thing it is, where
//! it really is, whether it is the same as something private. What passed is opened through that same
//! descriptor, so that nothing can be exchanged between the check and the opening.
//!
//! Rejected: comparing the path with `/proc/*/environ` and the like. There is always one more spelling (a
//! link, a bind mount, a second procfs, `/dev/fd`), and it is out of date with the next kernel.
//!
//! Where it stops. A secret is recognised by the place where it lies, by being the same file as a listed
//! one, or by how it begins. A hard link, made elsewhere, to a file deep inside a listed directory has
//! neither the place nor the identity, and is found only by how it begins. And it judges one reader that
//! asks: a process that does not ask is held by the sandbox.

mod descriptor;
mod refusal;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use cofferdam_policy::read_guard::{KernelFilesystem, PROCFS, READABLE_PROC_FILES};
use cofferdam_policy::secret_paths::{self, Bases, SNIFFED_BYTES, SecretKind};
use rustix::fs::{FileType, Mode, OFlags};

use descriptor::{Identity, ProcRoot};
pub use refusal::{NotOpened, Refusal};

/// Opens a file for reading if it is one that may be read; see [`ReadGuard::open`].
pub fn open(path: impl AsRef<Path>) -> Result<GuardedFile, NotOpened> {
    ReadGuard::default().open(path.as_ref())
}

/// The guard, with what is private besides what the built-in list knows by its path.
#[derive(Debug, Default)]
pub struct ReadGuard {
    places: Vec<(PathBuf, Refusal)>,
}

/// A file that passed the guard, open for reading.
#[derive(Debug)]
pub struct GuardedFile {
    file: File,
    path: PathBuf,
}

impl GuardedFile {
    /// Where the file really is, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn into_file(self) -> File {
        self.file
    }
}

impl ReadGuard {
    /// Knows the listed places below this home by what they are and not only by where: a bind mount of such
    /// a directory, or a hard link to such a file, is refused under any name.
    #[must_use]
    pub fn home(mut self, bases: &Bases) -> Self {
        for secret in secret_paths::HOME {
            let refusal = Refusal::Secret(secret.kind);
            self.places.extend(secret.below(bases).into_iter().map(|path| (path, refusal)));
        }
        self
    }

    /// Refuses Cofferdam's own policy or state, wherever it was moved to.
    #[must_use]
    pub fn own_state(mut self, path: impl Into<PathBuf>) -> Self {
        self.places.push((path.into(), Refusal::Secret(SecretKind::OwnState)));
        self
    }

    /// Refuses this file, or everything below this directory, as well.
    #[must_use]
    pub fn private(mut self, path: impl Into<PathBuf>) -> Self {
        self.places.push((path.into(), Refusal::Private));
        self
    }

    /// Opens a file for reading if it may be read. The order of the steps is the argument: each of them
    /// looks at one descriptor, and only the last one opens.
    pub fn open(&self, path: &Path) -> Result<GuardedFile, NotOpened> {
        let seen = descriptor::look(path)?;
        let stat = rustix::fs::fstat(&seen)?;
        let identity = Identity::of(&stat);
        match descriptor::filesystem(&seen)? {
            PROCFS => return open_proc_file(identity),
            magic => {
                if let Some(filesystem) = KernelFilesystem::by_magic(magic) {
                    return Err(Refusal::KernelFilesystem(filesystem.name).into());
                }
            }
        }
        refuse_kind(FileType::from_raw_mode(stat.st_mode))?;
        let proc = ProcRoot::open()?;
        let path = proc.path_of(&seen)?;
        refuse_shared_memory(&path, identity)?;
        if let Some(kind) = secret_paths::kind_of_path(&path) {
            return Err(Refusal::Secret(kind).into());
        }
        self.refuse_private(&path, identity)?;
        let file = File::from(proc.reopen(&seen)?);
        refuse_exchanged(&file, identity)?;
        refuse_content(&file)?;
        Ok(GuardedFile { file, path })
    }

    /// Compares what the file is, and what every directory above it is, with every private place.
    fn refuse_private(&self, path: &Path, identity: Identity) -> Result<(), Refusal> {
        let above: Vec<Identity> = path.ancestors().skip(1).filter_map(Identity::at).collect();
        let same = |place: &Path| {
            path.starts_with(place)
                || Identity::at(place).is_some_and(|known| known == identity || above.contains(&known))
        };
        self.places.iter().find(|(place, _)| same(place)).map_or(Ok(()), |(_, refusal)| Err(*refusal))
    }
}

/// In a procfs the allowed files are known by their inode numbers, which are the same in every procfs, so a
/// bind mount and a second procfs give the same answer. What is opened is never the file that was asked for
/// but the one of that name below our own `/proc`: inode numbers of processes come from a counter that may
/// wrap around, and a process that got the number of `cpuinfo` is then still not read.
fn open_proc_file(identity: Identity) -> Result<GuardedFile, NotOpened> {
    let proc = ProcRoot::open()?;
    for name in READABLE_PROC_FILES {
        // Absent, or covered by a mount of its own: then it is not what was asked for either.
        let Ok(file) = proc.open_entry(name) else { continue };
        if Identity::of(&rustix::fs::fstat(&file)?).inode == identity.inode {
            return Ok(GuardedFile { file: file.into(), path: Path::new("/proc").join(name) });
        }
    }
    Err(Refusal::Process.into())
}

fn refuse_kind(kind: FileType) -> Result<(), Refusal> {
    match kind {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(Refusal::Directory),
        FileType::Fifo => Err(Refusal::Fifo),
        FileType::Socket => Err(Refusal::Socket),
        FileType::CharacterDevice | FileType::BlockDevice => Err(Refusal::Device),
        // Links were followed; what is left is nothing that this code knows.
        FileType::Symlink | FileType::Unknown => Err(Refusal::Device),
    }
}

/// What programs share in memory lies below `/dev`, on a filesystem of its own; a bind mount shows the same
/// filesystem elsewhere.
fn refuse_shared_memory(path: &Path, identity: Identity) -> Result<(), Refusal> {
    let root = Identity::at(Path::new("/")).map(|root| root.device);
    let shared = Identity::at(Path::new("/dev/shm")).map(|shared| shared.device);
    let on_it = shared == Some(identity.device) && shared != root;
    if on_it || path.starts_with("/dev") { Err(Refusal::SharedMemory) } else { Ok(()) }
}

/// The opened file is the checked one; anything else would be a kernel that does not do what it says.
fn refuse_exchanged(file: &File, identity: Identity) -> Result<(), NotOpened> {
    let stat = rustix::fs::fstat(file)?;
    let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if regular && Identity::of(&stat) == identity { Ok(()) } else { Err(Refusal::Exchanged.into()) }
}

fn refuse_content(file: &File) -> Result<(), NotOpened> {
    let mut beginning = [0; SNIFFED_BYTES];
    let mut length = 0;
    while length < beginning.len() {
        match file.read_at(&mut beginning[length..], length as u64) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    match secret_paths::kind_of_content(&beginning[..length]) {
        Some(kind) => Err(Refusal::Secret(kind).into()),
        None => Ok(()),
    }
}

/// How an opened file is read: it can neither become our terminal nor wait for a writer.
const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NOCTTY).union(OFlags::NONBLOCK);

fn openat2(
    directory: impl std::os::fd::AsFd,
    path: impl rustix::path::Arg,
    flags: OFlags,
    resolve: rustix::fs::ResolveFlags,
) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat2(directory, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
}
