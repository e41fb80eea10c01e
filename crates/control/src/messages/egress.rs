//! What is said to the egress proxy.

use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Whether it serves; answered even while it does not.
    Health,
    Status,
    /// As text in the format of Prometheus.
    Metrics,
    /// Reads the configuration, the named tokens and the authority again.
    Reload,
    /// Takes a client in. It is there for as long as this connection; a second one needs another connection.
    Open(Opening),
    /// Serves the client of this connection on these sockets, with one descriptor for each.
    Serve(Vec<Socket>),
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Reply {
    Health(Health),
    Status(Box<Status>),
    Metrics(String),
    Reloaded {
        /// What takes effect at the next start only.
        notes: Vec<String>,
    },
    /// The new configuration has these mistakes; the old one holds.
    NotReloaded {
        mistakes: Vec<String>,
    },
    Opened(Opened),
    /// One sentence on why there is no such client.
    NotOpened(String),
    Served,
}

/// Whether requests are served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    pub serving: bool,
    /// How often the part that serves had to be started again.
    pub restarts: u64,
}

/// A wish to be served, in the words in which it was typed: whoever serves judges them anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// The name under which it goes on record.
    pub session: String,
    /// Nothing: all that there is a credential for.
    pub providers: Option<Vec<String>>,
    /// The text of the project's file; it only narrows.
    pub project: Option<String>,
    /// What the person typed: `HOST` or `HOST:PORT`.
    pub allow: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Opened {
    pub providers: Vec<String>,
    /// What to put into which variable.
    pub tokens: Vec<(String, HandedToken)>,
    pub files: Vec<HandedFile>,
    /// What the client must trust, in PEM.
    pub authorities: String,
}

/// A token on its way to the one it was made for; it does not show up when a message is printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedToken(pub String);

impl fmt::Debug for HandedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HandedToken(…)")
    }
}

/// A file to put into the sandbox; the variables are set to wherever it is put.
#[derive(Debug, Serialize, Deserialize)]
pub struct HandedFile {
    pub variables: Vec<String>,
    /// Without a directory.
    pub name: String,
    pub contents: HandedToken,
}

/// What a socket is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Socket {
    Proxy,
    /// A port of all hosts at once.
    Transparent {
        port: u16,
    },
    DnsPackets,
    DnsConnections,
}

/// What is true right now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub version: String,
    /// The supervisor's.
    pub pid: u32,
    /// The part that serves; none while it is being started again.
    pub worker: Option<u32>,
    pub restarts: u64,
    /// Seconds since the start.
    pub uptime: u64,
    /// Where it really listens for containers and others.
    pub listen: SocketAddr,
    pub config: String,
    /// What is wrong with the configuration as it is on disk now; the last good one holds.
    pub config_mistakes: Vec<String>,
    /// What the kernel enforces on the daemon itself.
    pub walls: Vec<String>,
    /// Nothing while no worker is there to ask.
    pub serving: Option<Serving>,
}

/// What the part that serves knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Serving {
    /// Of the authority's certificate.
    pub authority: String,
    pub providers: Vec<String>,
    /// Providers that have a named token for the shared port.
    pub named_tokens: Vec<String>,
    pub clients: u32,
    /// Whether the record can be written.
    pub recording: bool,
}
