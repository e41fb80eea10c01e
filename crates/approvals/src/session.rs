//! On whose behalf a command would run.

use cofferdam_policy::document::{Mode, SessionKind, Unattended};

use crate::Context;

/// Everything that a decision depends on besides the command. A value, handed from caller to caller: there is no
/// variable of the process or of a thread that could be missing, stale or set by somebody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionContext {
    /// Names the session in prompts, in the record and in approvals that hold for a session.
    pub session: String,
    pub kind: SessionKind,
    pub mode: Mode,
    pub backend: Backend,
    pub author: Author,
    /// What the configuration says about sessions of this kind, where nobody watches.
    pub unattended: Unattended,
    /// The directory, home and user that the command is judged for.
    pub place: Context,
}

/// Whose words a command line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// Whoever called wrote it themself, at a terminal or in a script: to ask them again would be asking twice.
    Caller,
    /// An agent made it up.
    Agent,
}

/// Where a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// With the user's own files and network.
    Host,
    /// In a sandbox or a container.
    Isolated,
}

impl Backend {
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Isolated => "isolated",
        }
    }
}
