//! What is said over the control socket: one module per engine.
//!
//! An engine that is to be reached adds its module, and one line to each of the two enums.

pub mod egress;

use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    Egress(egress::Request),
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Reply {
    Egress(egress::Reply),
    Refused(Refusal),
}

/// Why a request was not done. What an engine itself has to say about it is a reply of that engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// Not a request, or one with other descriptors than it must have.
    NotUnderstood,
    /// The part that would answer is not there at the moment, or not in this daemon.
    Unavailable,
    /// One sentence on what went wrong.
    Failed(String),
}
