//! Which file is run.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use cofferdam_policy::environment::ChildEnvironment;
use rustix::fs::{Access, access};

use super::ChildError;

/// A program as it was named: an absolute path, or a bare name for the child's own search path.
///
/// A relative path is refused, because it would mean another file in every directory, and one of those
/// directories is where the agent writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    named: PathBuf,
}

impl Program {
    pub fn new(program: impl Into<OsString>) -> Result<Self, ChildError> {
        let named = PathBuf::from(program.into());
        let bare = !named.as_os_str().is_empty() && !named.as_os_str().as_bytes().contains(&b'/');
        if bare || named.is_absolute() {
            Ok(Self { named })
        } else {
            Err(ChildError::RelativeProgram { program: named })
        }
    }

    /// The file that would run with this environment. The launcher's own `PATH` plays no part.
    pub fn resolve(&self, environment: &ChildEnvironment) -> Result<PathBuf, ChildError> {
        if self.named.is_absolute() {
            return match candidate(&self.named) {
                Candidate::Executable => Ok(self.named.clone()),
                Candidate::NotExecutable => Err(ChildError::NotExecutable { program: self.named.clone() }),
                Candidate::Absent => Err(ChildError::NotFound { program: self.named.clone() }),
            };
        }
        let path = environment.iter().find(|(name, _)| *name == "PATH").map(|(_, value)| value);
        match path {
            Some(path) => search(&self.named, path),
            None => Err(ChildError::NoSearchPath { program: self.named.clone() }),
        }
    }
}

/// Looks a bare name up. Empty and relative entries mean the current directory to `execvp`; here they mean
/// nothing.
pub(super) fn search(name: &Path, path: &OsStr) -> Result<PathBuf, ChildError> {
    let mut unusable = None;
    for directory in std::env::split_paths(path).filter(|directory| directory.is_absolute()) {
        let file = directory.join(name);
        match candidate(&file) {
            Candidate::Executable => return Ok(file),
            Candidate::NotExecutable => unusable = unusable.or(Some(file)),
            Candidate::Absent => {}
        }
    }
    Err(match unusable {
        Some(program) => ChildError::NotExecutable { program },
        None => ChildError::NotFound { program: name.to_owned() },
    })
}

enum Candidate {
    Executable,
    NotExecutable,
    Absent,
}

/// A look ahead, for a good message and for the search; the kernel decides again in `execve`.
fn candidate(file: &Path) -> Candidate {
    match file.metadata() {
        Err(_) => Candidate::Absent,
        Ok(metadata) if metadata.is_file() && access(file, Access::EXEC_OK).is_ok() => Candidate::Executable,
        Ok(_) => Candidate::NotExecutable,
    }
}
