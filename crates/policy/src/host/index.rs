//! Values found by host, at a cost that does not grow with their number.

use std::collections::HashMap;
use std::net::IpAddr;

use super::{Host, HostPattern};

/// A value for each host pattern. A look-up asks one table for the host itself and one for each name above
/// it, so it costs as many questions as the name has labels.
#[derive(Debug, Clone)]
pub struct HostIndex<T> {
    names: HashMap<Box<str>, T>,
    below: HashMap<Box<str>, T>,
    addresses: HashMap<IpAddr, T>,
}

impl<T> Default for HostIndex<T> {
    fn default() -> Self {
        Self { names: HashMap::new(), below: HashMap::new(), addresses: HashMap::new() }
    }
}

impl<T: Default> HostIndex<T> {
    /// The value of a pattern, made if there is none yet.
    pub fn entry(&mut self, pattern: &HostPattern) -> &mut T {
        match pattern {
            HostPattern::Exactly(Host::Name(name)) => self.names.entry(name.as_str().into()).or_default(),
            HostPattern::Exactly(Host::Address(address)) => self.addresses.entry(*address).or_default(),
            HostPattern::Below(name) => self.below.entry(name.as_str().into()).or_default(),
        }
    }
}

impl<T> HostIndex<T> {
    /// The values of all patterns that mean this host, the most exact first.
    pub fn matching<'i>(&'i self, host: &'i Host) -> impl Iterator<Item = &'i T> {
        let exact = match host {
            Host::Name(name) => self.names.get(name.as_str()),
            Host::Address(address) => self.addresses.get(address),
        };
        let parents = host.name().filter(|_| !self.below.is_empty());
        let above =
            parents.into_iter().flat_map(|name| name.parents().filter_map(|name| self.below.get(name)));
        exact.into_iter().chain(above)
    }
}
