//! What is said to the egress proxy.

use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// How it is; see [`Health`].
    Health,
    /// Reads the configuration again.
    Reload,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Reply {
    Health(Health),
    Reloaded,
    /// The new configuration has these mistakes; the old one holds.
    NotReloaded {
        mistakes: Vec<String>,
    },
}

/// Whether requests are served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    pub serving: bool,
    /// How often the part that serves had to be started again.
    pub restarts: u64,
}
