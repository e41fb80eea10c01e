//! The few messages that make a network namespace usable, by hand: three fixed messages do not need a library.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

const NEW_LINK: u16 = 16;
const NEW_ROUTE: u16 = 24;
const REQUEST_WITH_ANSWER: u16 = 0x1 | 0x4;
const CREATE: u16 = 0x400;
const LOOPBACK: u32 = 1;

/// The message that brings the loopback interface up: length, kind, flags, a number and a sender that nobody asks
/// for; then the interface, and that it is to be up.
pub(crate) fn loopback_message() -> [u8; 32] {
    let up: u32 = 1;
    let mut message = [0; 32];
    message[0..4].copy_from_slice(&32u32.to_ne_bytes());
    message[4..6].copy_from_slice(&NEW_LINK.to_ne_bytes());
    message[6..8].copy_from_slice(&REQUEST_WITH_ANSWER.to_ne_bytes());
    message[20..24].copy_from_slice(&LOOPBACK.to_ne_bytes());
    message[24..28].copy_from_slice(&up.to_ne_bytes());
    message[28..32].copy_from_slice(&up.to_ne_bytes());
    message
}

/// Brings the loopback interface of this network namespace up.
pub fn loopback_up() -> io::Result<()> {
    exchange(NEW_LINK, REQUEST_WITH_ANSWER, &loopback_message()[16..])
}

/// Makes every address of IPv4 and IPv6 an address of this host, so that whatever is dialled arrives on a
/// socket of this namespace or is refused at once.
/// A kernel without IPv6, or with it switched off, has no address of that kind to reach.
pub fn route_everything_to_loopback() -> io::Result<()> {
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        let family = u8::try_from(family.as_raw()).map_err(io::Error::other)?;
        let (local_table, boot, host_scope, local) = (255, 3, 254, 2);
        let mut body = vec![family, 0, 0, 0, local_table, boot, host_scope, local, 0, 0, 0, 0];
        let output_interface: u16 = 4;
        body.extend(8u16.to_ne_bytes());
        body.extend(output_interface.to_ne_bytes());
        body.extend(LOOPBACK.to_ne_bytes());
        match exchange(NEW_ROUTE, REQUEST_WITH_ANSWER | CREATE, &body) {
            Err(error) if family == 2 => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Sends one message and waits for the kernel's answer to it.
fn exchange(kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
    let socket =
        rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let length = 16 + body.len();
    let mut message = Vec::with_capacity(length);
    message.extend(u32::try_from(length).map_err(io::Error::other)?.to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    rustix::net::sendto(&socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    read_answer(socket.as_fd())
}

/// Waits for the kernel's answer to a message.
pub(crate) fn read_answer(socket: BorrowedFd<'_>) -> io::Result<()> {
    let mut answer = [0u8; 256];
    let (received, _) = rustix::net::recv(socket, &mut answer, RecvFlags::empty())?;
    // The answer is an error message: a header of 16 bytes, then the negated error number, 0 for success.
    match answer.get(16..20).filter(|_| received >= 20) {
        Some(&[a, b, c, d]) => match i32::from_ne_bytes([a, b, c, d]) {
            0 => Ok(()),
            number => Err(io::Error::from_raw_os_error(-number)),
        },
        _ => Err(io::Error::other("the kernel's answer about the network is too short")),
    }
}
