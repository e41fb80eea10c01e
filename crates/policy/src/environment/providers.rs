//! Which variable belongs to which provider.

use crate::provider::Provider;
use crate::registry::Registry;

/// What a variable of a provider holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    Credential,
    BaseUrl,
}

/// The variables of all providers, built-in and configured. One variable may belong to several: a GitHub token
/// is used for three things.
pub struct ProviderVariables<'r> {
    registry: &'r Registry,
    /// Sorted. There are few of these, so they have no table of their own in the registry.
    base_urls: Vec<(&'r str, &'r str)>,
}

impl<'r> ProviderVariables<'r> {
    pub fn new(registry: &'r Registry) -> Self {
        let named = |provider: &'r Provider| {
            provider.base_urls.iter().map(|variable| (variable.as_ref(), provider.name.as_ref()))
        };
        let mut base_urls: Vec<_> = registry.iter().flat_map(named).collect();
        // Stable: within one variable the registry's order says who is named first.
        base_urls.sort_by_key(|&(variable, _)| variable);
        Self { registry, base_urls }
    }

    /// The providers that name this variable, those whose credential it holds first.
    pub fn naming<'v>(&'v self, variable: &'v str) -> impl Iterator<Item = (&'v str, Holds)> {
        let start = self.base_urls.partition_point(|&(name, _)| name < variable);
        let base_urls = self.base_urls[start..].iter().take_while(move |&&(name, _)| name == variable);
        let credentials = self.registry.by_variable(variable);
        credentials
            .map(|provider| (provider.name.as_ref(), Holds::Credential))
            .chain(base_urls.map(|&(_, provider)| (provider, Holds::BaseUrl)))
    }
}
