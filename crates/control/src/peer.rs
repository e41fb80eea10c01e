//! Who is at the other end, as the kernel says.

use std::io;
use std::os::fd::AsFd;

use rustix::process::{Pid, Uid};

/// The process that made the other end of a connection. The numbers are the kernel's, taken when it connected, so
/// that nothing the peer sends can change them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    uid: Uid,
    pid: Option<Pid>,
}

impl Peer {
    pub fn of(socket: impl AsFd) -> io::Result<Self> {
        let credentials = rustix::net::sockopt::socket_peercred(socket)?;
        // A process that this one's namespace does not show has the number 0.
        Ok(Self { uid: credentials.uid, pid: Pid::from_raw(credentials.pid.as_raw_nonzero().get()) })
    }

    /// The same user, or root, who may do everything anyway.
    pub fn may_control(self) -> bool {
        self.uid == rustix::process::geteuid() || self.uid.is_root()
    }

    pub fn pid(self) -> Option<Pid> {
        self.pid
    }

    pub fn uid(self) -> u32 {
        self.uid.as_raw()
    }

    pub(crate) fn required(socket: impl AsFd) -> io::Result<Self> {
        let peer = Self::of(socket)?;
        if peer.may_control() {
            return Ok(peer);
        }
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "the other end belongs to another user"))
    }
}
