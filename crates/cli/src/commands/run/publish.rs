//! Ports of a sandbox on the host's loopback.
//!
//! The launcher listens outside; for each connection the first process of the sandbox makes a socket inside and hands
//! it out. The sandbox itself never gets a socket of the host.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cofferdam_sandbox::launch::Sandbox;
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::exit::Exit;
use crate::failure::Failure;

/// Connections at one time; more are closed at once.
const MOST: usize = 128;
/// As many listeners as go with one message to the keeper of a session.
const MOST_PORTS: usize = 7;
/// How long a server inside may take to accept.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// The ports that are published, and the connections that wait for their other half.
#[derive(Debug, Default)]
pub struct Published {
    listeners: Vec<(u16, TcpListener)>,
    waiting: BTreeMap<u64, TcpStream>,
    next: u64,
    open: Arc<AtomicUsize>,
}

impl Published {
    pub fn listen(ports: &[u16]) -> Result<Self, Failure> {
        if ports.len() > MOST_PORTS {
            return Err(Failure::new(
                Exit::Usage,
                format!("{MOST_PORTS} ports can be published, and no more"),
            ));
        }
        let mut listeners = Vec::new();
        for &port in ports {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
                .and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
            let listener = listener.map_err(|error| {
                Failure::new(Exit::NotStarted, format!("port {port} cannot be published: {error}"))
                    .hint("end the program that has the port, or publish another one")
            })?;
            listeners.push((port, listener));
        }
        Ok(Self { listeners, ..Self::default() })
    }

    /// Listeners that somebody else has opened, with their ports.
    pub fn handed(listeners: impl IntoIterator<Item = (u16, OwnedFd)>) -> Self {
        let listeners = listeners.into_iter().map(|(port, listener)| (port, listener.into())).collect();
        Self { listeners, ..Self::default() }
    }

    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.listeners.iter().map(|(_, listener)| listener.as_fd())
    }

    /// Takes what has come in on the listener at this place of [`Published::descriptors`].
    pub fn accept(&mut self, listener: usize, sandbox: &Sandbox) -> io::Result<()> {
        let Some((port, listener)) = self.listeners.get(listener) else { return Ok(()) };
        // Whoever has hung up already is no reason to stop.
        let Ok((stream, _)) = listener.accept() else { return Ok(()) };
        if self.waiting.len() + self.open.load(Ordering::Relaxed) >= MOST {
            return Ok(());
        }
        self.next += 1;
        self.waiting.insert(self.next, stream);
        sandbox.connect(self.next, *port)
    }

    /// Joins a connection with its other half; without one, it is closed.
    pub fn connected(&mut self, id: u64, inside: Option<OwnedFd>) {
        let (Some(outside), Some(inside)) = (self.waiting.remove(&id), inside) else { return };
        let open = Arc::clone(&self.open);
        open.fetch_add(1, Ordering::Relaxed);
        std::thread::spawn(move || {
            // Whatever goes wrong ends this one connection.
            let _ = relay(outside, TcpStream::from(inside));
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

fn relay(outside: TcpStream, inside: TcpStream) -> io::Result<()> {
    rustix::event::poll(&mut [PollFd::new(&inside, PollFlags::OUT)], Some(&PATIENCE))?;
    if let Some(error) = inside.take_error()? {
        return Err(error);
    }
    inside.set_nonblocking(false)?;
    outside.set_nonblocking(false)?;
    // A half that nobody reads any more must not hold the other for ever.
    inside.set_write_timeout(Some(Duration::from_secs(60)))?;
    outside.set_write_timeout(Some(Duration::from_secs(60)))?;
    let (from_inside, to_outside) = (inside.try_clone()?, outside.try_clone()?);
    let back = std::thread::spawn(move || copy(from_inside, to_outside));
    copy(outside, inside);
    back.join().map_err(|_| io::Error::other("a relay ended badly"))
}

/// Copies until one side ends, and passes the end on.
fn copy(mut from: TcpStream, mut to: TcpStream) {
    if io::copy(&mut from, &mut to).is_err() {
        let _ = from.shutdown(Shutdown::Both);
    }
    let _ = to.shutdown(Shutdown::Write);
}
