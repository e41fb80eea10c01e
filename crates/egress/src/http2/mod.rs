//! HTTP/2 on both sides of us, frames by the library of its own and everything above them here.
//!
//! The HTTP library has a task for each request to an upstream and passes it along between three of them. Here whoever
//! asks waits for the answer itself, and a connection only moves frames: `outward`. What is written on a connection is
//! `gathered` until it has had its turn.

mod gathered;
mod outward;
mod piped;
mod received;

pub(crate) use gathered::gather;
pub(crate) use outward::Http2;
pub(crate) use received::Received;

/// What may be on its way to us in one stream, and in all of a connection.
pub(crate) const STREAM_WINDOW: u32 = 1 << 20;
pub(crate) const CONNECTION_WINDOW: u32 = 4 << 20;
pub(crate) const LONGEST_HEAD: u32 = 64 * 1024;
