//! Sockets: listeners, and a connection over which they are handed to somebody else.

use core::ffi::CStr;

use super::Errno;
use super::call::{Plain, call, number, plain};
use super::files::Descriptor;

const AF_UNIX: u16 = 1;
const AF_INET: u16 = 2;
const SOCK_CLOEXEC: usize = 0o2_000_000;
const SOL_SOCKET: usize = 1;
const SCM_RIGHTS: i32 = 1;
const SO_PEERCRED: usize = 17;
const SO_RCVTIMEO: usize = 20;
const SO_SNDTIMEO: usize = 21;
const SIOCOUTQ: usize = 0x5411;
/// A kind of socket that keeps the borders of what is sent.
const PACKETS: usize = 5;
const MSG_NOSIGNAL: usize = 0x4000;
const WAITING: usize = 1024;

/// What a socket carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// TCP, listening.
    Connections,
    /// UDP.
    Packets,
}

/// An address and a port of the fourth version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub address: [u8; 4],
    pub port: u16,
}

impl Place {
    /// As the kernel reads it.
    fn encoded(self) -> [u8; 16] {
        let mut encoded = [0_u8; 16];
        encoded[..2].copy_from_slice(&AF_INET.to_ne_bytes());
        encoded[2..4].copy_from_slice(&self.port.to_be_bytes());
        encoded[4..8].copy_from_slice(&self.address);
        encoded
    }
}

/// A socket at this place that other processes of the namespace can reach.
#[expect(unsafe_code, reason = "the kernel reads an address of ours")]
pub fn listen_on(place: Place, transport: Transport) -> Result<Descriptor, Errno> {
    let kind = if transport == Transport::Connections { 1 } else { 2 };
    let socket = socket(AF_INET, kind)?;
    let address = place.encoded();
    // SAFETY: the address and its length are those of an array of ours.
    unsafe { call(number::BIND, [socket.0 as usize, address.as_ptr() as usize, address.len(), 0, 0, 0]) }?;
    if transport == Transport::Connections {
        plain(Plain::Listen, [socket.0 as usize, WAITING, 0, 0, 0])?;
    }
    Ok(socket)
}

fn socket(family: u16, kind: usize) -> Result<Descriptor, Errno> {
    let made = plain(Plain::Socket, [usize::from(family), kind | SOCK_CLOEXEC, 0, 0, 0])?;
    Ok(Descriptor(made as i32))
}

/// Whether somebody at this place takes a connection, in this time.
#[expect(unsafe_code, reason = "the kernel reads an address of ours")]
pub fn reaches(place: Place, patience_seconds: u64) -> Result<(), Errno> {
    let socket = socket(AF_INET, 1)?;
    wait_no_longer(&socket, SO_SNDTIMEO, patience_seconds)?;
    let address = place.encoded();
    // SAFETY: the address and its length are those of an array of ours.
    unsafe { call(number::CONNECT, [socket.0 as usize, address.as_ptr() as usize, address.len(), 0, 0, 0]) }
        .map(drop)
}

#[expect(unsafe_code, reason = "the kernel reads a time of ours")]
fn wait_no_longer(socket: &Descriptor, which: usize, seconds: u64) -> Result<(), Errno> {
    let patience = [seconds, 0_u64];
    let option = [socket.0 as usize, SOL_SOCKET, which, patience.as_ptr() as usize, 16, 0];
    // SAFETY: the option takes seconds and microseconds, two 64-bit numbers, which are ours.
    unsafe { call(number::SETSOCKOPT, option) }.map(drop)
}

/// A connection of packets to whoever listens under a path. Reading from it does not wait longer than this.
pub fn connect_to(path: &CStr, patience_seconds: u64) -> Result<Descriptor, Errno> {
    let socket = connect_packets(path)?;
    wait_no_longer(&socket, SO_RCVTIMEO, patience_seconds)?;
    Ok(socket)
}

/// The two ends of a connection of packets.
#[expect(unsafe_code, reason = "the kernel fills two numbers of ours")]
pub fn packet_pair() -> Result<(Descriptor, Descriptor), Errno> {
    let mut ends = [-1_i32; 2];
    let kind = PACKETS | SOCK_CLOEXEC;
    // SAFETY: the call fills two 32-bit numbers, which are ours.
    unsafe { call(number::SOCKETPAIR, [usize::from(AF_UNIX), kind, 0, ends.as_mut_ptr() as usize, 0, 0]) }?;
    Ok((Descriptor(ends[0]), Descriptor(ends[1])))
}

/// A connection of packets to whoever listens under a path.
#[expect(unsafe_code, reason = "the kernel reads an address of ours")]
pub fn connect_packets(path: &CStr) -> Result<Descriptor, Errno> {
    let socket = socket(AF_UNIX, PACKETS)?;
    let mut address = [0_u8; 110];
    let bytes = path.to_bytes_with_nul();
    let place = address.get_mut(2..2 + bytes.len()).ok_or(Errno::TOO_LARGE)?;
    place.copy_from_slice(bytes);
    address[..2].copy_from_slice(&AF_UNIX.to_ne_bytes());
    let length = 2 + bytes.len();
    // SAFETY: the address and its length are of a part of an array of ours.
    unsafe { call(number::CONNECT, [socket.0 as usize, address.as_ptr() as usize, length, 0, 0, 0]) }?;
    Ok(socket)
}

