//! A conversation with the daemon: both ends say their version first, then every request has one answer.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::CONTROL_SOCKET;
use crate::channel::Channel;
use crate::messages::{Reply, Request};
use crate::place::Place;

/// Changes when a message changes its meaning. Ends of different versions do not talk: both are the same program,
/// and the older one is started again.
pub const PROTOCOL: u32 = 2;

/// The first message in each direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub protocol: u32,
    /// Of the program, for people.
    pub version: String,
}

impl Hello {
    pub fn own() -> Self {
        Self { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned() }
    }

    pub fn fits(&self) -> bool {
        self.protocol == PROTOCOL
    }
}

/// A connection to the daemon. What was opened through it ends with it.
#[derive(Debug)]
pub struct Connection {
    channel: Channel,
}

/// Why there is no conversation.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// Nobody listens.
    NotRunning,
    /// The daemon is of another version, which it named.
    OtherVersion(String),
    Failed(io::Error),
}

impl Connection {
    /// Connects to the daemon whose socket is in this directory.
    pub fn open(runtime: &Path) -> Result<Self, ConnectError> {
        Self::over(Place::open(runtime)?.connect(CONTROL_SOCKET)?)
    }

    /// Begins the conversation over a channel that is there already.
    pub fn over(channel: Channel) -> Result<Self, ConnectError> {
        channel.send(&Hello::own(), &[])?;
        match channel.receive::<Hello>()? {
            Some((hello, _)) if hello.fits() => Ok(Self { channel }),
            Some((hello, _)) => Err(ConnectError::OtherVersion(hello.version)),
            None => Err(ConnectError::NotRunning),
        }
    }

    /// Asks, and waits for the answer.
    pub fn ask(
        &self,
        request: &Request,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<(Reply, Vec<OwnedFd>)> {
        self.channel.send(request, descriptors)?;
        self.next()
    }

    /// Asks, and leaves the answer to whoever reads next.
    pub fn say(&self, request: &Request) -> io::Result<()> {
        self.channel.send(request, &[])
    }

    /// A conversation that somebody else has begun.
    pub fn handed(channel: Channel) -> Self {
        Self { channel }
    }

    /// The next answer of a request that has more than one.
    pub fn next(&self) -> io::Result<(Reply, Vec<OwnedFd>)> {
        let gone = || io::Error::new(io::ErrorKind::UnexpectedEof, "the daemon has ended");
        self.channel.receive()?.ok_or_else(gone)
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Self::NotRunning,
            _ => Self::Failed(error),
        }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRunning => f.write_str("the daemon is not running"),
            Self::OtherVersion(version) => write!(f, "the daemon is of another version ({version})"),
            Self::Failed(error) => write!(f, "the daemon cannot be reached: {error}"),
        }
    }
}

impl std::error::Error for ConnectError {}
