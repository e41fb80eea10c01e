//! Why a file was not opened.

use std::io;

use cofferdam_policy::secret_paths::SecretKind;

/// What the guard has against a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// A file of procfs that is not one of the few about the machine.
    Process,
    /// A link of procfs that stands for an open file, a directory or a memory range of a process.
    MagicLink,
    /// A file of another filesystem that the kernel makes up.
    KernelFilesystem(&'static str),
    Device,
    Fifo,
    Socket,
    Directory,
    /// Memory that programs share below `/dev`.
    SharedMemory,
    /// A place of the built-in list.
    Secret(SecretKind),
    /// A place that the caller named.
    Private,
    /// A file outside the root directory of this process.
    Unreachable,
    /// What was opened is not what was checked.
    Exchanged,
}

impl Refusal {
    /// A stable word for machines.
    pub fn code(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::MagicLink => "magic-link",
            Self::KernelFilesystem(_) => "kernel-filesystem",
            Self::Device => "device",
            Self::Fifo => "fifo",
            Self::Socket => "socket",
            Self::Directory => "directory",
            Self::SharedMemory => "shared-memory",
            Self::Secret(kind) => kind.code(),
            Self::Private => "private",
            Self::Unreachable => "unreachable",
            Self::Exchanged => "exchanged",
        }
    }

    /// The reason, to follow the name of the file.
    pub fn reason(self) -> String {
        let reason = match self {
            Self::Process => {
                "is a file of procfs, where processes show their memory, arguments and environment"
            }
            Self::MagicLink => "leads through procfs to what a process has open",
            Self::KernelFilesystem(name) => {
                return format!("is on {name}, which holds no files but windows into the kernel");
            }
            Self::Device => "is a device, and reading one may never end or reach beyond files",
            Self::Fifo => "is a FIFO, and reading one waits for whoever writes to it",
            Self::Socket => "is a socket, not a file",
            Self::Directory => "is a directory, not a file",
            Self::SharedMemory => "is memory that other programs share, not a file",
            Self::Secret(kind) => return format!("is not for reading: it holds {}", kind.description()),
            Self::Private => "is not for reading: it is kept private here",
            Self::Unreachable => "lies outside the root directory of this process",
            Self::Exchanged => "was exchanged while it was being opened",
        };
        reason.to_owned()
    }
}

/// Why there is no open file.
#[derive(Debug)]
pub enum NotOpened {
    /// The guard says no.
    Refused(Refusal),
    /// There is no procfs at `/proc`, without which nothing can be judged.
    NoProc,
    /// The kernel says no: no such file, no permission, no `openat2`.
    Failed(io::Error),
}

impl From<Refusal> for NotOpened {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<io::Error> for NotOpened {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<rustix::io::Errno> for NotOpened {
    fn from(error: rustix::io::Errno) -> Self {
        Self::Failed(error.into())
    }
}
