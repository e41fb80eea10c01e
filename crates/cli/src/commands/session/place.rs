//! Where sessions are found: one socket each, in a directory that nobody else can enter.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use cofferdam_sandbox::channel::Channel;
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

const SUFFIX: &str = ".sock";
const LONGEST_NAME: usize = 48;
const WAITING: i32 = 64;

/// The directory of the sockets, open.
#[derive(Debug)]
pub struct Sessions {
    directory: OwnedFd,
}

/// A socket that a keeper listens on; its name is gone when this is dropped.
#[derive(Debug)]
pub struct Listener {
    sessions: Sessions,
    socket: OwnedFd,
    file: String,
}

/// A name that can be a part of a path, of a command line and of a table.
pub fn is_name(name: &str) -> bool {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    first
        && name.len() <= LONGEST_NAME
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

impl Sessions {
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

    /// The names of all sockets, of dead sessions too.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let entries = rustix::fs::Dir::read_from(&self.directory)?;
        let mut names: Vec<String> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let name = entry.file_name().to_str().ok()?.strip_suffix(SUFFIX)?.to_owned();
                is_name(&name).then_some(name)
            })
            .collect();
        names.sort();
        Ok(names)
    }

    pub fn connect(&self, name: &str) -> io::Result<Channel> {
        let socket = socket()?;
        rustix::net::connect(&socket, &self.address(&format!("{name}{SUFFIX}"))?)?;
        require_own(&socket)?;
        Ok(Channel::from_connected(socket))
    }

    /// Takes the name of a session whose keeper is gone off the list.
    pub fn forget(&self, name: &str) {
        let _lock = rustix::fs::flock(&self.directory, FlockOperation::LockExclusive);
        if self.connect(name).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            let _ = rustix::fs::unlinkat(&self.directory, format!("{name}{SUFFIX}"), AtFlags::empty());
        }
        let _ = rustix::fs::flock(&self.directory, FlockOperation::Unlock);
    }

    /// Listens under this name; an error of kind `AddrInUse` if a session has it already.
    pub fn listen(self, name: &str) -> io::Result<Listener> {
        self.forget(name);
        let file = format!("{name}{SUFFIX}");
        let socket = socket()?;
        // From its first moment the socket is the owner's alone.
        let before = rustix::process::umask(Mode::from_raw_mode(0o177));
        let bound = rustix::net::bind(&socket, &self.address(&file)?);
        rustix::process::umask(before);
        bound?;
        rustix::net::listen(&socket, WAITING)?;
        Ok(Listener { sessions: self, socket, file })
    }

    /// By the open directory: the address of a socket has room for a hundred bytes only.
    fn address(&self, file: &str) -> io::Result<SocketAddrUnix> {
        Ok(SocketAddrUnix::new(format!("/proc/self/fd/{}/{file}", self.directory.as_raw_fd()))?)
    }
}

impl Listener {
    /// The next who connects, if it is a process of the same user.
    pub fn accept(&self) -> io::Result<Option<Channel>> {
        let connected = match rustix::net::accept_with(&self.socket, SocketFlags::CLOEXEC) {
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => return Ok(None),
            other => other?,
        };
        Ok(require_own(&connected).is_ok().then(|| Channel::from_connected(connected)))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = rustix::fs::unlinkat(&self.sessions.directory, self.file.as_str(), AtFlags::empty());
    }
}

fn socket() -> io::Result<OwnedFd> {
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

fn require_own(socket: &OwnedFd) -> io::Result<()> {
    if rustix::net::sockopt::socket_peercred(socket)?.uid == rustix::process::geteuid() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "the other end belongs to another user"))
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn a_name_is_no_path_and_no_option() {
        for good in ["build", "a", "A-1_b.c", "0"] {
            assert!(is_name(good), "{good}");
        }
        let long = "a".repeat(49);
        for bad in ["", ".", "..", "-x", "a/b", "a b", "a\n", "ä", ".hidden", &long] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
