//! Sockets in the runtime directory, which is the user's alone and not there inside a sandbox.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use cofferdam_control::place::Place;

/// Listens in a directory that is the user's alone. A socket that nobody serves any more is taken away.
pub fn listen(runtime: &Path, name: &str) -> io::Result<UnixListener> {
    let place = Place::create(runtime)?;
    // By the open directory: the address of a socket has room for a hundred bytes only.
    let path = format!("/proc/self/fd/{}/{name}", place.as_fd().as_raw_fd());
    match UnixStream::connect(&path) {
        Ok(_) => return Err(io::Error::new(io::ErrorKind::AddrInUse, "another process serves it")),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(&path)?,
        Err(_) => {}
    }
    let listener = UnixListener::bind(&path)?;
    fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    Ok(listener)
}
