//! Connections that are kept for the next request.
//!
//! The key is everything that must not be mixed: the target as it was agreed on, the address that was checked for
//! it, and what may be spoken. So a connection is only used again by a request that would have been allowed to
//! open it: one to an address that the policy no longer allows is never found, and dies of age.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cofferdam_audit::event::EgressReason;
use cofferdam_policy::document::EgressLimits;

use crate::by_hand::{ByHand, Held};
use crate::client::ClientId;
use crate::dial::{Dialler, Http1, Sender, Wire};
use crate::http2::Http2;
use crate::resolve::{Endpoint, Route, Through};
use crate::serve::Inbound;
use crate::target::Target;

/// Servers commonly close after a minute or more; a connection that is older is not tried.
const LONGEST_IDLE: Duration = Duration::from_secs(55);
const MOST_IDLE: usize = 1024;
/// As many as every server should take (RFC 9113). With more on one connection some would wait for others to end,
/// and an answer that streams may last for hours.
const MOST_STREAMS: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    target: Target,
    endpoint: Endpoint,
    through: Through,
    wire: Wire,
}

/// How a request gets to its target.
#[derive(Clone, Copy)]
pub(crate) struct Way<'r> {
    pub target: &'r Target,
    pub route: &'r Route,
    pub wire: Wire,
    pub limits: &'r EgressLimits,
    pub reader: Reader,
    /// Who asks.
    pub owner: ClientId,
    /// Whose connection what comes before an answer is passed on to, if anybody's.
    pub client: Option<&'r Arc<Inbound>>,
}

/// Who reads an answer of HTTP/1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    Library,
    /// For requests that are at hand as a whole.
    ByHand,
}

impl Way<'_> {
    fn key(self, endpoint: Endpoint) -> Key {
        Key { target: self.target.clone(), endpoint, through: self.route.through, wire: self.wire }
    }
}

#[derive(Default)]
struct Kept {
    idle: Vec<(Http1, Instant)>,
    by_hand: Vec<(ByHand, Instant)>,
    shared: Vec<Shared>,
    /// Held while the first connection is opened: if it turns out to be HTTP/2, one is enough for all.
    opening: Arc<tokio::sync::Mutex<()>>,
    /// The upstream does not speak HTTP/2, so that opening one by one gains nothing.
    only_http1: bool,
}

/// A connection of HTTP/2. All of its streams are one client's: one that does not read what it asked for uses up the room
/// of them all, and must not keep others waiting.
struct Shared {
    sender: Http2,
    owner: ClientId,
    /// Every stream on it holds on to this.
    streams: Arc<()>,
    used: Instant,
}

impl Shared {
    fn is_alive(&mut self, now: Instant) -> bool {
        let recent = now.saturating_duration_since(self.used) < LONGEST_IDLE;
        !self.sender.is_closed() && (recent || Arc::strong_count(&self.streams) > 1)
    }

    fn with_room(&mut self, owner: ClientId) -> Option<&mut Self> {
        let streams = Arc::strong_count(&self.streams) - 1;
        let room =
            streams == 0 || self.owner == owner && streams < self.sender.most_streams().min(MOST_STREAMS);
        if !room || self.sender.is_closed() {
            return None;
        }
        self.owner = owner;
        Some(self)
    }
}

pub(crate) struct Pool {
    dialler: Arc<Dialler>,
    kept: Mutex<HashMap<Key, Kept>>,
}

/// A connection in use, and where it goes back to.
pub(crate) struct Lease {
    pool: Arc<Pool>,
    key: Key,
    connection: Option<Held>,
    /// A place on a connection of HTTP/2, held until the answer has ended.
    #[expect(dead_code, reason = "it counts by being there")]
    stream: Option<Arc<()>>,
}

impl Pool {
    pub fn new(dialler: Arc<Dialler>) -> Self {
        Self { dialler, kept: Mutex::new(HashMap::new()) }
    }

    /// Somebody is about to ask for a connection.
    pub fn get_ready(&self) {
        self.dialler.get_ready();
    }

    /// A connection that was used before, if there is one.
    pub async fn reuse(self: &Arc<Self>, way: Way<'_>) -> Option<(Sender, Lease)> {
        for endpoint in &way.route.endpoints {
            let key = way.key(*endpoint);
            while let Some((mut sender, stream)) = self.take(&key, way) {
                let usable = match &mut sender {
                    Sender::Http1(connection) => connection.is_usable().await,
                    Sender::ByHand(connection) => connection.is_usable().await,
                    Sender::Http2(_) => true,
                };
                if !usable {
                    continue;
                }
                let sender = match sender {
                    Sender::ByHand(connection) if way.reader == Reader::Library => {
                        Sender::Http1(Http1::begin(connection.into_stream(), None).await.ok()?)
                    }
                    sender => sender,
                };
                return Some((sender, Lease { pool: self.clone(), key, connection: None, stream }));
            }
        }
        None
    }

