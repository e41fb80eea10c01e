//! B. Descriptors and local IPC.

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};

use cofferdam_linux_sys::probe::{MessageQueue, SharedMemory};
use landlock::{ABI, Access, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr};

use crate::probe::{Mistake, Outcome, Probe, Words, holds_canary};

pub const PROBES: &[Probe] = &[
    Probe { name: "inherited-descriptors", threat: 21, takes: "", attack: inherited },
    Probe { name: "inherited-directories", threat: 22, takes: "", attack: directories },
    Probe { name: "reopen-stdin", threat: 23, takes: "", attack: reopen_stdin },
    Probe { name: "reopen-with-own-rules", threat: 77, takes: "", attack: reopen_with_own_rules },
    Probe { name: "abstract-socket", threat: 24, takes: "NAME", attack: abstract_socket },
    Probe { name: "unix-socket", threat: 25, takes: "PATH", attack: unix_socket },
    Probe { name: "unix-datagram", threat: 26, takes: "PATH", attack: unix_datagram },
    Probe { name: "shared-memory", threat: 29, takes: "KEY", attack: shared_memory },
    Probe { name: "message-queue", threat: 30, takes: "NAME", attack: message_queue },
    Probe { name: "desktop-variables", threat: 33, takes: "", attack: desktop_variables },
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

/// Opens what was handed in for reading again, for reading and writing.
fn reopen_stdin(_: &mut Words) -> Result<Outcome, Mistake> {
    let opened = fs::OpenOptions::new().read(true).write(true).open("/proc/self/fd/0");
    Ok(Outcome::of(opened, |_| "opened for writing".to_owned()))
}

/// The same after this process has put itself under rules of its own that allow everything.
fn reopen_with_own_rules(words: &mut Words) -> Result<Outcome, Mistake> {
    let all = AccessFs::from_all(ABI::V1);
    let ruled = Ruleset::default()
        .handle_access(all)
        .and_then(Ruleset::create)
        .and_then(|rules| rules.add_rules(landlock::path_beneath_rules(["/"], all))?.restrict_self());
    match ruled {
        Ok(_) => reopen_stdin(words),
        Err(error) => Ok(Outcome::Closed(error.to_string())),
    }
}

fn shared_memory(words: &mut Words) -> Result<Outcome, Mistake> {
    Ok(match SharedMemory::read(words.parsed("key")?) {
        Ok(contents) if holds_canary(&contents) => Outcome::Open("a canary in it".to_owned()),
        Ok(_) => Outcome::Closed("nothing in it".to_owned()),
        Err(error) => Outcome::Closed(error.to_string()),
    })
}

fn message_queue(words: &mut Words) -> Result<Outcome, Mistake> {
    Ok(Outcome::of(MessageQueue::find(&words.text("a name")?), |()| "opened".to_owned()))
}

/// What leads to the agents, the bus and the screen of the person.
fn desktop_variables(_: &mut Words) -> Result<Outcome, Mistake> {
    const NAMES: &[&str] = &[
        "DBUS_SESSION_BUS_ADDRESS",
        "DISPLAY",
        "DOCKER_HOST",
        "GPG_AGENT_INFO",
        "PIPEWIRE_RUNTIME_DIR",
        "SSH_AGENT_PID",
        "SSH_AUTH_SOCK",
        "TMUX",
        "WAYLAND_DISPLAY",
        "XAUTHORITY",
        "XDG_RUNTIME_DIR",
    ];
    let set: Vec<String> =
        NAMES.iter().filter(|name| std::env::var_os(name).is_some()).map(|name| (*name).to_owned()).collect();
    Ok(Outcome::found(&set, "none is set"))
}
