//! The proxy as a library: give it what it needs, then listeners.

use std::fmt;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cofferdam_audit::Recorder;
use cofferdam_audit::event::EgressReason;
use cofferdam_linux_sys::sock_diag::SocketTable;
use cofferdam_secrets::Store;
use rustix::net::{SocketFlags, sockopt};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use tokio::io::Interest;
use tokio::task::{JoinHandle, JoinSet};

use crate::ca::Authority;
use crate::client::{Client, Door};
use crate::counts::Counts;
use crate::credentials::Credentials;
use crate::dial::Dialler;
use crate::engine::Engine;
use crate::leaf::Leaves;
use crate::limits::{Connected, Crowd};
use crate::mint::Mints;
use crate::peer;
use crate::resolve::Names;
use crate::serve;
use crate::shard::{Places, Seat, Shards};
use crate::stand_in::StandInKey;
use crate::tokens::Tokens;

/// What a proxy is made of.
pub struct Parts {
    pub authority: Arc<Authority>,
    pub secrets: Store,
    pub recorder: Arc<Recorder>,
    /// Authorities that upstreams may have besides the system's (`upstream_ca_files`).
    pub upstream_authorities: Vec<CertificateDer<'static>>,
}

/// A running proxy; copies are the same one.
#[derive(Clone)]
pub struct Proxy {
    engine: Arc<Engine>,
    shards: Arc<Shards>,
}

/// Why a proxy cannot start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// An authority for upstreams that is none.
    UpstreamAuthority(rustls::Error),
    /// The kernel gave no key.
    LeafKey,
    /// The kernel gave no thread.
    Threads(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UpstreamAuthority(error) => {
                write!(f, "a certificate of upstream_ca_files cannot be used: {error}")
            }
            Self::Threads(error) => write!(f, "no threads can be started: {error}"),
            Self::LeafKey => f.write_str("no key for certificates can be made"),
        }
    }
}

impl std::error::Error for StartError {}

impl Proxy {
    pub fn new(parts: Parts) -> Result<Self, StartError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let dialler = Dialler::new(provider.clone(), parts.upstream_authorities)
            .map_err(StartError::UpstreamAuthority)?;
        let engine = Engine {
            tokens: Tokens::default(),
            credentials: Credentials::new(parts.secrets),
            mints: Mints::default(),
            stand_in_key: StandInKey::default(),
            leaves: Leaves::new(parts.authority, provider).map_err(|_| StartError::LeafKey)?,
            names: Names::default(),
            recorder: parts.recorder,
            counts: Arc::default(),
            sockets: OnceLock::new(),
        };
        let engine = Arc::new(engine);
        let shards = Shards::start(&engine, &Arc::new(dialler)).map_err(StartError::Threads)?;
        Ok(Self { engine, shards: Arc::new(shards) })
    }

    /// What this proxy has decided so far.
    pub fn counts(&self) -> &Counts {
        &self.engine.counts
    }

    /// How many decisions are not on record: those that were refused for that, and those that were let go on.
    pub fn unrecorded(&self) -> u64 {
        self.engine.counts.unrecorded() + self.engine.recorder.lost()
    }

    /// Shows certificates of another authority from now on; false if there is no key for them.
    pub fn replace_authority(&self, authority: Arc<Authority>) -> bool {
        self.engine.leaves.replace_authority(authority).is_ok()
    }

    /// The tokens that this proxy accepts.
    pub fn tokens(&self) -> &Tokens {
        &self.engine.tokens
    }

    pub(crate) fn stand_in_key(&self) -> &StandInKey {
        &self.engine.stand_in_key
    }

    /// Asks the kernel through this whose a connection is, because we could not ask by ourselves; to be said before
    /// the first one.
    pub fn ask_through(&self, sockets: SocketTable) {
        // Somebody said so before, and is asked.
        let _ = self.engine.sockets.set(Some(sockets));
    }

    /// Takes credentials from elsewhere from now on. What was read before is still looked for in answers.
    pub fn replace_secrets(&self, secrets: Store) {
        self.engine.credentials.replace(secrets);
    }

    /// Puts the ends of requests on record that wait for company there.
    pub fn flush(&self) {
        self.shards.flush();
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Accepts connections for ever; the listener they arrive on is who they are. It may be a descriptor that was
    /// handed over from elsewhere. All connections end with the future.
    pub async fn serve(&self, listener: TcpListener, client: Client) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        // Those that are accepted have it from their listener. What is written is whole; to wait for more would only
        // delay it.
        let _ = sockopt::set_tcp_nodelay(&listener, true);
        let accepting = accept(listener, Arc::new(client), self.shards.places());
        // On a thread that moves bytes: there a connection needs nobody to hand it over.
        let mut accepting = Ends(self.shards.for_listener().spawn(accepting));
        (&mut accepting.0).await.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

/// A task that ends with this value.
struct Ends<T>(JoinHandle<T>);

impl<T> Drop for Ends<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn accept(listener: TcpListener, client: Arc<Client>, places: Arc<Places>) -> io::Result<()> {
    // By hand, because the runtime's own listener would register every connection with the thread that accepts it. What can
    // be waited for without it is a stream, and to the runtime they are the same.
    let listener = tokio::net::TcpStream::from_std(TcpStream::from(OwnedFd::from(listener)))?;
    let mut connections = JoinSet::new();
    loop {
        let accepted = listener.async_io(Interest::READABLE, || {
            Ok(rustix::net::accept_with(&listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?)
        });
        match accepted.await {
            Ok(stream) => {
                while connections.try_join_next().is_some() {}
                let connected = Connected::new(&client);
                if connected.crowd == Crowd::FarTooMany {
                    continue;
                }
                let (seat, runtime) = places.seat();
                let connection = connection((seat, connected), client.clone(), TcpStream::from(stream));
                connections.spawn_on(connection, runtime);
            }
            // Out of descriptors, or a client that left before it was accepted: neither ends the service.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn connection((seat, connected): (Seat, Connected), client: Arc<Client>, stream: TcpStream) {
    let refused = match connected.crowd {
        Crowd::TooMany | Crowd::FarTooMany => EgressReason::ConcurrencyLimited,
        Crowd::Fits
            if client.door == Door::Shared && !peer::may_knock(&stream, seat.shard.engine.sockets()) =>
        {
            EgressReason::ClientUnidentified
        }
        Crowd::Fits => return serve::connection(seat.shard.clone(), client, stream).await,
    };
    serve::turn_away(&seat.shard, (&client, stream), refused).await;
}
