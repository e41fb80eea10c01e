//! The last look at what was approved: in the process that is about to become the program, in its own tree of files, with
//! nothing between the look and the start.
//!
//! A program is started from the very descriptor that was read, with writers kept out, so that its name may lead
//! anywhere by then. Where it stops: an interpreter opens its script by its name, as does the kernel for a script with
//! an interpreter in its first line. Handing the bytes over under another name was rejected, because a script finds its
//! neighbours by its own; so was a mount over the name, which the host takes away with a rename, and which would keep a
//! person from editing what runs.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use cofferdam_linux_sys::known_file;
use rustix::fs::StatVfsMountFlags;
use serde::{Deserialize, Serialize};

use crate::messages::NotStarted;
use crate::text::Text;

/// A file that was read when a command was approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovedFile {
    pub path: Text,
    /// In hexadecimal digits.
    pub sha256: String,
}

/// Looks at all of them again. If one is the program itself, and can be started from its descriptor, that is the answer.
pub fn look_again(files: &[ApprovedFile], program: &Path) -> Result<Option<File>, NotStarted> {
    let mut opened = None;
    for approved in files {
        let file = match known_file::open(approved.path.as_path()) {
            Ok(file) => file,
            // What is not there cannot run; whoever is to run it says so.
            Err(error) if error.raw_os_error().is_some() => continue,
            Err(_) => return Err(NotStarted::NotApproved),
        };
        let is_program = approved.path.as_path() == program && starts_by_descriptor(&file);
        if is_program && is_being_written(&file) {
            return Err(NotStarted::NotApproved);
        }
        if known_file::sha256(&file).ok().as_ref() != Some(&approved.sha256) {
            return Err(NotStarted::NotApproved);
        }
        if is_program {
            opened = Some(file);
        }
    }
    Ok(opened)
}

/// The path of a program that was named by one, as the gate writes it.
pub fn named(directory: &Path, program: &Path) -> PathBuf {
    let path = directory.join(program);
    path.components().filter(|part| !matches!(part, std::path::Component::CurDir)).collect()
}

/// Keeps writers out from here on, and tells whether there is one already. Where the kernel keeps nobody out (the file is
/// another user's, or the file system's own matter), the start itself still refuses a program that is open for writing.
fn is_being_written(file: &File) -> bool {
    known_file::keep_from_writers(file).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// A program for the processor, in a place where it could be changed. Elsewhere its name is as good, and is what it
/// finds itself by on older kernels.
fn starts_by_descriptor(file: &File) -> bool {
    let mut head = [0; 4];
    let changeable =
        rustix::fs::fstatvfs(file).is_ok_and(|place| !place.f_flag.contains(StatVfsMountFlags::RDONLY));
    changeable && file.read_exact_at(&mut head, 0).is_ok() && head == *b"\x7fELF"
}
