//! Files that only root can have written.

use alloc::ffi::CString;
use alloc::string::String;
use alloc::vec::Vec;

use cofferdam_linux_sys::bare::{self, Errno, Kind, Status};

use crate::failure::Failure;

/// Write permission for the group or for others.
const WRITABLE: u32 = 0o022;

/// The contents of a file of root's in a directory of root's, neither of which others may write to.
pub fn read(directory: &str, name: &str, longest: usize) -> Result<Vec<u8>, Failure> {
    let path = [directory, "/", name].concat();
    owned_by_root(directory, Kind::Directory)?;
    let file = bare::open_for_reading(&c_string(&path)?).map_err(|error| unreadable(&path, error))?;
    let status = file.status().map_err(|error| unreadable(&path, error))?;
    checked(&path, status, Kind::Regular)?;
    bare::read_whole(&file, longest).map_err(|error| unreadable(&path, error))
}

/// Whether only root can change what is here.
fn owned_by_root(path: &str, kind: Kind) -> Result<(), Failure> {
    let found = bare::open_path(&c_string(path)?).and_then(|file| file.status());
    checked(path, found.map_err(|error| unreadable(path, error))?, kind)
}

fn checked(path: &str, status: Status, kind: Kind) -> Result<(), Failure> {
    if status.kind != kind {
        let what = if kind == Kind::Directory { "a directory" } else { "an ordinary file" };
        return Err(Failure::new(
            &[path, " is not ", what].concat(),
            "put it there with docker shim install",
        ));
    }
    if status.owner != 0 || status.mode & WRITABLE != 0 {
        return Err(Failure::new(
            &["somebody other than root can change ", path].concat(),
            &["chown root:root ", path, " && chmod go-w ", path].concat(),
        ));
    }
    Ok(())
}

fn unreadable(path: &str, error: Errno) -> Failure {
    Failure::new(
        &[path, " cannot be read: ", error.words()].concat(),
        "cofferdam docker shim install --root DIR writes it, readable by everybody",
    )
}

pub fn c_string(path: &str) -> Result<CString, Failure> {
    CString::new(String::from(path))
        .map_err(|_| Failure::new("a path holds a zero byte", "write it without one"))
}
