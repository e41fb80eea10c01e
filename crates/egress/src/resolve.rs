//! From an allowed target to the addresses that may be dialled for it.
//!
//! Only a target that was allowed comes here, so that a refused name causes no lookup. Every answer is classified,
//! and what is returned is the proof of that for each address: the very address that was looked at is dialled, so
//! that a name which means something else a moment later changes nothing.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use cofferdam_audit::event::EgressReason;
use cofferdam_policy::address::CheckedAddress;
use cofferdam_policy::document::Egress;
use cofferdam_policy::host::{Host, HostName};
use hickory_resolver::TokioResolver;

use crate::authorize::{Authorized, Minting};
use crate::target::Target;

const LONGEST_LIFE: Duration = Duration::from_secs(60);
const SHORTEST_LIFE: Duration = Duration::from_secs(1);
const CAPACITY: usize = 4096;
/// A name with more addresses than this has them for other purposes than being reached.
const MOST_ADDRESSES: usize = 32;

/// An address that was looked at, and the port to dial there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Endpoint {
    address: CheckedAddress,
    port: u16,
}

impl Endpoint {
    pub fn socket(self) -> SocketAddr {
        SocketAddr::new(self.address.get(), self.port)
    }
}

/// Where to connect to for a request.
#[derive(Debug)]
pub(crate) struct Route {
    /// At least one.
    pub endpoints: Vec<Endpoint>,
    pub through: Through,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Through {
    /// The endpoints are the target's.
    Nothing,
    /// The endpoints are those of the proxy that the user configured, which looks names up itself.
    Proxy,
}

#[derive(Default)]
pub(crate) struct Names {
    /// Made for the first name that has to be asked for: the system's files are read for it, and a proxy may never need
    /// them. Where they say nothing the next name looks again; names that the user maps work without.
    resolver: OnceLock<TokioResolver>,
    answers: Mutex<HashMap<HostName, Answer>>,
}

#[derive(Clone)]
struct Answer {
    addresses: Arc<[IpAddr]>,
    until: Instant,
}

impl Names {
    /// The endpoints of a request's target, at least one.
    pub async fn route(&self, authorized: &Authorized) -> Result<Route, EgressReason> {
        self.checked(&authorized.policy().egress, authorized.target()).await
    }

    /// The endpoints of a token server, at least one; looked at like those of any request.
    pub async fn route_to_mint(&self, minting: &Minting) -> Result<Route, EgressReason> {
        self.checked(&minting.policy().egress, minting.target()).await
    }

    async fn checked(&self, egress: &Egress, target: &Target) -> Result<Route, EgressReason> {
        let port = target.port();
        if let Some((address, port)) = egress.resolve.get(target.host(), port) {
            return Ok(Route { endpoints: vec![Endpoint { address, port }], through: Through::Nothing });
        }
        if let Some((host, port)) = &egress.upstream_proxy {
            return Box::pin(self.through(egress, target, (host, *port))).await;
        }
        let addresses = match target.host() {
            Host::Address(address) => Arc::from([*address]),
            Host::Name(name) => Box::pin(self.lookup(name)).await?,
        };
        let checked = addresses.iter().filter_map(|address| egress.deny.check(*address).ok());
        let endpoints: Vec<_> = checked.map(|address| Endpoint { address, port }).collect();
        match endpoints.is_empty() {
            true => Err(EgressReason::AddressDenied),
            false => Ok(Route { endpoints, through: Through::Nothing }),
        }
    }

    /// A name's addresses are the other proxy's to judge; an address is still ours.
    async fn through(
        &self,
        egress: &Egress,
        target: &Target,
        (host, port): (&Host, u16),
    ) -> Result<Route, EgressReason> {
        if let Host::Address(address) = target.host() {
            egress.deny.check(*address).map_err(|_| EgressReason::AddressDenied)?;
        }
        let addresses = match host {
            Host::Address(address) => Arc::from([*address]),
            Host::Name(name) => self.lookup(name).await.map_err(|_| EgressReason::UpstreamProxyFailed)?,
        };
        let written = addresses.iter().filter_map(|address| egress.at_upstream_proxy(*address));
        let endpoints = written.map(|address| Endpoint { address, port }).collect();
        Ok(Route { endpoints, through: Through::Proxy })
    }

    async fn lookup(&self, name: &HostName) -> Result<Arc<[IpAddr]>, EgressReason> {
        let now = Instant::now();
        let known = self.answers.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        if let Some(answer) = known.filter(|answer| answer.until > now) {
            return Ok(answer.addresses);
        }
        let resolver = self.resolver().ok_or(EgressReason::ResolverFailed)?;
        // With the dot of the root, so that no search domain is tried: that would be another name.
        let found = resolver.lookup_ip(format!("{}.", name.as_str())).await.map_err(|error| {
            match error.is_nx_domain() || error.is_no_records_found() {
                true => EgressReason::NameNotFound,
                false => EgressReason::ResolverFailed,
            }
        })?;
        let life = found.valid_until().saturating_duration_since(now).clamp(SHORTEST_LIFE, LONGEST_LIFE);
        let addresses: Arc<[IpAddr]> = found.iter().take(MOST_ADDRESSES).collect();
        self.remember(name, Answer { addresses: addresses.clone(), until: now + life });
        Ok(addresses)
    }

    fn resolver(&self) -> Option<&TokioResolver> {
        if let Some(resolver) = self.resolver.get() {
            return Some(resolver);
        }
        let made = TokioResolver::builder_tokio().ok()?.build().ok()?;
        Some(self.resolver.get_or_init(|| made))
    }

    fn remember(&self, name: &HostName, answer: Answer) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= CAPACITY {
            let now = Instant::now();
            answers.retain(|_, answer| answer.until > now);
        }
        if answers.len() < CAPACITY {
            answers.insert(name.clone(), answer);
        }
    }
}
