//! What the record says about itself.

use serde::Serialize;

use crate::chain::Hash;
use crate::codes::codes;

/// The first line of every file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordOpened {
    /// The last record that rotation has taken away; all later ones are still there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed_through: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed_hash: Option<Hash>,
}

/// The last line of a file that was full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordClosed {
    pub next_file: u64,
}

/// A writer died in the middle of a line, which nobody had been promised; the part of it was taken away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordRepaired {
    pub file: u64,
    pub bytes: u64,
}

/// The files do not go on where the head says; what follows is chained to the head, so the gap stays visible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordInterrupted {
    pub cause: Interruption,
    pub file: u64,
}

/// Records that could not be written while the policy was to go on without them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordsUnwritten {
    pub count: u64,
}

codes! {
    pub enum Interruption {
        HeadMissing = "head-missing",
        FileMissing = "file-missing",
        FileShortened = "file-shortened",
        FileAltered = "file-altered",
    }
}
