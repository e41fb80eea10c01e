//! The first program of a wired container: it makes the container's way out, and becomes the command.
//!
//! A sealed container has a loopback and nothing else. The door makes the listeners of the proxy, of the resolver and of
//! the usual ports there, hands them out through the one socket that is mounted in, and waits for the word that they are
//! served. From then on nothing of ours runs in the container: a connection is accepted by the daemon itself, and no byte
//! is copied on the way. Without that word nothing is started.
//!
//! A container on a bridge has a network of its engine's. Called by its other name, the door only looks whether the proxy
//! can be reached from in here, and says what stands in the way if not.
//!
//! Whatever it becomes makes no sockets but those of a network, which is the engine's business or not there. What comes
//! later beside the first command takes the same on itself: `door --beside COMMAND`.

use alloc::vec::Vec;
use core::ffi::CStr;

use cofferdam_linux_sys::bare::{self, Descriptor, Errno, Given, Place, Transport};

use crate::failure::Failure;
use crate::{search, text};

/// Where it is mounted; `crates/docker` knows it by the same name.
const SOCKET: &CStr = c"/cofferdam/door.sock";
/// What it is called in a container on a bridge; the place of the proxy is then its first word.
const BRIDGE: &[u8] = b"bridge-door";
/// The first word of a command that comes into a container where the way out is open already.
const BESIDE: &[u8] = b"--beside";
/// Seconds that the other side may take.
const PATIENCE: u64 = 20;
/// Seconds for a connection over a bridge.
const ACROSS: u64 = 5;
/// The words of this version of the conversation, and the one that means yes.
const SEALED_HELLO: &[u8] = b"cofferdam-door 2";
const BRIDGE_HELLO: &[u8] = b"cofferdam-bridge 1";
const SERVED: &[u8] = b"served";

const LOOPBACK: [u8; 4] = [127, 0, 0, 1];
/// All of the loopback's addresses: a name that may be reached has one of its own there.
const ANY: [u8; 4] = [0; 4];

/// What is listened on, in the order in which it is handed out.
const LISTENERS: [(&str, [u8; 4], u16, Transport); 5] = [
    ("the proxy", LOOPBACK, 9191, Transport::Connections),
    ("the resolver", LOOPBACK, 53, Transport::Packets),
    ("the resolver", LOOPBACK, 53, Transport::Connections),
    ("plain requests", ANY, 80, Transport::Connections),
    ("requests", ANY, 443, Transport::Connections),
];

pub fn run(given: &Given) -> i32 {
    let called = given.arguments.first().map_or(&b""[..], |name| name.to_bytes());
    let beside = given.arguments.get(1).is_some_and(|word| word.to_bytes() == BESIDE);
    let ended = match called.rsplit(|byte| *byte == b'/').next() {
        _ if beside => become_command(given, 2),
        Some(BRIDGE) => look_and_become(given),
        _ => open_and_become(given),
    };
    match ended {
        Ok(()) => 0,
        Err(failure) => {
            failure.report();
            failure.status()
        }
    }
}

fn open_and_become(given: &Given) -> Result<(), Failure> {
    let mut listeners = Vec::new();
    for (of, address, port, transport) in LISTENERS {
        listeners.push(listener(of, Place { address, port }, transport)?);
    }
    // They are closed on this side when the command begins; by then the other side has its own copies.
    knock(SEALED_HELLO, &listeners.iter().collect::<Vec<_>>())?;
    become_command(given, 1)
}

/// Becomes the command that begins with this word. Only a failure comes back.
fn become_command(given: &Given, first: usize) -> Result<(), Failure> {
    let command = match given.arguments.get(first..) {
        Some(command) if !command.is_empty() => command,
        _ => return Err(Failure::new("there is no command to become", "name one behind the image")),
    };
    bare::no_new_privileges().and_then(|()| bare::few_families()).map_err(|error| {
        Failure::new(
            &["the kinds of sockets cannot be limited: ", error.words()].concat(),
            "the engine must let a container set a seccomp filter",
        )
    })?;
    Err(search::replace_by_named(command, &given.environment))
}

/// Without a command it has only looked.
fn look_and_become(given: &Given) -> Result<(), Failure> {
    let wrong =
        || Failure::new("it is not told where the proxy is", "start it by cofferdam docker run --bridge");
    let word = given.arguments.get(1).and_then(|word| word.to_str().ok()).ok_or_else(wrong)?;
    let place = place(word).ok_or_else(wrong)?;
    bare::reaches(place, ACROSS).map_err(|error| unreachable(word, error))?;
    knock(BRIDGE_HELLO, &[])?;
    match given.arguments.get(2..) {
        Some(command) if !command.is_empty() => become_command(given, 2),
        _ => {
            bare::write_all(1, ["the proxy at ", word, " is reached from in here\n"].concat().as_bytes());
            Ok(())
        }
    }
}

fn unreachable(place: &str, error: Errno) -> Failure {
    let remedy = match error.0 {
        111 => {
            "is the daemon running (cofferdam egress status), and was the container started by cofferdam docker?"
        }
        101 | 113 => {
            "a firewall of the machine rejects what comes from the bridge, or the network is internal: let the bridge \
             reach that port, or leave --bridge out"
        }
        _ => {
            "a firewall of the machine drops what comes from the bridge: let it in, for example with iptables -I INPUT -i \
             docker0 -p tcp -j ACCEPT or ufw allow in on docker0, or leave --bridge out"
        }
    };
    Failure::new(
        &["the proxy at ", place, " cannot be reached from in here: ", error.words()].concat(),
        remedy,
    )
}

/// `a.b.c.d:port`.
fn place(word: &str) -> Option<Place> {
    let (address, port) = word.split_once(':')?;
    let mut parts =
        address.split('.').map(|part| text::number(part).and_then(|number| u8::try_from(number).ok()));
    let address = [parts.next()??, parts.next()??, parts.next()??, parts.next()??];
    let port = u16::try_from(text::number(port)?).ok()?;
    parts.next().is_none().then_some(Place { address, port })
}

/// Says who is here, and waits for the word.
fn knock(hello: &[u8], listeners: &[&Descriptor]) -> Result<(), Failure> {
    let closed = |error: Errno| {
        Failure::new(
            &["the way out is closed: ", error.words()].concat(),
            "is the daemon running (cofferdam egress status), and was the container started by cofferdam docker?",
        )
    };
    let door = bare::connect_to(SOCKET, PATIENCE).map_err(closed)?;
    bare::send_with(&door, hello, listeners).map_err(closed)?;
    let mut answer = [0; 256];
    let length = door.read(&mut answer).map_err(closed)?;
    match &answer[..length] {
        SERVED => Ok(()),
        _ => Err(closed(Errno::PERMITTED)),
    }
}

fn listener(of: &str, place: Place, transport: Transport) -> Result<Descriptor, Failure> {
    bare::listen_on(place, transport).map_err(|error| {
        Failure::new(
            &["the port of ", of, " cannot be had: ", error.words()].concat(),
            "the container needs a network of its own, and --sysctl net.ipv4.ip_unprivileged_port_start=0",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_address_and_a_port() {
        assert_eq!(place("172.17.0.1:9191"), Some(Place { address: [172, 17, 0, 1], port: 9191 }));
        for wrong in ["", "172.17.0.1", "172.17.0:1", "172.17.0.1.2:1", "256.1.1.1:1", "1.1.1.1:70000", "a:1"]
        {
            assert_eq!(place(wrong), None, "{wrong}");
        }
    }
}
