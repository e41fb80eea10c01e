//! Which variable belongs to which provider.

use crate::provider::Provider;

/// What a variable of a provider holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holds {
    Credential,
    BaseUrl,
}

/// The variables of all providers, built-in and configured, in an order that can be searched. One variable may
/// belong to several providers: a GitHub token is used for three things.
pub struct ProviderVariables<'a> {
    rows: Vec<(&'a str, Holds, &'a str)>,
}

impl<'a> ProviderVariables<'a> {
    pub fn new(providers: impl IntoIterator<Item = &'a Provider>) -> Self {
        let mut rows = Vec::new();
        for provider in providers {
            let name = provider.name.as_ref();
            rows.extend(
                provider.variables.iter().map(|variable| (variable.as_ref(), Holds::Credential, name)),
            );
            rows.extend(provider.base_urls.iter().map(|variable| (variable.as_ref(), Holds::BaseUrl, name)));
        }
        // Stable and by variable alone: within one variable the registry's order says who is named first.
        rows.sort_by_key(|&(variable, ..)| variable);
        Self { rows }
    }

    /// The providers that name this variable.
    pub fn naming(&self, variable: &str) -> impl Iterator<Item = (&'a str, Holds)> + use<'a, '_> {
        let start = self.rows.partition_point(|&(name, ..)| name < variable);
        let end = start + self.rows[start..].partition_point(|&(name, ..)| name == variable);
        self.rows[start..end].iter().map(|&(_, holds, provider)| (provider, holds))
    }
}
