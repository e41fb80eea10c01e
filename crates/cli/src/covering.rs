//! Which of the providers with a secret a proxy stands in for, and in which variables their tokens go.

use cofferdam_egress::service::Covered;
use cofferdam_policy::provider::{Kind, Provider};

use crate::secret_sources::SecretSources;

/// Of the wanted providers, those that a proxy can serve side by side. One without hosts cannot be served.
pub fn covered(sources: &SecretSources, wanted: impl Fn(&Provider) -> bool) -> Vec<Covered> {
    let with_hosts = sources.kept().filter(|provider| !provider.hosts.is_empty());
    let mut kept: Vec<&Provider> = with_hosts.filter(|provider| wanted(provider)).collect();
    // Of two that a request could be meant for at once, by the same variable, the first one stays: a code host
    // before the model that it also sells.
    kept.sort_by_key(|provider| provider.kind != Kind::Code);
    let mut covered: Vec<Covered> = Vec::new();
    for provider in kept {
        let variables = sources.variables_of(provider);
        let same = |other: &Covered| {
            other.provider.collides(provider) && other.variables.iter().any(|name| variables.contains(name))
        };
        if !covered.iter().any(same) {
            covered.push(Covered { provider: provider.clone(), variables });
        }
    }
    covered
}
