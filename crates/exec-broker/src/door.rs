//! The door: where a process hands in one end of a connection of its own.
//!
//! A stream that several processes write to would mix their frames, and answers would go to whoever reads first. So
//! every process makes a pair of sockets and hands one of them in. The kernel says who did it.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, sockopt,
};

/// Who sent something, as this process sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sender {
    pub pid: i32,
    pub user: u32,
}

/// What came in by the door.
#[derive(Debug)]
pub struct Handed {
    /// None if what was handed in is no connection.
    pub stream: Option<OwnedFd>,
    pub sender: Option<Sender>,
}

/// This side of the door.
#[derive(Debug)]
pub struct Door(OwnedFd);

impl Door {
    /// The two sides: ours, and the one that is inherited.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        sockopt::set_socket_passcred(&ours, true)?;
        Ok((Self(ours), theirs))
    }

    /// A side that was inherited by a process that others hand connections to.
    pub fn inherited(door: OwnedFd) -> Self {
        Self(door)
    }

    /// Waits for the next connection; none when nobody holds the other side any more.
    pub fn accept(&self) -> io::Result<Option<Handed>> {
        let mut body = [0; 64];
        let received = receive(self.0.as_fd(), &mut body)?;
        if received.bytes == 0 && received.descriptors.is_empty() {
            return Ok(None);
        }
        let stream = received.descriptors.into_iter().next().filter(|stream| is_stream(stream.as_fd()));
        Ok(Some(Handed { stream, sender: received.sender }))
    }

    /// The descriptor, for a process that will serve by it.
    pub fn into_inner(self) -> OwnedFd {
        self.0
    }

    /// Ends the waiting of [`Door::accept`].
    pub fn close(&self) {
        // It is closed already if this fails.
        let _ = rustix::net::shutdown(&self.0, rustix::net::Shutdown::Both);
    }
}

/// Hands a connection in by the other side of a door.
pub fn hand_in(door: BorrowedFd<'_>, stream: BorrowedFd<'_>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let handed = [stream];
    if !control.push(SendAncillaryMessage::ScmRights(&handed)) {
        return Err(io::Error::other("there is no room for a descriptor"));
    }
    rustix::net::sendmsg(door, &[IoSlice::new(b"open")], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Nothing else is read from or written to on a script's behalf.
fn is_stream(descriptor: BorrowedFd<'_>) -> bool {
    sockopt::socket_domain(descriptor).is_ok_and(|domain| domain == AddressFamily::UNIX)
        && sockopt::socket_type(descriptor).is_ok_and(|kind| kind == SocketType::STREAM)
        && rustix::io::ioctl_fionbio(descriptor, false).is_ok()
}

#[derive(Debug)]
pub(crate) struct Received {
    pub bytes: usize,
    pub sender: Option<Sender>,
    pub descriptors: Vec<OwnedFd>,
}

/// Receives what is there, whoever sent it; descriptors that come with it are closed by the kernel.
pub(crate) fn receive_bytes(socket: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match rustix::net::recv(socket, &mut *into, RecvFlags::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            other => return Ok(other?.0),
        }
    }
}

/// Receives what comes within a moment, without sleeping; none if nothing does.
pub(crate) fn receive_awake(socket: BorrowedFd<'_>, into: &mut [u8], at_most: Duration) -> Option<usize> {
    let began = Instant::now();
    while began.elapsed() < at_most {
        match rustix::net::recv(socket, &mut *into, RecvFlags::DONTWAIT) {
            Ok((bytes, _)) => return Some(bytes),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => std::hint::spin_loop(),
            // Whoever asks again, asleep, is told the same.
            Err(_) => return None,
        }
    }
    None
}

/// Receives what is there, with its sender where the kernel was asked to say. More than one descriptor is not taken
/// in: the kernel closes what there is no room for.
pub(crate) fn receive(socket: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<Received> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1), ScmCredentials(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = loop {
        let slices = &mut [IoSliceMut::new(into)];
        match rustix::net::recvmsg(socket, slices, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?,
        }
    };
    let mut received = Received { bytes: got.bytes, sender: None, descriptors: Vec::new() };
    for message in control.drain() {
        match message {
            RecvAncillaryMessage::ScmRights(descriptors) => received.descriptors.extend(descriptors),
            RecvAncillaryMessage::ScmCredentials(who) => {
                let pid = rustix::process::Pid::as_raw(Some(who.pid));
                received.sender = Some(Sender { pid, user: who.uid.as_raw() });
            }
            _ => {}
        }
    }
    Ok(received)
}
