//! Why a private file or directory was refused, where it is, and what a person does about it.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct PrivateError {
    path: PathBuf,
    problem: Problem,
}

#[derive(Debug)]
#[non_exhaustive]
pub enum Problem {
    /// A symbolic link stands where a directory or file of ours belongs.
    SymbolicLink,
    /// It belongs to somebody else.
    WrongOwner { owner: u32, expected: u32 },
    /// Its group or everybody may do something with it.
    TooOpen { mode: u32, expected: u32 },
    /// A device, a pipe, a socket or a directory where a file belongs, or the other way round.
    WrongKind { expected: Expected },
    /// It is larger than the reader is willing to hold.
    TooLarge { limit: u64 },
    /// A name that is not the name of one directory entry.
    NotAName,
    /// The system call that failed, in a word, and why.
    System { doing: &'static str, source: io::Error },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    File,
    Directory,
}

impl PrivateError {
    pub(super) fn new(path: impl Into<PathBuf>, problem: Problem) -> Self {
        Self { path: path.into(), problem }
    }

    pub fn system(path: impl Into<PathBuf>, doing: &'static str, source: impl Into<io::Error>) -> Self {
        Self::new(path, Problem::System { doing, source: source.into() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The kind of the system's own error, where that is what went wrong.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match &self.problem {
            Problem::System { source, .. } => Some(source.kind()),
            _ => None,
        }
    }

    /// What a person does about it: one sentence for a `hint:` line.
    pub fn fix(&self) -> String {
        let path = self.path.display();
        match &self.problem {
            Problem::SymbolicLink => format!(
                "remove the link if you did not make it; if you did, name the place it leads to instead of {path}"
            ),
            Problem::WrongOwner { .. } => {
                format!("move {path} away, or give it back with: chown \"$(id -u)\" '{path}'")
            }
            Problem::TooOpen { expected, .. } => {
                format!("look at who may have read or changed it, then: chmod {expected:o} '{path}'")
            }
            Problem::WrongKind { .. } => format!("move {path} away"),
            Problem::TooLarge { .. } => format!("look at what made {path} grow, and move it away"),
            Problem::NotAName => "use a name without a slash".to_owned(),
            Problem::System { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    format!("make room on the file system of {path}")
                }
                io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                    "set COFFERDAM_HOME to a directory that you may write to".to_owned()
                }
                _ => format!("check {path} and the file system it is on"),
            },
        }
    }
}

impl Display for PrivateError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.problem {
            Problem::SymbolicLink => write!(f, "{path} is a symbolic link, and none is followed here"),
            Problem::WrongOwner { owner, expected } => {
                write!(f, "{path} belongs to user {owner}, not to user {expected}")
            }
            Problem::TooOpen { mode, expected } => {
                write!(f, "{path} has mode {mode:04o}, so others can reach it; it must be {expected:04o}")
            }
            Problem::WrongKind { expected: Expected::File } => write!(f, "{path} is not a regular file"),
            Problem::WrongKind { expected: Expected::Directory } => write!(f, "{path} is not a directory"),
            Problem::TooLarge { limit } => write!(f, "{path} is larger than {limit} bytes"),
            Problem::NotAName => write!(f, "{path} is not the name of a file in a directory"),
            Problem::System { doing, source } => write!(f, "cannot {doing} {path}: {source}"),
        }
    }
}

impl Error for PrivateError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.problem {
            Problem::System { source, .. } => Some(source),
            _ => None,
        }
    }
}
