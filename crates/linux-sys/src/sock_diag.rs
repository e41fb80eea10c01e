//! Whose socket the other end of a TCP connection within this machine is, as one question to the kernel.
//!
//! `/proc/net/tcp` tells the same, of every connection that there is at once; here the answer costs as much when there are
//! ten thousand of them as when there is one (sock_diag(7)).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

const HEADER: usize = 16;
const BY_FAMILY: u16 = 20;
const ERROR: u16 = 2;
const REQUEST: u16 = 1;
const TCP: u8 = 6;
const ESTABLISHED: u8 = 1;
/// Where connections within one machine go, so that a socket that is bound to it is found as well.
const LOOPBACK: u32 = 1;
const QUESTION: usize = HEADER + 56;
/// Both ports, in a question and in an answer.
const PORTS_ASKED: Range<usize> = HEADER + 8..HEADER + 12;
const PORTS_TOLD: Range<usize> = HEADER + 4..HEADER + 8;
/// In an answer behind its header: a user and an inode after what was asked for.
const USER: usize = HEADER + 64;
const INODE: usize = HEADER + 68;

/// What can be asked about sockets of this network namespace.
///
/// There is one descriptor for all questions, made before a process gives up the right to make it; each is answered before
/// the next one is asked.
#[derive(Debug)]
pub struct SocketTable {
    socket: OwnedFd,
    /// The number of the last question.
    asked: Mutex<u32>,
    /// It has told of a socket: where it knows of none, there is none. The kernel says the same where it has no idea of TCP.
    proven: AtomicBool,
}

/// What the kernel says about the end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    User(u32),
    /// There is no such socket, or it is about to be none: its process has closed it.
    Nobody,
}

impl SocketTable {
    /// An error where the kernel answers no such questions, or a filter lets nobody ask them.
    pub fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let protocol = Some(netlink::SOCK_DIAG);
        Ok(rustix::net::socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, protocol)?.into())
    }

    /// Who holds the socket at `local` whose other end is at `remote`, over the loopback interface.
    pub fn holder(&self, local: SocketAddr, remote: SocketAddr) -> io::Result<Holder> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        *asked = asked.wrapping_add(1);
        let message = question(*asked, local, remote).ok_or(io::ErrorKind::InvalidInput)?;
        rustix::net::sendto(&self.socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut answer = [0; 512];
        loop {
            // The kernel has answered before it let us go on; where it has not, nobody waits.
            let (received, _) = rustix::net::recv(&self.socket, &mut answer, RecvFlags::DONTWAIT)?;
            let answer = &answer[..received];
            // An answer that nobody waited for is not one to this.
            if word(answer, 8) == Some(*asked) {
                return self.judge(read(answer, &message));
            }
        }
    }

    fn judge(&self, told: io::Result<Holder>) -> io::Result<Holder> {
        match told {
            Ok(Holder::User(_)) => self.proven.store(true, Ordering::Relaxed),
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.proven.load(Ordering::Relaxed) => {
                return Ok(Holder::Nobody);
            }
            _ => {}
        }
        told
    }
}

impl From<OwnedFd> for SocketTable {
    fn from(socket: OwnedFd) -> Self {
        // A descriptor may have been another process's, which did not read all that it was told.
        let asked = Mutex::new(std::process::id().rotate_left(16));
        Self { socket, asked, proven: AtomicBool::new(false) }
    }
}

