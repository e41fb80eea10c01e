//! The record: every decision, written before what it decides is let go, in a chain of hashes.
//!
//! * [`event`]: what can happen, as a closed list that cannot hold a secret.
//! * [`Recorder`]: writes it.
//! * [`Snapshot`]: reads it; [`Selection`], [`stats`], [`verify`] and [`export`] ask it questions.
//!
//! The chain shows that lines were altered, removed, moved or put in, and the head shows that the end was cut
//! off. It stops at the user: whoever may write the files as this user can write a new record from the start,
//! with a new head. Against that, note a head elsewhere, and give it to `verify --against`.

mod chain;
mod codes;
mod error;
pub mod event;
pub mod export;
mod fields;
mod files;
mod follow;
mod head;
mod outside;
mod recorder;
mod recover;
mod selection;
pub mod show;
mod snapshot;
pub mod stats;
mod time;
pub mod verify;

pub use chain::{Hash, Link, body};
pub use error::AuditError;
pub use event::{Event, Kind};
pub use fields::{Fields, Summary};
pub use follow::Follower;
pub use head::Head;
pub use outside::{CommandText, FilePath, HostName, Label, Method, RequestPath, is_visible};
pub use recorder::{Durability, OnWriteFailure, Recorded, Recorder, Settings};
pub use selection::{Matcher, Selection};
pub use snapshot::Snapshot;
pub use time::Moment;

#[cfg(test)]
mod tests;
