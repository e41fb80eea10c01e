//! F. System calls and kernel surface.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};

use cofferdam_linux_sys::clone::{self, Forked};
use cofferdam_linux_sys::exec::{self, Image};
use cofferdam_linux_sys::probe::{Group, KERNEL_CALLS, old_entry, x32_entry};
use cofferdam_linux_sys::seccomp::{self, Instruction};
use rustix::net::{AddressFamily, Protocol, SendFlags, SocketFlags, SocketType};
use rustix::process::{Pid, WaitOptions};

use crate::probe::{Mistake, Outcome, Probe, Words};

pub const PROBES: &[Probe] = &[
    Probe { name: "io-uring", threat: 78, takes: "", attack: io_uring },
    Probe { name: "kernel-calls", threat: 79, takes: "", attack: kernel_calls },
    Probe { name: "handle-calls", threat: 79, takes: "", attack: handle_calls },
    Probe { name: "watching-calls", threat: 79, takes: "", attack: watching_calls },
    Probe { name: "old-entry", threat: 80, takes: "", attack: old },
    Probe { name: "x32-entry", threat: 80, takes: "", attack: x32 },
    Probe { name: "unknown-calls", threat: 82, takes: "", attack: unknown_calls },
    Probe { name: "from-memory", threat: 83, takes: "PROBE WORDS…", attack: from_memory },
    Probe { name: "splice-file", threat: 86, takes: "PATH", attack: splice_file },
    Probe { name: "own-filter", threat: 84, takes: "", attack: own_filter },
    Probe { name: "socket-families", threat: 87, takes: "", attack: socket_families },
    Probe { name: "socket-pairs", threat: 87, takes: "", attack: socket_pairs },
    Probe { name: "socket-protocols", threat: 87, takes: "", attack: socket_protocols },
    Probe { name: "netlink-protocols", threat: 87, takes: "", attack: netlink_protocols },
    Probe { name: "out-of-band", threat: 88, takes: "", attack: out_of_band },
];

/// A filter answers "not permitted" or "no such call" to every one; without it, some get further.
pub fn reached(group: Group) -> Outcome {
    let refused = [rustix::io::Errno::PERM, rustix::io::Errno::NOSYS];
    let reached: Vec<String> = KERNEL_CALLS
        .iter()
        .filter(|call| call.group == group)
        .filter(|call| match call.make() {
            Ok(()) => true,
            Err(error) => !refused.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error())),
        })
        .map(|call| call.name.to_owned())
        .collect();
    Outcome::found(&reached, "all refused")
}

/// Another probe by a copy of this program that has no name anywhere. What it says is said by that one.
fn from_memory(words: &mut Words) -> Result<Outcome, Mistake> {
    let arguments: Vec<Vec<u8>> =
        ["probe".to_owned()].into_iter().chain(std::iter::from_fn(|| words.next())).map(Vec::from).collect();
    let started = memory_copy().and_then(|program| {
        let path = CString::new(format!("/proc/self/fd/{}", program.as_raw_fd()))?;
        Err::<(), _>(exec::exec(&path, &Image::of_session(&arguments, &[])?))
    });
    Ok(Outcome::of(started, |()| "started".to_owned()))
}

fn memory_copy() -> io::Result<File> {
    let mut copy = File::from(rustix::fs::memfd_create(c"probe", rustix::fs::MemfdFlags::CLOEXEC)?);
    io::copy(&mut File::open("/proc/self/exe")?, &mut copy)?;
    Ok(copy)
}

/// Reads a file without a call that reads.
fn splice_file(words: &mut Words) -> Result<Outcome, Mistake> {
    let path = words.text("a path")?;
    let moved = File::open(path).and_then(|file| {
        let (mut reader, writer) = io::pipe()?;
        let moved =
            rustix::pipe::splice(&file, None, &writer, None, 4096, rustix::pipe::SpliceFlags::empty())?;
        drop(writer);
        let mut contents = Vec::with_capacity(moved);
        reader.read_to_end(&mut contents)?;
        Ok(contents)
    });
    Ok(Outcome::of(moved, |contents| format!("{} bytes", contents.len())))
}

fn io_uring(_: &mut Words) -> Result<Outcome, Mistake> {
    Ok(reached(Group::IoUring))
}

fn kernel_calls(_: &mut Words) -> Result<Outcome, Mistake> {
    Ok(reached(Group::Kernel))
}

fn handle_calls(_: &mut Words) -> Result<Outcome, Mistake> {
    Ok(reached(Group::Handles))
}

fn watching_calls(_: &mut Words) -> Result<Outcome, Mistake> {
    Ok(reached(Group::Watching))
}

fn unknown_calls(_: &mut Words) -> Result<Outcome, Mistake> {
    Ok(reached(Group::Unknown))
}

