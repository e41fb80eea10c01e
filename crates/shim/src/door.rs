//! The first program of a sealed container: it makes the container's way out, and becomes the command.
//!
//! A sealed container has a loopback and nothing else. The door makes the listeners of the proxy and of the resolver
//! there, hands them out through the one socket that is mounted in, and waits for the word that they are served. From
//! then on nothing of ours runs in the container: a connection to the proxy's port is accepted by the daemon itself, and
//! no byte is copied on the way. Without that word nothing is started.

use alloc::vec::Vec;
use core::ffi::CStr;

use cofferdam_linux_sys::bare::{self, Descriptor, Errno, Given, Transport};

use crate::failure::Failure;
use crate::search;

/// Where it is mounted; `crates/docker` knows it by the same name.
const SOCKET: &CStr = c"/cofferdam/door.sock";
const PROXY_PORT: u16 = 9191;
const DNS_PORT: u16 = 53;
/// Seconds that the other side may take.
const PATIENCE: u64 = 20;
/// The word of this version of the conversation, and the one that means yes.
const HELLO: &[u8] = b"cofferdam-door 1";
const SERVED: &[u8] = b"served";

pub fn run(given: &Given) -> i32 {
    let failure = open_and_become(given);
    failure.report();
    failure.status()
}

fn open_and_become(given: &Given) -> Failure {
    let command = match given.arguments.get(1..) {
        Some(command) if !command.is_empty() => command,
        _ => return Failure::new("there is no command to become", "name one behind the image"),
    };
    if let Err(failure) = open() {
        return failure;
    }
    let command: Vec<&CStr> = command.to_vec();
    search::replace_by_named(&command, &given.environment)
}

/// The sockets are closed on this side when the command begins; by then the other side has its own copies.
fn open() -> Result<(), Failure> {
    let listeners = [
        listener("the proxy", PROXY_PORT, Transport::Connections)?,
        listener("the resolver", DNS_PORT, Transport::Packets)?,
        listener("the resolver", DNS_PORT, Transport::Connections)?,
    ];
    let closed = |error: Errno| {
        Failure::new(
            &["the way out is closed: ", error.words()].concat(),
            "is the daemon running (cofferdam egress status), and was the container started by cofferdam docker?",
        )
    };
    let door = bare::connect_to(SOCKET, PATIENCE).map_err(closed)?;
    bare::send_with(&door, HELLO, &listeners.each_ref()).map_err(closed)?;
    let mut answer = [0; 256];
    let length = door.read(&mut answer).map_err(closed)?;
    match &answer[..length] {
        SERVED => Ok(()),
        _ => Err(closed(Errno::PERMITTED)),
    }
}

fn listener(of: &str, port: u16, transport: Transport) -> Result<Descriptor, Failure> {
    bare::listen_on(port, transport).map_err(|error| {
        Failure::new(
            &["the port of ", of, " cannot be had: ", error.words()].concat(),
            "the container needs a network of its own, and --sysctl net.ipv4.ip_unprivileged_port_start=0",
        )
    })
}
