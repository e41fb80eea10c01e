//! The other side of a container's door: takes the listeners that it hands out, and has the daemon serve them.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use cofferdam_control::connection::Connection;
use cofferdam_control::messages::egress::Socket;
use cofferdam_docker::plan::Way;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketAddrV4,
    SocketFlags, SocketType,
};
use rustix::process::{PidfdFlags, pidfd_open};

use super::way_out;

/// A container that is not started in this time was not meant to be.
const UNTIL_FIRST: Duration = Duration::from_secs(600);
/// The engine's program has ended, and no container has come: one that was started in the background still may.
const AFTER_LAUNCHER: Duration = Duration::from_secs(20);
/// A container that ended may be started again by its engine.
const UNTIL_NEXT: Duration = Duration::from_secs(15);
/// The door speaks at once.
const UNTIL_WORD: Duration = Duration::from_secs(5);
const SEALED_HELLO: &[u8] = b"cofferdam-door 2";
const BRIDGE_HELLO: &[u8] = b"cofferdam-bridge 1";
const SERVED: &[u8] = b"served";
const REFUSED: &[u8] = b"refused";

pub struct Door {
    pub connection: Connection,
    pub listener: OwnedFd,
    /// The process that becomes the engine's program; none where somebody else will call it.
    pub launcher: Option<OwnedFd>,
    pub way: Way,
}

/// What the door of a sealed container hands out, in this order.
const HANDED: [(Socket, SocketType); 5] = [
    (Socket::Proxy, SocketType::STREAM),
    (Socket::DnsPackets, SocketType::DGRAM),
    (Socket::DnsConnections, SocketType::STREAM),
    (Socket::Loopback { port: 80 }, SocketType::STREAM),
    (Socket::Loopback { port: 443 }, SocketType::STREAM),
];

impl Door {
    /// Until the container is gone, or the daemon is: then its listeners are closed, and nothing is reached any more.
    pub fn keep(mut self) {
        let mut inside: Option<OwnedFd> = None;
        let mut deadline = Instant::now() + UNTIL_FIRST;
        loop {
            let left = inside.is_none().then(|| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return;
            }
            let mut ready = vec![
                PollFd::new(&self.connection, PollFlags::IN),
                PollFd::new(&self.listener, PollFlags::IN),
            ];
            let watched = inside.as_ref().or(self.launcher.as_ref());
            ready.extend(watched.map(|process| PollFd::new(process, PollFlags::IN)));
            let left = left.and_then(|left| Timespec::try_from(left).ok());
            if let Err(error) = poll(&mut ready, left.as_ref())
                && error != rustix::io::Errno::INTR
            {
                return;
            }
            let ready: Vec<bool> = ready.iter().map(|ready| !ready.revents().is_empty()).collect();
            if ready[0] {
                return;
            }
            if ready.get(2) == Some(&true) {
                let patience = if inside.take().is_some() { UNTIL_NEXT } else { AFTER_LAUNCHER };
                self.launcher = None;
                deadline = Instant::now() + patience;
            }
            // A process of the container that knocks while the first one lives wants what it has already.
            if ready[1]
                && let Ok(knocking) = rustix::net::accept_with(&self.listener, SocketFlags::CLOEXEC)
                && inside.is_none()
            {
                inside = self.let_out(&knocking).ok();
            }
        }
    }

    /// Takes the listeners and says whether they are served; gives the container's first process.
    fn let_out(&self, knocking: &OwnedFd) -> io::Result<OwnedFd> {
        let served = receive(knocking, self.way).and_then(|listeners| {
            let process = sockopt::socket_peercred(knocking)?.pid;
            let process = pidfd_open(process, PidfdFlags::empty())?;
            if !listeners.is_empty() {
                way_out::serve(&self.connection, &listeners)?;
            }
            Ok(process)
        });
        let word = if served.is_ok() { SERVED } else { REFUSED };
        let _ = rustix::net::send(knocking, word, SendFlags::NOSIGNAL);
        served
    }
}

/// The sockets, if they are what they should be; on a bridge there are none. Whatever else a container sends is dropped.
fn receive(knocking: &OwnedFd, way: Way) -> io::Result<Vec<(Socket, OwnedFd)>> {
    sockopt::set_socket_timeout(knocking, sockopt::Timeout::Recv, Some(UNTIL_WORD))?;
    let mut word = [0; 64];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::net::recvmsg(
        knocking,
        &mut [IoSliceMut::new(&mut word)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let mut sockets = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            sockets.extend(received);
        }
    }
    let (hello, expected): (_, &[_]) = match way {
        Way::Sealed => (SEALED_HELLO, &HANDED),
        Way::Bridge { .. } => (BRIDGE_HELLO, &[]),
    };
    let fine = &word[..received.bytes] == hello
        && sockets.len() == expected.len()
        && expected.iter().zip(&sockets).all(|((_, kind), socket)| is_local(socket, *kind));
    match fine {
        true => Ok(expected.iter().map(|(kind, _)| *kind).zip(sockets).collect()),
        false => Err(io::Error::other("not the sockets of a door")),
    }
}

/// Whether a socket is of the kind, listens if that kind can, and is bound to a loopback: that network has nothing else.
fn is_local(socket: &OwnedFd, kind: SocketType) -> bool {
    let listens = kind == SocketType::DGRAM || sockopt::socket_acceptconn(socket) == Ok(true);
    let bound =
        rustix::net::getsockname(socket).ok().and_then(|address| SocketAddrV4::try_from(address).ok());
    listens
        && sockopt::socket_domain(socket) == Ok(AddressFamily::INET)
        && sockopt::socket_type(socket.as_fd()) == Ok(kind)
        && bound.is_some_and(|address| address.ip().is_loopback() || address.ip().is_unspecified())
}
