//! What the kernel says about a network interface. No program is asked, and no name is looked up on a path.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType};

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GDRVINFO: u32 = 3;

/// `struct ethtool_drvinfo`: the question, the driver's name, and what is not looked at.
#[repr(C)]
struct Driver {
    question: u32,
    name: [u8; 32],
    rest: [u8; 160],
}

/// Whether an interface of this name is a bridge. Asked of the driver, because `/sys` shows the network of whoever
/// mounted it.
pub fn is_bridge(name: &str) -> bool {
    let mut driver = Driver { question: ETHTOOL_GDRVINFO, name: [0; 32], rest: [0; 160] };
    let asked = ask(name, SIOCETHTOOL, |request| {
        request.ifr_ifru.ifru_data = (&raw mut driver).cast();
    });
    // The structure outlives the call, so what the kernel wrote is read here.
    asked.is_ok() && driver.name.starts_with(b"bridge\0")
}

/// The interface's own IPv4 address.
#[expect(unsafe_code, reason = "the answer is a union")]
pub fn ipv4_address(name: &str) -> io::Result<Ipv4Addr> {
    let request = ask(name, libc::SIOCGIFADDR, |_| {})?;
    // SAFETY: the call has written an address of the family of the socket.
    let address = unsafe { request.ifr_ifru.ifru_addr };
    let [_, _, a, b, c, d, ..] = address.sa_data.map(|byte| byte as u8);
    Ok(Ipv4Addr::new(a, b, c, d))
}

/// Asks about an interface. `prepare` points the request to memory that is as large as the call wants it and is there
/// until it is back; both calls that are made here have theirs above.
#[expect(unsafe_code, reason = "the calls have no safe wrapper")]
fn ask(name: &str, call: libc::c_ulong, prepare: impl FnOnce(&mut libc::ifreq)) -> io::Result<libc::ifreq> {
    if !is_name(name) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let socket =
        rustix::net::socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: an all-zero `ifreq` is a valid one: a name of no length, and a union of plain numbers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    prepare(&mut request);
    // SAFETY: the call reads the name, which ends with a zero because it is shorter than its place, and writes into the
    // same structure, which is ours, or to where `prepare` pointed it.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), call, &raw mut request) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(request) }
}

fn is_name(name: &str) -> bool {
    let fine = |byte: u8| byte.is_ascii_graphic() && byte != b'/';
    !name.is_empty() && name.len() < libc::IFNAMSIZ && name != "." && name != ".." && name.bytes().all(fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_has_its_address_and_is_no_bridge() {
        assert_eq!(ipv4_address("lo").unwrap(), Ipv4Addr::LOCALHOST);
        assert!(!is_bridge("lo"));
    }

    #[test]
    fn a_name_is_no_path() {
        for name in ["", ".", "..", "../x", "a/b", "a b", "sixteen-letters-x"] {
            assert!(ipv4_address(name).is_err() && !is_bridge(name), "{name}");
        }
    }
}