    fn take(&self, key: &Key, way: Way<'_>) -> Option<(Sender, Option<Arc<()>>)> {
        self.kept().get_mut(key)?.take(way)
    }

    /// Drops what is too old to be used again.
    pub fn sweep(&self) {
        let now = Instant::now();
        self.kept().retain(|_, kept| {
            kept.idle.retain(|(_, since)| now.saturating_duration_since(*since) < LONGEST_IDLE);
            kept.by_hand.retain(|(_, since)| now.saturating_duration_since(*since) < LONGEST_IDLE);
            kept.shared.retain_mut(|shared| shared.is_alive(now));
            let unused = kept.idle.is_empty() && kept.by_hand.is_empty();
            !unused || !kept.shared.is_empty() || Arc::strong_count(&kept.opening) > 1
        });
    }

    /// A new connection, or one that somebody else opened in the meantime and that can be shared.
    pub async fn open(self: &Arc<Self>, way: Way<'_>) -> Result<(Sender, Lease), EgressReason> {
        let first = way.key(way.route.endpoints[0]);
        let opening = self.opening(&first);
        let _opening = match &opening {
            Some(opening) => Some(opening.lock().await),
            None => None,
        };
        if opening.is_some()
            && let Some(found) = self.reuse(way).await
        {
            return Ok(found);
        }
        let (sender, endpoint) = self.dialler.connect(way).await?;
        let key = Key { endpoint, ..first };
        let mut kept = self.kept();
        let slot = kept.entry(key.clone()).or_default();
        let stream = match &sender {
            Sender::Http1(_) | Sender::ByHand(_) => {
                slot.only_http1 = true;
                None
            }
            Sender::Http2(sender) => {
                let (sender, streams) = (sender.clone(), Arc::new(()));
                let shared =
                    Shared { sender, owner: way.owner, streams: streams.clone(), used: Instant::now() };
                slot.shared.push(shared);
                Some(streams)
            }
        };
        Ok((sender, Lease { pool: self.clone(), key, connection: None, stream }))
    }

    fn opening(&self, key: &Key) -> Option<Arc<tokio::sync::Mutex<()>>> {
        if key.wire == Wire::Http1 {
            return None;
        }
        let mut kept = self.kept();
        let slot = kept.entry(key.clone()).or_default();
        (!slot.only_http1).then(|| slot.opening.clone())
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<Key, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// The connection that was used last is the one that is most likely still open.
    fn take(&mut self, way: Way<'_>) -> Option<(Sender, Option<Arc<()>>)> {
        if let Some(shared) = self.shared.iter_mut().find_map(|shared| shared.with_room(way.owner)) {
            shared.used = Instant::now();
            return Some((Sender::Http2(shared.sender.clone()), Some(shared.streams.clone())));
        }
        // The library can take over any connection, and gives none back.
        let library = match way.reader {
            Reader::Library => take_recent(&mut self.idle).map(Sender::Http1),
            Reader::ByHand => None,
        };
        let sender = library.or_else(|| take_recent(&mut self.by_hand).map(Sender::ByHand))?;
        Some((sender, None))
    }
}

/// The one that was used last, unless even that is too old.
fn take_recent<T>(idle: &mut Vec<(T, Instant)>) -> Option<T> {
    let (connection, since) = idle.pop()?;
    if since.elapsed() >= LONGEST_IDLE {
        idle.clear();
        return None;
    }
    Some(connection)
}

fn keep<T>(idle: &mut Vec<(T, Instant)>, connection: T) {
    if idle.len() < MOST_IDLE {
        idle.push((connection, Instant::now()));
    }
}

impl Lease {
    /// The answer has begun: keeps the sending end until its body has ended.
    #[must_use]
    pub fn holding(mut self, connection: Option<Held>) -> Self {
        self.connection = connection;
        self
    }

    /// What the answer comes on, if it is alone there.
    pub fn connection(&mut self) -> Option<&mut Held> {
        self.connection.as_mut()
    }

    /// The connection itself, which will not come back.
    pub fn keep(self) -> Option<Held> {
        self.connection
    }

    /// The answer is complete. Whether the connection is ready for more shows when it is wanted.
    pub fn give_back(self) {
        let Some(connection) = self.connection else { return };
        let mut kept = self.pool.kept();
        let kept = kept.entry(self.key).or_default();
        match connection {
            Held::Library(connection) => keep(&mut kept.idle, connection),
            Held::ByHand(connection) => keep(&mut kept.by_hand, connection),
        }
    }
}
