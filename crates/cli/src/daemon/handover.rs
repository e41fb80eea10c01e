//! What is said between the three processes: whoever starts the daemon, its supervisor, and its worker.

use std::net::SocketAddr;

use cofferdam_control::messages::egress::{KeptToken, Opened, Opening, Reply, Serving, Socket};
use cofferdam_sandbox::text::Text;
use serde::{Deserialize, Serialize};

use crate::places::Places;

/// What a supervisor is made from. With descriptors: the variables, then listeners that somebody else has made.
#[derive(Debug, Serialize, Deserialize)]
pub struct Setup {
    pub config: Text,
    pub state: Text,
    pub runtime: Text,
    pub listen: SocketAddr,
    pub metrics_listen: Option<SocketAddr>,
    pub mode: Mode,
    /// Whether a daemon without a record shall rather not be.
    pub record_required: bool,
    /// Where systemd wants to be told, and how often.
    pub notify: Option<Text>,
    pub watchdog_microseconds: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Whoever started it waits for [`Born`]; until then the end of the connection is the end of the daemon.
    Background,
    Foreground,
}

impl Setup {
    pub fn places(&self) -> Places {
        Places {
            config: self.config.clone().into(),
            state: self.state.clone().into(),
            runtime: self.runtime.clone().into(),
        }
    }
}

/// What became of the setup.
#[derive(Debug, Serialize, Deserialize)]
pub enum Born {
    Ready { pid: i32 },
    RunsAlready { pid: Option<i32> },
    Failed { sentence: String, hint: Option<String> },
}

#[derive(Debug, Serialize, Deserialize)]
pub struct ToWorker {
    pub id: u64,
    pub job: Job,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Job {
    /// The first. With the variables and the listener for containers and others; with what the kernel is asked through about
    /// sockets, if it can be; and with the listener for metrics, if there is one.
    Begin {
        config: Text,
        state: Text,
        runtime: Text,
        /// From which the halves of two-part tokens are derived, by every worker alike.
        pairing: [u8; 32],
        asks_about_sockets: bool,
    },
    /// With tokens if the client was taken in by another worker before.
    Open {
        client: u64,
        opening: Opening,
        kept: Option<Vec<KeptToken>>,
    },
    /// With one descriptor for each.
    Serve {
        client: u64,
        sockets: Vec<Socket>,
    },
    Close {
        client: u64,
    },
    Reload,
    Status,
    Metrics,
    /// To see that it still answers.
    Ping,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum FromWorker {
    Answer {
        id: u64,
        answer: Answer,
    },
    /// For the person who started this client.
    Told {
        client: u64,
        line: String,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    Done,
    Failed { sentence: String, hint: Option<String> },
    Opened(Opened),
    Serving(Serving),
    Reply(Reply),
}
