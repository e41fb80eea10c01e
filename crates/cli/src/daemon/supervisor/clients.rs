//! Who is connected to the control socket, and the clients of the proxy that live as long as their connections.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use cofferdam_control::channel::Channel;
use cofferdam_control::messages::Reply;
use cofferdam_control::messages::egress::{KeptToken, Opening, Socket};
use rustix::net::sockopt::{Timeout, set_socket_timeout};

/// Connections at a time; a script gone wild must not take all descriptors.
const MOST: usize = 1024;
/// For how long one that does not read may hold the others up.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub struct Connections {
    open: BTreeMap<u64, Connection>,
    next: u64,
}

#[derive(Debug)]
pub struct Connection {
    channel: Channel,
    /// Whether both ends have said their version.
    pub greeted: bool,
    /// The client of the proxy that this connection stands for.
    pub client: Option<u64>,
}

/// What a new worker has to know of a client.
#[derive(Debug)]
pub struct Client {
    pub opening: Opening,
    pub tokens: Vec<KeptToken>,
    pub sockets: Vec<(Socket, OwnedFd)>,
}

impl Connections {
    pub fn welcome(&mut self, channel: Channel) {
        let bounded = set_socket_timeout(&channel, Timeout::Send, Some(PATIENCE));
        if bounded.is_ok() && self.open.len() < MOST {
            self.next += 1;
            let connection = Connection { channel, greeted: false, client: None };
            self.open.insert(self.next, connection);
        }
    }

    pub fn get(&mut self, connection: u64) -> Option<&mut Connection> {
        self.open.get_mut(&connection)
    }

    pub fn remove(&mut self, connection: u64) -> Option<Connection> {
        self.open.remove(&connection)
    }

    pub fn sources(&self) -> impl Iterator<Item = (u64, BorrowedFd<'_>)> {
        self.open.iter().map(|(id, connection)| (*id, connection.channel.as_fd()))
    }

    /// Tells somebody who may be gone by now; whoever does not listen is noticed by the end of the connection.
    pub fn tell(&self, connection: u64, reply: &Reply) {
        if let Some(connection) = self.open.get(&connection)
            && let Err(error) = connection.channel.send(reply, &[])
        {
            tracing::debug!("an answer was not taken: {error}");
        }
    }
}

impl Connection {
    pub fn channel(&self) -> &Channel {
        &self.channel
    }
}

impl Client {
    pub fn new(opening: Opening, tokens: Vec<KeptToken>) -> Self {
        Self { opening, tokens, sockets: Vec::new() }
    }

    /// The sockets at which somebody who connects can be told something.
    pub fn doors(&self) -> io::Result<Vec<OwnedFd>> {
        let doors = self.sockets.iter();
        let doors = doors.filter(|(kind, _)| !matches!(kind, Socket::DnsPackets | Socket::DnsConnections));
        doors.map(|(_, socket)| socket.try_clone()).collect()
    }
}
