//! B. Descriptors and local IPC.

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};

use crate::probe::{Mistake, Outcome, Probe, Words};

pub const PROBES: &[Probe] = &[
    Probe { name: "inherited-descriptors", threat: 21, takes: "", attack: inherited },
    Probe { name: "inherited-directories", threat: 22, takes: "", attack: directories },
    Probe { name: "abstract-socket", threat: 24, takes: "NAME", attack: abstract_socket },
    Probe { name: "unix-socket", threat: 25, takes: "PATH", attack: unix_socket },
    Probe { name: "unix-datagram", threat: 26, takes: "PATH", attack: unix_datagram },
];

/// Every open descriptor above the standard ones. The one that the list itself was read through is closed
/// again by the time that it is looked at.
fn above_standard() -> Result<Vec<(u32, fs::Metadata)>, Mistake> {
    let entries = fs::read_dir("/proc/self/fd").map_err(|error| format!("/proc/self/fd: {error}"))?;
    let numbers: Vec<u32> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    let above = numbers.into_iter().filter(|&number| number > 2);
    Ok(above
        .filter_map(|number| Some((number, fs::metadata(format!("/proc/self/fd/{number}")).ok()?)))
        .collect())
}

fn inherited(_: &mut Words) -> Result<Outcome, Mistake> {
    let open: Vec<String> = above_standard()?.iter().map(|(number, _)| number.to_string()).collect();
    Ok(Outcome::found(&open, "only the standard ones"))
}

fn directories(_: &mut Words) -> Result<Outcome, Mistake> {
    let open: Vec<String> = above_standard()?
        .iter()
        .filter(|(number, metadata)| {
            metadata.is_dir() && fs::read_dir(format!("/proc/self/fd/{number}")).is_ok()
        })
        .map(|(number, _)| number.to_string())
        .collect();
    Ok(Outcome::found(&open, "no directory is open"))
}

fn abstract_socket(words: &mut Words) -> Result<Outcome, Mistake> {
    let name = words.text("a name")?;
    let connected =
        SocketAddr::from_abstract_name(&name).and_then(|address| UnixStream::connect_addr(&address));
    Ok(Outcome::of(connected, |_| "connected".to_owned()))
}

fn unix_socket(words: &mut Words) -> Result<Outcome, Mistake> {
    Ok(Outcome::of(UnixStream::connect(words.text("a path")?), |_| "connected".to_owned()))
}

fn unix_datagram(words: &mut Words) -> Result<Outcome, Mistake> {
    let path = words.text("a path")?;
    let sent = UnixDatagram::unbound().and_then(|socket| socket.send_to(b"probe", path));
    Ok(Outcome::of(sent, |sent| format!("{sent} bytes sent")))
}
