//! The last look at what was approved: in the process that is about to become the program, in its own tree of files, with
//! nothing between the look and the start.
//!
//! A program is started from the very descriptor that was read, with writers kept out, so that its name may lead
//! anywhere by then. An interpreter opens its script by its name, as does the kernel for a script with an interpreter in
//! its first line. So where a person has said yes to a script, the sandbox has the approved bytes under that name: from its
//! beginning ([`cover`]), or, in a session, for as long as the command runs (`standing`); and nobody writes to them, inside
//! or outside.
//!
//! Where it stops: the host takes a mount away when it renames another file to that name, or its directory. What the rules
//! let through and nobody was asked about is not covered, so that a server sees what is edited while it runs, and a
//! script that writes itself anew works.
//! Handing the bytes over under another name was rejected, because a script finds its neighbours by its own.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use cofferdam_linux_sys::known_file;
use rustix::fs::StatVfsMountFlags;
use serde::{Deserialize, Serialize};

use crate::layout;
use crate::messages::NotStarted;
use crate::plan::{Access, Operation, Plan};
use crate::text::Text;

/// A file that was read when a command was approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovedFile {
    pub path: Text,
    /// In hexadecimal digits.
    pub sha256: String,
}

/// A script that is longer is looked at again, and not covered.
const LONGEST: u64 = 1 << 20;

/// Has a plan show what was approved.
pub fn cover(plan: &mut Plan, files: &[ApprovedFile]) {
    let covers = covers(plan, files);
    let at =
        plan.files.iter().rposition(|operation| *operation == Operation::Seal).unwrap_or(plan.files.len());
    plan.files.splice(at..at, covers);
}

/// What shows what was approved, in every place that could be changed. A file that has changed by now is left to the
/// last look, which refuses it.
pub fn covers(plan: &Plan, files: &[ApprovedFile]) -> Vec<Operation> {
    let mut covers = Vec::new();
    for file in files {
        let Ok(path) = file.path.as_path().canonicalize() else { continue };
        let is_hidden = plan.files.iter().any(|operation| match operation {
            Operation::Mask { path: hidden } => path.starts_with(hidden.as_path()),
            _ => false,
        });
        if is_hidden {
            continue;
        }
        let changeable = plan.files.iter().rev().find_map(|operation| match operation {
            Operation::Bind { path: shown, access, .. } if path.starts_with(shown.as_path()) => {
                Some(*access == Access::Writable)
            }
            Operation::Layered { path: shown, .. } if path.starts_with(shown.as_path()) => Some(true),
            _ => None,
        });
        let contents = known_file::known_contents(&path, &file.sha256, LONGEST);
        if let (Some(true), Ok(Some(contents))) = (changeable, contents)
            // It is started from its descriptor.
            && !contents.starts_with(ELF)
        {
            let contents = OsString::from_vec(contents).into();
            covers.push(Operation::Approved { path: path.into(), contents });
        }
    }
    covers
}

/// For a process that looks at the same programs again and again: those of the system, which nobody inside writes to,
/// are read once for every state that they are in.
pub fn remember(plan: &Plan) {
    let writable: Vec<PathBuf> = plan.writable.iter().map(|path| path.as_path().to_owned()).collect();
    known_file::remember(move |file| {
        std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).is_ok_and(|path| {
            layout::SYSTEM.iter().any(|place| path.starts_with(place))
                && !writable.iter().any(|place| path.starts_with(place))
        })
    });
}

/// How a program for the processor begins.
const ELF: &[u8] = b"\x7fELF";

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
    changeable && file.read_exact_at(&mut head, 0).is_ok() && head == *ELF
}
