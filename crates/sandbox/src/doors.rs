//! The only ways out of a sealed network: listeners that live inside it and are served outside.
//!
//! Every address leads to this namespace, so a socket that listens on all of them takes whatever is dialled, and its
//! own address says what that was. Whatever no listener takes is refused by the kernel at once.
//!
//! The ports are below 1024 but for those that a rule names: no program in the sandbox may listen there, so neither
//! gets in the other's way.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;

use cofferdam_control::channel::MAX_DESCRIPTORS;
use cofferdam_linux_sys::netlink;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use serde::{Deserialize, Serialize};

/// Where programs find the proxy that know of one.
pub const PROXY: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 919);
/// Taken in every sealed network, as if they were each host's own.
pub const TRANSPARENT: [u16; 2] = [80, 443];
/// So many more ports may be taken.
pub const MOST_FURTHER: usize = MAX_DESCRIPTORS - 8;
const DNS: u16 = 53;
const BACKLOG: i32 = 1024;

/// What a listener is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Door {
    Proxy,
    /// This port of every host.
    Transparent {
        port: u16,
    },
    DnsPackets,
    DnsConnections,
}

/// Makes every address one of this namespace and opens the doors. Needs rights over the network.
pub fn open(further: &[u16]) -> io::Result<Vec<(Door, OwnedFd)>> {
    netlink::route_everything_to_loopback()?;
    let mut doors = vec![
        (Door::Proxy, listen(SocketAddr::V4(PROXY))?),
        (Door::DnsPackets, on_all_addresses(DNS, SocketType::DGRAM)?),
        (Door::DnsConnections, on_all_addresses(DNS, SocketType::STREAM)?),
    ];
    let further = further.iter().filter(|port| !TRANSPARENT.contains(port));
    for port in TRANSPARENT.iter().chain(further) {
        doors.push((Door::Transparent { port: *port }, on_all_addresses(*port, SocketType::STREAM)?));
    }
    Ok(doors)
}

fn listen(address: SocketAddr) -> io::Result<OwnedFd> {
    let socket = bound(address, SocketType::STREAM)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// One socket for both protocols, or for the old one where the kernel has no other.
fn on_all_addresses(port: u16, kind: SocketType) -> io::Result<OwnedFd> {
    let socket = match bound((Ipv6Addr::UNSPECIFIED, port).into(), kind) {
        Ok(socket) => socket,
        Err(_) => bound((Ipv4Addr::UNSPECIFIED, port).into(), kind)?,
    };
    if kind == SocketType::STREAM {
        rustix::net::listen(&socket, BACKLOG)?;
    }
    Ok(socket)
}

fn bound(address: SocketAddr, kind: SocketType) -> io::Result<OwnedFd> {
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, false)?;
    }
    rustix::net::bind(&socket, &address)?;
    Ok(socket)
}
