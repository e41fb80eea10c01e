//! Tools for a script that runs in a sandbox.
//!
//! The script has a descriptor: [`frame`]s of JSON go over it, [`message`]s are in them. A [`Broker`] reads them,
//! holds them to the [`tool`]s that were granted and to the limits, and calls whatever [`Tools`] it was given. What
//! reads and writes files ([`files`]) runs as a process inside the same sandbox, so that no tool reaches more than
//! the script could reach without it.
//!
//! What the tools are made of (a sandbox, a gate, a server) is not known here; the program that puts everything
//! together hands it in.

mod answers;
mod connection;
mod door;
pub mod files;
pub mod frame;
mod language;
pub mod limits;
mod link;
pub mod mcp;
pub mod message;
pub mod module;
pub mod output;
mod peers;
pub mod plain;
mod relief;
pub mod schema;
mod serve;
mod shared;
pub mod tool;

pub use connection::{Client, Lost};
pub use door::{Door, hand_in};
pub use language::Language;
pub use peers::Peers;
pub use serve::{Broker, Call, Called, Tools};
pub use shared::{HostTools, Unstarted, Wire};
