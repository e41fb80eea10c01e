//! Why the record could not be written or read.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::PathBuf;

use cofferdam_linux_sys::private::PrivateError;

#[derive(Debug)]
pub enum AuditError {
    /// The directory or a file in it is not private, or cannot be opened.
    Place(PrivateError),
    /// Reading or writing failed.
    File { path: PathBuf, doing: &'static str, source: io::Error },
    /// Another process holds the lock and does not give it back.
    Busy { path: PathBuf },
    /// The event could not be put into words; that would be a mistake of the program.
    Event(serde_json::Error),
}

impl AuditError {
    /// What a person does about it: one sentence for a `hint:` line.
    pub fn fix(&self) -> String {
        match self {
            Self::Place(error) => error.fix(),
            Self::File { path, source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    format!("make room on the file system of {}", path.display())
                }
                io::ErrorKind::FileTooLarge => {
                    "raise the limit on file sizes (ulimit -f) for this process".to_owned()
                }
                _ => format!("check {} and the file system it is on", path.display()),
            },
            Self::Busy { .. } => {
                "look for a stopped cofferdam process (ps -C cofferdam) and continue or end it".to_owned()
            }
            Self::Event(_) => "please report this as a defect".to_owned(),
        }
    }
}

impl From<PrivateError> for AuditError {
    fn from(error: PrivateError) -> Self {
        Self::Place(error)
    }
}

impl Display for AuditError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place(error) => error.fmt(f),
            Self::File { path, doing, source } => {
                write!(f, "cannot {doing} the record {}: {source}", path.display())
            }
            Self::Busy { path } => {
                write!(f, "another process holds the record {} and does not let go", path.display())
            }
            Self::Event(error) => write!(f, "an event cannot be written: {error}"),
        }
    }
}

impl Error for AuditError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Place(error) => Some(error),
            Self::File { source, .. } => Some(source),
            Self::Busy { .. } => None,
            Self::Event(error) => Some(error),
        }
    }
}
