//! What is allowed now, as one value that is swapped whole.

use std::sync::Arc;

use arc_swap::ArcSwap;
use cofferdam_audit::Label;
use cofferdam_policy::document::Egress;
use cofferdam_policy::host::{Host, HostIndex};
use cofferdam_policy::layers::{Grant, Layered, Reach};
use cofferdam_policy::provider::Provider;
use cofferdam_policy::registry::InUse;

use crate::stand_in::Locals;

/// A client's policy, which may be replaced while the client is served.
pub struct LivePolicy(ArcSwap<Policy>);

impl LivePolicy {
    pub fn new(policy: Policy) -> Self {
        Self(ArcSwap::from_pointee(policy))
    }

    /// The policy as it is now; a request keeps the one it was judged by.
    pub(crate) fn now(&self) -> Arc<Policy> {
        self.0.load_full()
    }

    /// Puts another policy in force for every request from now on. Those under way keep theirs.
    pub fn replace(&self, policy: Policy) {
        self.0.store(Arc::new(policy));
    }
}

/// The compiled policy of a client.
pub struct Policy {
    pub(crate) reach: Reach,
    pub(crate) egress: Egress,
    providers: Vec<Provider>,
    /// How the record names them, and the rules that come with them.
    names: Vec<Label>,
    rules: Vec<Label>,
    /// Places in `providers`.
    hosts: HostIndex<Vec<usize>>,
    /// What is answered for here and not passed on.
    pub(crate) locals: Locals,
}

impl Policy {
    /// `providers` are those in use: their hosts are allowed, and their credentials are put in.
    pub fn new(layered: &Layered, providers: Vec<Provider>) -> Self {
        let reach = layered.reach(&InUse::new(providers.iter().collect()).allow_rules());
        let mut hosts = HostIndex::<Vec<usize>>::default();
        for (index, provider) in providers.iter().enumerate() {
            provider.host_patterns().for_each(|pattern| hosts.entry(&pattern).push(index));
        }
        let locals = Locals::of(&providers);
        let rules =
            providers.iter().map(|provider| Label::new(format!("provider {}", provider.name))).collect();
        let names = providers.iter().map(|provider| Label::new(&*provider.name)).collect();
        Self { reach, egress: layered.config.egress.clone(), providers, names, rules, hosts, locals }
    }

    /// A rule as the record names it: a provider, or the user's rules and those that were typed, counted from one.
    pub(crate) fn name_of(&self, grant: Grant) -> Label {
        match grant {
            Grant::User { rule } => Label::new(format!("allow {}", rule + 1)),
            Grant::Run { rule } => match self.rules.get(rule) {
                Some(name) => name.clone(),
                None => Label::new(format!("run {}", rule + 1 - self.rules.len())),
            },
        }
    }

    /// A provider as the record names it.
    pub(crate) fn provider_name(&self, index: usize) -> Label {
        self.names[index].clone()
    }

    pub(crate) fn provider(&self, index: usize) -> &Provider {
        &self.providers[index]
    }

    /// The providers that have a credential for this host and port, by their place in the list.
    pub(crate) fn providers_at<'p>(&'p self, host: &'p Host, port: u16) -> impl Iterator<Item = usize> + 'p {
        let indices = self.hosts.matching(host).flatten().copied();
        indices.filter(move |index| self.providers[*index].ports.contains(&port))
    }
}