/// In a child, which may be killed for it.
fn old(_: &mut Words) -> Result<Outcome, Mistake> {
    match clone::fork().map_err(|error| error.to_string())? {
        Forked::Child => std::process::exit(i32::from(old_entry().is_err())),
        Forked::Parent { child } => {
            let ended = rustix::process::waitpid(Pid::from_raw(child), WaitOptions::empty())
                .map_err(|error| error.to_string())?;
            Ok(match ended {
                Some((_, status)) if status.exit_status() == Some(0) => Outcome::Open("answered".to_owned()),
                Some((_, status)) => Outcome::Closed(format!("{status:?}")),
                None => Outcome::Closed("nothing is known of it".to_owned()),
            })
        }
    }
}

fn x32(_: &mut Words) -> Result<Outcome, Mistake> {
    Ok(Outcome::of(x32_entry(), |_| "answered".to_owned()))
}

/// A filter of our own that allows everything, on top of the one that is there.
fn own_filter(_: &mut Words) -> Result<Outcome, Mistake> {
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    rustix::thread::set_no_new_privs(true).map_err(|error| error.to_string())?;
    let allow_all = Instruction { code: RETURN, if_true: 0, if_false: 0, value: ALLOW };
    seccomp::install(&[allow_all]).map_err(|error| error.to_string())?;
    Ok(reached(Group::IoUring))
}

/// Every family but those that programs need: Unix, IPv4 and IPv6, and netlink, which has a probe of its own.
fn socket_families(_: &mut Words) -> Result<Outcome, Mistake> {
    const LAST: u16 = 46;
    const NETLINK: u16 = 16;
    let needed = [AddressFamily::UNIX, AddressFamily::INET, AddressFamily::INET6];
    let kinds = [SocketType::STREAM, SocketType::DGRAM, SocketType::RAW, SocketType::SEQPACKET];
    let open: Vec<String> = (0..=LAST)
        .filter(|&family| family != NETLINK && !needed.contains(&AddressFamily::from_raw(family)))
        .filter(|&family| {
            kinds.iter().any(|&kind| {
                let family = AddressFamily::from_raw(family);
                rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None).is_ok()
            })
        })
        .map(|family| family.to_string())
        .collect();
    Ok(Outcome::found(&open, "no other family can be opened"))
}

/// The kernel answers that a family has no pairs, or cannot load it, only once it has looked.
fn socket_pairs(_: &mut Words) -> Result<Outcome, Mistake> {
    let families = [AddressFamily::INET, AddressFamily::INET6, AddressFamily::TIPC];
    let reached: Vec<String> = families
        .iter()
        .filter(|&&family| {
            let pair = rustix::net::socketpair(family, SocketType::STREAM, SocketFlags::CLOEXEC, None);
            !matches!(pair, Err(rustix::io::Errno::AFNOSUPPORT | rustix::io::Errno::PERM))
        })
        .map(|family| format!("{family:?}"))
        .collect();
    Ok(Outcome::found(&reached, "only pairs of Unix sockets"))
}

/// Of the internet families: multipath TCP, SCTP, UDP-Lite, ICMP, raw, and the types that name no protocol.
fn socket_protocols(_: &mut Words) -> Result<Outcome, Mistake> {
    const STREAM: u32 = 1;
    const DATAGRAM: u32 = 2;
    let tries: &[(u32, u32)] =
        &[(STREAM, 262), (STREAM, 132), (DATAGRAM, 136), (DATAGRAM, 1), (3, 255), (5, 0), (6, 0)];
    let families = [AddressFamily::INET, AddressFamily::INET6];
    let open: Vec<String> = tries
        .iter()
        .filter(|(kind, protocol)| {
            families.iter().any(|&family| {
                let protocol = std::num::NonZeroU32::new(*protocol).map(Protocol::from_raw);
                let kind = SocketType::from_raw(*kind);
                rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, protocol).is_ok()
            })
        })
        .map(|(kind, protocol)| format!("{kind}/{protocol}"))
        .collect();
    Ok(Outcome::found(&open, "only TCP and UDP"))
}

/// Every protocol but the questions about routes.
fn netlink_protocols(_: &mut Words) -> Result<Outcome, Mistake> {
    let open: Vec<String> = (1..=22u32)
        .filter(|&protocol| {
            let protocol = std::num::NonZeroU32::new(protocol).map(Protocol::from_raw);
            let family = AddressFamily::NETLINK;
            rustix::net::socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, protocol).is_ok()
        })
        .map(|protocol| protocol.to_string())
        .collect();
    Ok(Outcome::found(&open, "only routes"))
}

fn out_of_band(_: &mut Words) -> Result<Outcome, Mistake> {
    let sent = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
        .and_then(|(here, _there)| rustix::net::send(here.as_fd(), b"x", SendFlags::OOB));
    Ok(Outcome::of(sent.map_err(Into::into), |_| "sent".to_owned()))
}
