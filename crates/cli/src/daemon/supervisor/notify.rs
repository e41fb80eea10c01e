//! Telling systemd how things are, if it asked to be told.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

use cofferdam_sandbox::text::Text;

#[derive(Debug)]
pub struct Notifier {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// How often it wants a sign of life, and when the next is due.
    watchdog: Option<(Duration, Instant)>,
}

impl Notifier {
    pub fn new(address: Option<&Text>, watchdog_microseconds: Option<u64>) -> Self {
        let address = address.and_then(|address| match address.as_os_str().as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name).ok(),
            _ => SocketAddr::from_pathname(address.as_path()).ok(),
        });
        let socket = address.and_then(|address| Some((UnixDatagram::unbound().ok()?, address)));
        // Twice as often as asked for, as its manual advises.
        let watchdog = watchdog_microseconds
            .filter(|_| socket.is_some())
            .map(|microseconds| (Duration::from_micros(microseconds / 2), Instant::now()));
        Self { socket, watchdog }
    }

    pub fn say(&self, words: &str) {
        if let Some((socket, address)) = &self.socket {
            // It listens or it does not; the daemon's work is the same.
            let _ = socket.send_to_addr(words.as_bytes(), address);
        }
    }

    pub fn next_sign(&self) -> Option<Instant> {
        self.watchdog.map(|(_, next)| next)
    }

    pub fn give_sign(&mut self, now: Instant) {
        if let Some((often, next)) = &mut self.watchdog
            && *next <= now
        {
            *next = now + *often;
            self.say("WATCHDOG=1");
        }
    }
}
