//! Who asks: the listener that a connection arrived on.

use std::sync::atomic::{AtomicU64, Ordering};

use cofferdam_audit::Label;

/// One sandbox, or one other client. Never reused within a process, so that a token of a sandbox that is gone
/// cannot come back to life with the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientId(u64);

impl ClientId {
    #[expect(clippy::new_without_default, reason = "every call makes another one")]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// What is known of whoever connects to a listener.
#[derive(Debug, Clone)]
pub struct Client {
    pub id: ClientId,
    /// The session's name in the record.
    pub session: Option<Label>,
    pub door: Door,
}

/// What a listener stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// A port for proxies. What arrives as if it had dialled the target is served as well, at the ports that go
    /// without saying.
    Proxy,
    /// A port of all hosts at once: what was dialled is the port of the target.
    Transparent { port: u16 },
}