impl AsFd for SocketTable {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A header, then: which family and protocol, what else is wanted (nothing), in which states (they are not looked at
/// where one socket is asked for), and the socket: ports, addresses, interface, and that we have no cookie for it.
fn question(number: u32, local: SocketAddr, remote: SocketAddr) -> Option<[u8; QUESTION]> {
    let (family, local_address, remote_address) =
        match (local.ip().to_canonical(), remote.ip().to_canonical()) {
            (IpAddr::V4(local), IpAddr::V4(remote)) => {
                (AddressFamily::INET, wide(local.octets()), wide(remote.octets()))
            }
            (IpAddr::V6(local), IpAddr::V6(remote)) => {
                (AddressFamily::INET6, local.octets(), remote.octets())
            }
            _ => return None,
        };
    let mut message = [0; QUESTION];
    message[0..4].copy_from_slice(&u32::try_from(QUESTION).ok()?.to_ne_bytes());
    message[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    message[6..8].copy_from_slice(&REQUEST.to_ne_bytes());
    message[8..12].copy_from_slice(&number.to_ne_bytes());
    message[16] = u8::try_from(family.as_raw()).ok()?;
    message[17] = TCP;
    message[20..24].fill(0xff);
    message[24..26].copy_from_slice(&local.port().to_be_bytes());
    message[26..28].copy_from_slice(&remote.port().to_be_bytes());
    message[28..44].copy_from_slice(&local_address);
    message[44..60].copy_from_slice(&remote_address);
    message[60..64].copy_from_slice(&LOOPBACK.to_ne_bytes());
    message[64..72].fill(0xff);
    Some(message)
}

fn wide([a, b, c, d]: [u8; 4]) -> [u8; 16] {
    [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
}

/// A socket in another state than "both ends are there" may be a listener that would have taken the connection, or one that
/// was closed. One that its process has closed belongs to nobody: there is user 0 and no inode.
fn read(answer: &[u8], question: &[u8; QUESTION]) -> io::Result<Holder> {
    let short = || io::Error::other("the kernel's answer about a socket is too short");
    let kind = answer.get(4..6).ok_or_else(short)?;
    if kind == ERROR.to_ne_bytes() {
        let number = word(answer, HEADER).ok_or_else(short)?.cast_signed();
        return Err(io::Error::from_raw_os_error(number.saturating_neg()));
    }
    let (user, inode) = (word(answer, USER).ok_or_else(short)?, word(answer, INODE).ok_or_else(short)?);
    let same = kind == BY_FAMILY.to_ne_bytes() && answer[PORTS_TOLD] == question[PORTS_ASKED];
    let alive = same && answer[HEADER + 1] == ESTABLISHED && inode != 0;
    Ok(if alive { Holder::User(user) } else { Holder::Nobody })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at + 4)?;
    Some(u32::from_ne_bytes(word.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn req_e04_one_socket_is_asked_for_and_told_until_it_is_closed() {
        let table = SocketTable::open().expect("a kernel with sock_diag");
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let own = listener.local_addr().unwrap();
            let client = TcpStream::connect(own).unwrap();
            let (_served, peer) = listener.accept().unwrap();
            let user = rustix::process::geteuid().as_raw();
            assert_eq!(table.holder(peer, own).unwrap(), Holder::User(user), "{address}");
            // The listener would be found in the place of a connection that is not there.
            let (no_port, mut nobody) = (SocketAddr::new(own.ip(), 1), peer);
            nobody.set_port(1);
            assert_ne!(table.holder(own, no_port).ok(), Some(Holder::User(user)), "{address}");
            assert!(!matches!(table.holder(nobody, own), Ok(Holder::User(_))), "{address}");
            drop(client);
            assert!(!matches!(table.holder(peer, own), Ok(Holder::User(_))), "{address}: it is closed");
        }
    }

    #[test]
    fn req_e04_an_answer_counts_only_whole_and_alive() {
        let answer = |state: u8, inode: u32| {
            let mut bytes = vec![0; 88];
            bytes[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
            bytes[HEADER + 1] = state;
            bytes[USER..USER + 4].copy_from_slice(&1000_u32.to_ne_bytes());
            bytes[INODE..INODE + 4].copy_from_slice(&inode.to_ne_bytes());
            bytes
        };
        let question = [0; QUESTION];
        let read = |answer: &[u8]| read(answer, &question);
        assert_eq!(read(&answer(1, 77)).unwrap(), Holder::User(1000));
        assert_eq!(read(&answer(1, 0)).unwrap(), Holder::Nobody);
        assert_eq!(read(&answer(10, 77)).unwrap(), Holder::Nobody);
        let mut another = answer(1, 77);
        another[HEADER + 4] = 1;
        assert_eq!(read(&another).unwrap(), Holder::Nobody, "an answer about another socket");
        assert!(read(&answer(1, 77)[..80]).is_err() && read(&[]).is_err());
        let mut refused = vec![0; 36];
        refused[4..6].copy_from_slice(&ERROR.to_ne_bytes());
        refused[HEADER..HEADER + 4].copy_from_slice(&(-2_i32).to_ne_bytes());
        assert_eq!(read(&refused).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
