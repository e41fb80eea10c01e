//! Who asks: the listener that a connection arrived on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cofferdam_audit::{Event, Label};
use cofferdam_policy::host::Host;
use tokio::net::TcpStream;

use crate::dns::GivenAddresses;
use crate::limits::Allowance;
use crate::policy::LivePolicy;

/// Where the policy says nothing about it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(20);

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

/// Somebody who wants to know what a client does, as it happens and after it is on record.
pub trait Watcher: Send + Sync {
    fn saw(&self, event: &Event);
}

/// What is known of whoever connects to a listener.
#[derive(Clone)]
pub struct Client {
    pub id: ClientId,
    /// The session's name in the record.
    pub session: Option<Label>,
    pub door: Door,
    pub policy: Arc<LivePolicy>,
    /// What the client's own resolver gave out; none for a client that has another resolver.
    pub given: Option<Arc<GivenAddresses>>,
    pub watcher: Option<Arc<dyn Watcher>>,
    pub used: Arc<Allowance>,
}

/// What a listener stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// A port for proxies. What arrives as if it had dialled the target is served as well, at the ports that go
    /// without saying.
    Proxy,
    /// The same on an address of the machine, where other users knock as well: over loopback only processes of our own
    /// user are served.
    Shared,
    /// A port of all hosts at once: what was dialled is the port of the target.
    Transparent { port: u16 },
}

impl Client {
    /// A client that dials the proxy by its address, and that nobody watches.
    pub fn new(policy: Arc<LivePolicy>) -> Self {
        Self {
            id: ClientId::new(),
            session: None,
            door: Door::Proxy,
            policy,
            given: None,
            watcher: None,
            used: Arc::default(),
        }
    }

    /// How long it may take to say what it wants.
    pub(crate) fn head_timeout(&self) -> Duration {
        self.policy.now().egress.limits.head_timeout.unwrap_or(HEAD_TIMEOUT)
    }

    /// Whom a connection was meant for: the name that its address was given out for, or the address itself.
    pub(crate) fn dialled(&self, stream: &TcpStream) -> Option<Host> {
        let Door::Transparent { .. } = self.door else { return None };
        let address = stream.local_addr().ok()?.ip().to_canonical();
        let name = self.given.as_ref().and_then(|given| given.name_of(address));
        Some(name.map_or(Host::Address(address), Host::Name))
    }
}
