//! F. System calls and kernel surface.

use cofferdam_linux_sys::probe::KernelCall;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::probe::{Mistake, Outcome, Probe, Words};

pub const PROBES: &[Probe] = &[
    Probe { name: "kernel-calls", threat: 79, takes: "", attack: kernel_calls },
    Probe { name: "socket-families", threat: 87, takes: "", attack: socket_families },
];

/// A filter answers "not permitted" or "no such call" to every one; without it, some get further.
fn kernel_calls(_: &mut Words) -> Result<Outcome, Mistake> {
    let refused = [rustix::io::Errno::PERM, rustix::io::Errno::NOSYS];
    let reached: Vec<String> = KernelCall::ALL
        .into_iter()
        .filter(|call| match call.make() {
            Ok(()) => true,
            Err(error) => !refused.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error())),
        })
        .map(|call| format!("{call:?}"))
        .collect();
    Ok(Outcome::found(&reached, "all refused"))
}

/// Every family but the three that programs need: Unix, IPv4 and IPv6.
fn socket_families(_: &mut Words) -> Result<Outcome, Mistake> {
    const LAST: u16 = 46;
    let needed = [AddressFamily::UNIX, AddressFamily::INET, AddressFamily::INET6];
    let open: Vec<String> = (0..=LAST)
        .filter(|&family| !needed.contains(&AddressFamily::from_raw(family)))
        .filter(|&family| {
            [SocketType::STREAM, SocketType::DGRAM, SocketType::RAW, SocketType::SEQPACKET].iter().any(
                |&kind| {
                    let family = AddressFamily::from_raw(family);
                    rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None).is_ok()
                },
            )
        })
        .map(|family| family.to_string())
        .collect();
    Ok(Outcome::found(&open, "no other family can be opened"))
}
