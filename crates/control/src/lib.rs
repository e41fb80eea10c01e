//! How the parts of Cofferdam talk to each other on one machine.
//!
//! A [`channel::Channel`] carries messages with descriptors beside them. A [`place::Place`] is a directory that
//! nobody else can enter, with sockets in it; whoever connects is known by [`peer`] before a word is read. On top of
//! that, [`connection`] begins every conversation with the version of both ends, and [`messages`] are what is said:
//! one module per engine, so that engines that do not know each other can be reached through one socket.
//!
//! Nothing here waits on more than one thing or starts a thread: who serves decides that. There is no async runtime,
//! because the sandbox uses channels between clone and exec.

pub mod channel;
pub mod connection;
pub mod messages;
pub mod peer;
pub mod place;

/// The file name of the daemon's socket in the runtime directory.
pub const CONTROL_SOCKET: &str = "control.sock";
