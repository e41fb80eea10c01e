//! A directory that nobody else can enter, and the sockets in it.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::channel::Channel;
use crate::peer::Peer;

/// Connections that may wait for being accepted.
const WAITING: i32 = 64;

/// A directory of sockets, open.
#[derive(Debug)]
pub struct Place {
    directory: OwnedFd,
}

/// A socket that somebody listens on; its name is gone when this is dropped.
#[derive(Debug)]
pub struct Listener {
    place: Place,
    socket: OwnedFd,
    file: String,
}

impl Place {
    /// Makes the directory where it is missing.
    pub fn create(path: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        Self::open(path)
    }

    /// Opens the directory; another owner, or a way in for others, is an error.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        let metadata = fs::File::from(directory.try_clone()?).metadata()?;
        if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o077 != 0 {
            return Err(io::Error::other(format!("{} is open to other users", path.display())));
        }
        Ok(Self { directory })
    }

    /// Connects to whoever listens under this name, if it is a process that may be trusted: one of the same user.
    pub fn connect(&self, file: &str) -> io::Result<Channel> {
        let socket = socket()?;
        rustix::net::connect(&socket, &self.address(file)?)?;
        Peer::required(&socket)?;
        Ok(Channel::from_connected(socket))
    }

    /// Takes a name away whose listener is gone. The lock keeps two from clearing up for each other's new socket.
    pub fn forget(&self, file: &str) {
        let _lock = rustix::fs::flock(&self.directory, FlockOperation::LockExclusive);
        if self.connect(file).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            let _ = rustix::fs::unlinkat(&self.directory, file, AtFlags::empty());
        }
        let _ = rustix::fs::flock(&self.directory, FlockOperation::Unlock);
    }

    /// Listens under this name; an error of kind `AddrInUse` if somebody does already.
    pub fn listen(self, file: &str) -> io::Result<Listener> {
        self.forget(file);
        let socket = socket()?;
        // From its first moment the socket is the owner's alone.
        let before = rustix::process::umask(Mode::from_raw_mode(0o177));
        let bound = rustix::net::bind(&socket, &self.address(file)?);
        rustix::process::umask(before);
        bound?;
        rustix::net::listen(&socket, WAITING)?;
        Ok(Listener { place: self, socket, file: file.to_owned() })
    }

    /// By the open directory: the address of a socket has room for a hundred bytes only.
    fn address(&self, file: &str) -> io::Result<SocketAddrUnix> {
        Ok(SocketAddrUnix::new(format!("/proc/self/fd/{}/{file}", self.directory.as_raw_fd()))?)
    }
}

impl AsFd for Place {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

impl Listener {
    /// The next who connects; none if it was nobody who may.
    pub fn accept(&self) -> io::Result<Option<(Channel, Peer)>> {
        let connected = match rustix::net::accept_with(&self.socket, SocketFlags::CLOEXEC) {
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => return Ok(None),
            other => other?,
        };
        let peer = Peer::required(&connected);
        Ok(peer.ok().map(|peer| (Channel::from_connected(connected), peer)))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = rustix::fs::unlinkat(&self.place.directory, self.file.as_str(), AtFlags::empty());
    }
}

fn socket() -> io::Result<OwnedFd> {
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}
