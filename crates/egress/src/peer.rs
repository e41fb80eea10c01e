//! Whose process is at the other end of a connection over loopback.
//!
//! A TCP socket does not say. The kernel's table of sockets does, for both ends of a connection within one machine. It
//! is asked once for each connection to a port that other users can reach, about this one connection, and read as a whole
//! only where the kernel answers no questions; listeners of sandboxes need none of this.

use std::fmt::Write;
use std::fs;
use std::net::{IpAddr, SocketAddr, TcpStream};

use cofferdam_linux_sys::sock_diag::{Holder, SocketTable};

/// The column of the state that means that both ends are there.
const ESTABLISHED: &str = "01";

/// Whether somebody may use a port of ours that is open to the machine. Over loopback that is our own user; whoever
/// comes from elsewhere (a container's bridge) was let in by whoever chose the address.
pub(crate) fn may_knock(stream: &TcpStream, sockets: Option<&SocketTable>) -> bool {
    let (Ok(peer), Ok(own)) = (stream.peer_addr(), stream.local_addr()) else { return false };
    let ours = Some(rustix::process::geteuid().as_raw());
    !peer.ip().to_canonical().is_loopback() || owner(peer, own, sockets) == ours
}

/// The user who holds the other end.
fn owner(peer: SocketAddr, own: SocketAddr, sockets: Option<&SocketTable>) -> Option<u32> {
    match sockets.map(|sockets| sockets.holder(peer, own)) {
        Some(Ok(Holder::User(user))) => Some(user),
        Some(Ok(Holder::Nobody)) => None,
        Some(Err(_)) | None => owner_in_table(peer, own),
    }
}

fn owner_in_table(peer: SocketAddr, own: SocketAddr) -> Option<u32> {
    // A socket of the new protocol may hold an address of the old one, so both tables are looked at.
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|table| {
        let wide = table.ends_with('6');
        let (peer, own) = (written(peer, wide)?, written(own, wide)?);
        find(&fs::read_to_string(table).ok()?, &peer, &own)
    })
}

/// A socket that its process has closed already belongs to nobody: the table then shows user 0 and no inode.
fn find(table: &str, local: &str, remote: &str) -> Option<u32> {
    table.lines().skip(1).find_map(|line| {
        let columns: Vec<&str> = line.split_ascii_whitespace().take(10).collect();
        let [_, its_local, its_remote, state, _, _, _, user, _, inode] = columns[..] else { return None };
        let same = its_local == local && its_remote == remote && state == ESTABLISHED && inode != "0";
        if same { user.parse().ok() } else { None }
    })
}

/// An address as the table has it: words of the machine's own byte order, in hexadecimal digits.
fn written(address: SocketAddr, wide: bool) -> Option<String> {
    let octets = match (address.ip().to_canonical(), wide) {
        (IpAddr::V4(address), false) => address.octets().to_vec(),
        (IpAddr::V4(address), true) => address.to_ipv6_mapped().octets().to_vec(),
        (IpAddr::V6(address), true) => address.octets().to_vec(),
        (IpAddr::V6(_), false) => return None,
    };
    let mut text = String::new();
    for word in octets.chunks_exact(4) {
        write!(text, "{:08X}", u32::from_ne_bytes(word.try_into().ok()?)).ok()?;
    }
    write!(text, ":{:04X}", address.port()).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn req_e04_whoever_holds_the_other_end_is_found_until_it_is_closed() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (served, peer) = listener.accept().unwrap();
            let own = served.local_addr().unwrap();
            let asked = SocketTable::open().expect("a kernel that answers");
            for sockets in [Some(&asked), None] {
                assert_eq!(owner(peer, own, sockets), Some(rustix::process::geteuid().as_raw()), "{address}");
                assert!(may_knock(&served, sockets));
            }
            drop(client);
            for sockets in [Some(&asked), None] {
                assert_eq!(owner(peer, own, sockets), None, "a socket that is closed is nobody's");
                assert!(!may_knock(&served, sockets));
            }
        }
    }

    #[test]
    fn req_e04_a_line_counts_only_whole_and_alive() {
        let line = |state: &str, inode: &str| {
            format!("head\n 0: 0100007F:1F90 0100007F:23E7 {state} 0:0 00:0 0 1000 0 {inode} 1 x\n")
        };
        let ask = |table: &str| find(table, "0100007F:1F90", "0100007F:23E7");
        assert_eq!(ask(&line("01", "77")), Some(1000));
        assert_eq!(ask(&line("01", "0")), None);
        assert_eq!(ask(&line("06", "77")), None);
        assert_eq!(find(&line("01", "77"), "0100007F:23E7", "0100007F:1F90"), None);
        assert_eq!(ask("head\n 0: cut"), None);
    }
}
