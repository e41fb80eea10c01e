//! The shared proxy as a daemon: two processes, so that one can answer for the other.
//!
//! The *supervisor* is small: one thread, no TLS, no request ever read. It holds what must outlive a crash: the
//! sockets, the clients with the digests of their tokens, and the values of the environment. The *worker* is the
//! proxy. When a worker dies, the next one gets everything again, and in between the supervisor answers itself.
//!
//! `start` hands over to a supervisor that begins as a new program with an environment built by the rules; whatever
//! it needs of the person's own environment travels over a channel and never stands in an environment again.

pub mod handover;
pub mod identity;
pub mod launch;
pub mod log;
pub mod named_tokens;
pub mod pairing;
pub mod supervisor;
pub mod variables;
pub mod worker;
