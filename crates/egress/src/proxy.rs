//! The proxy as a library: give it what it needs, then listeners.

use std::fmt;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use cofferdam_audit::Recorder;
use cofferdam_secrets::Store;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;

use crate::ca::Authority;
use crate::client::Client;
use crate::credentials::Credentials;
use crate::dial::Dialler;
use crate::engine::Engine;
use crate::leaf::Leaves;
use crate::ledger::Ledger;
use crate::policy::Policy;
use crate::pool::Pool;
use crate::resolve::Names;
use crate::serve;
use crate::tokens::Tokens;

/// How often what is kept for later is looked through.
const SWEEP: Duration = Duration::from_secs(10);

/// What a proxy is made of.
pub struct Parts {
    pub policy: Policy,
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
}

/// Why a proxy cannot start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// An authority for upstreams that is none.
    UpstreamAuthority(rustls::Error),
    /// The kernel gave no key.
    LeafKey,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UpstreamAuthority(error) => {
                write!(f, "a certificate of upstream_ca_files cannot be used: {error}")
            }
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
            policy: ArcSwap::from_pointee(parts.policy),
            tokens: Tokens::default(),
            credentials: Credentials::new(parts.secrets),
            leaves: Leaves::new(parts.authority, provider).map_err(|_| StartError::LeafKey)?,
            names: Names::new(),
            pool: Arc::new(Pool::new(dialler)),
            ledger: Arc::new(Ledger::new(parts.recorder)),
        };
        Ok(Self { engine: Arc::new(engine) })
    }

    /// The tokens that this proxy accepts.
    pub fn tokens(&self) -> &Tokens {
        &self.engine.tokens
    }

    /// Puts another policy in force for every request from now on. Those under way keep theirs.
    pub fn replace_policy(&self, policy: Policy) {
        self.engine.policy.store(Arc::new(policy));
    }

    /// Accepts connections for ever; the listener they arrive on is who they are. It may be a descriptor that was
    /// handed over from elsewhere. Ends with the future.
    pub async fn serve(&self, listener: TcpListener, client: Client) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let client = Arc::new(client);
        tokio::select! {
            () = self.accept(listener, client) => {}
            () = self.engine.ledger.tend() => {}
            () = self.sweep() => {}
        }
        Ok(())
    }

    /// Connections to upstreams that nobody uses any more are closed, also when nothing happens.
    async fn sweep(&self) {
        loop {
            tokio::time::sleep(SWEEP).await;
            self.engine.pool.sweep();
        }
    }

    async fn accept(&self, listener: tokio::net::TcpListener, client: Arc<Client>) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    tokio::spawn(serve::connection(self.engine.clone(), client.clone(), stream));
                }
                // Out of descriptors, or a client that left before it was accepted: neither ends the service.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }
}
