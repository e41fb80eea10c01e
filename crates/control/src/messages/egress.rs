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
    /// Takes a client in that another daemon had taken in before, with the tokens that it has.
    Resume {
        opening: Opening,
        tokens: Vec<KeptToken>,
    },
    /// Lets the client of this connection go; the answer comes behind everything that was to be told.
    Leave,
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
    Resumed,
    Served,
    Left,
    /// To be told to the person who started the client, if that was wished for: unasked, between other answers.
    Told(String),
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
    /// Nothing: all that there is a credential for, but clouds.
    pub providers: Option<Vec<String>>,
    /// Providers whose real credential the client has; it may go where they are, without a token.
    pub without: Vec<String>,
    /// The text of the project's file; it only narrows.
    pub project: Option<String>,
    /// What the person typed: `HOST` or `HOST:PORT`.
    pub allow: Vec<String>,
    /// Whether somebody reads what is to be told.
    pub telling: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Opened {
    pub providers: Vec<String>,
    /// What to put into which variable.
    pub tokens: Vec<(String, HandedToken)>,
    pub files: Vec<HandedFile>,
    /// What the client must trust, in PEM.
    pub authorities: String,
    /// With which it can come back.
    pub kept: Vec<KeptToken>,
}

/// What is left of a token when it was handed out: enough to know it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptToken {
    pub providers: Vec<String>,
    /// Of SHA-256, in hexadecimal digits.
    pub digest: String,
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
    /// The same where a client has a loopback and nothing else: names get addresses there.
    Loopback {
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
