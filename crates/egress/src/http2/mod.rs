//! HTTP/2: requests to upstreams without the HTTP library, and how both sides are written to.
//!
//! The HTTP library passes a request to an upstream along between three tasks. Here whoever asks waits for the answer
//! itself, and a connection only moves frames, which the library of HTTP/2 reads and writes: `outward`. Clients are still
//! the HTTP library's, for it also knows how one of them asks for a WebSocket. What is written on a connection of either
//! side is `gathered` until it has had its turn.

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