/// Descriptors that one packet of ours carries.
const MOST: usize = 8;
/// What it is put together from.
const MOST_PARTS: usize = 24;

#[repr(C)]
struct Control {
    length: usize,
    level: i32,
    kind: i32,
    descriptors: [i32; MOST],
}

#[repr(C)]
struct Part {
    start: *const u8,
    length: usize,
}

#[repr(C)]
struct Message {
    name: usize,
    name_length: usize,
    parts: *const Part,
    part_count: usize,
    control: *const Control,
    control_length: usize,
    flags: usize,
}

/// Sends one packet with descriptors beside it; who gets it has copies of them.
pub fn send_with(socket: &Descriptor, bytes: &[u8], handed: &[&Descriptor]) -> Result<(), Errno> {
    let mut numbers = [0; MOST];
    let places = numbers.get_mut(..handed.len()).ok_or(Errno::TOO_LARGE)?;
    for (place, descriptor) in places.iter_mut().zip(handed) {
        *place = descriptor.0;
    }
    send(&[bytes], socket, places)
}

/// Sends one packet, with this process's three standard streams beside it.
pub fn send_with_streams(socket: &Descriptor, parts: &[&[u8]]) -> Result<(), Errno> {
    send(parts, socket, &[0, 1, 2])
}

#[expect(unsafe_code, reason = "the kernel reads structures of ours")]
fn send(bytes: &[&[u8]], socket: &Descriptor, handed: &[i32]) -> Result<(), Errno> {
    let mut control =
        Control { length: 0, level: SOL_SOCKET as i32, kind: SCM_RIGHTS, descriptors: [0; MOST] };
    control.descriptors.get_mut(..handed.len()).ok_or(Errno::TOO_LARGE)?.copy_from_slice(handed);
    control.length = size_of::<usize>() + 2 * size_of::<i32>() + size_of_val(handed);
    let mut parts = [const { Part { start: core::ptr::null(), length: 0 } }; MOST_PARTS];
    for (part, bytes) in parts.get_mut(..bytes.len()).ok_or(Errno::TOO_LARGE)?.iter_mut().zip(bytes) {
        *part = Part { start: bytes.as_ptr(), length: bytes.len() };
    }
    let message = Message {
        name: 0,
        name_length: 0,
        parts: parts.as_ptr(),
        part_count: bytes.len(),
        control: &raw const control,
        control_length: if handed.is_empty() {
            0
        } else {
            control.length.next_multiple_of(size_of::<usize>())
        },
        flags: 0,
    };
    // SAFETY: the message has the layout of the kernel's `msghdr` on 64-bit machines; what it points to is ours, lives
    // until the call is back, and is as long as it says.
    unsafe { call(number::SENDMSG, [socket.0 as usize, &raw const message as usize, MSG_NOSIGNAL, 0, 0, 0]) }
        .map(drop)
}

/// The next packet, as far as there is room for it; nought bytes when the other end is gone.
#[expect(unsafe_code, reason = "the kernel fills a buffer of ours")]
pub fn receive(socket: &Descriptor, buffer: &mut [u8]) -> Result<usize, Errno> {
    let (address, length) = (buffer.as_mut_ptr() as usize, buffer.len());
    // SAFETY: the address and the length are those of a slice that is borrowed alone for the call.
    unsafe { call(number::RECVFROM, [socket.0 as usize, address, length, 0, 0, 0]) }
}

/// Whether something that was sent has not been read.
#[expect(unsafe_code, reason = "the kernel fills a number of ours")]
pub fn is_unread(socket: &Descriptor) -> bool {
    let mut bytes = 0_i32;
    // SAFETY: the request fills one 32-bit number, which is ours alone.
    let asked =
        unsafe { call(number::IOCTL, [socket.0 as usize, SIOCOUTQ, &raw mut bytes as usize, 0, 0, 0]) };
    asked.is_ok() && bytes > 0
}

/// The user of the process that listened at the other end.
#[expect(unsafe_code, reason = "the kernel fills a structure of ours")]
pub fn peer_user(socket: &Descriptor) -> Result<u32, Errno> {
    // Process, user and group.
    let mut peer = [u32::MAX; 3];
    let mut length = size_of_val(&peer) as u32;
    let (filled, room) = (peer.as_mut_ptr() as usize, &raw mut length as usize);
    // SAFETY: the option fills three 32-bit numbers, for which there is room, as the length says; both are ours alone.
    unsafe { call(number::GETSOCKOPT, [socket.0 as usize, SOL_SOCKET, SO_PEERCRED, filled, room, 0]) }?;
    Ok(peer[1])
}
