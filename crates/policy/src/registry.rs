//! The providers: those that are built in, and the user's own.

use std::borrow::Cow;

use crate::host::{Host, HostIndex};
use crate::provider::{Alphabet, BasicPart, Checked, Grant, Kind, Provider, Scheme, TokenForm};
use crate::rules::AllowRule;

/// Written by the build script from `registry/*.toml`.
mod generated {
    use super::{Alphabet, BasicPart, Checked, Cow, Grant, Kind, Provider, Scheme, TokenForm};
    include!(concat!(env!("OUT_DIR"), "/registry.rs"));
}

/// All built-in providers, sorted by name. Static data: nothing is parsed or allocated at start.
pub fn built_in() -> &'static [Provider] {
    generated::BUILT_IN
}

/// The built-in providers and the user's own, where one of the user's hides the built-in one of its name.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    own: Vec<Provider>,
}

impl Registry {
    pub fn new(own: Vec<Provider>) -> Self {
        Self { own }
    }

    /// Every provider, the user's first.
    pub fn iter(&self) -> impl Iterator<Item = &Provider> {
        self.own.iter().chain(built_in().iter().filter(|provider| !self.hides(provider)))
    }

    pub fn by_name(&self, name: &str) -> Option<&Provider> {
        self.own.iter().find(|provider| provider.name == name).or_else(|| {
            let at = built_in().binary_search_by(|provider| (*provider.name).cmp(name)).ok()?;
            Some(&built_in()[at])
        })
    }

    /// The providers whose credential a variable holds; several may share one.
    pub fn by_variable<'r>(&'r self, variable: &'r str) -> impl Iterator<Item = &'r Provider> {
        let own =
            self.own.iter().filter(move |provider| provider.variables.iter().any(|name| name == variable));
        let table = generated::BY_VARIABLE;
        let indices = match table.binary_search_by(|(name, _)| (*name).cmp(variable)) {
            Ok(at) => table[at].1,
            Err(_) => &[],
        };
        let built_in = indices.iter().map(|index| &built_in()[usize::from(*index)]);
        own.chain(built_in.filter(|provider| !self.hides(provider)))
    }

    fn hides(&self, built_in: &Provider) -> bool {
        self.own.iter().any(|own| own.name == built_in.name)
    }
}

/// The providers that a sandbox uses, found by host.
#[derive(Debug, Clone, Default)]
pub struct InUse<'r> {
    providers: Vec<&'r Provider>,
    hosts: HostIndex<Vec<usize>>,
}

impl<'r> InUse<'r> {
    pub fn new(providers: Vec<&'r Provider>) -> Self {
        let mut hosts = HostIndex::<Vec<usize>>::default();
        for (index, provider) in providers.iter().enumerate() {
            for pattern in provider.host_patterns() {
                hosts.entry(&pattern).push(index);
            }
        }
        Self { providers, hosts }
    }

    /// The providers that have a credential for this host and port.
    pub fn at<'i>(&'i self, host: &'i Host, port: u16) -> impl Iterator<Item = &'r Provider> + 'i {
        let indices = self.hosts.matching(host).flatten();
        indices.map(|index| self.providers[*index]).filter(move |provider| provider.ports.contains(&port))
    }

    /// Every two providers that a request could be meant for at once.
    pub fn collisions(&self) -> Vec<(&'r Provider, &'r Provider)> {
        let pairs = self.providers.iter().enumerate().flat_map(|(index, provider)| {
            self.providers[index + 1..].iter().map(move |other| (*provider, *other))
        });
        pairs.filter(|(provider, other)| provider.collides(other)).collect()
    }

    /// What being in use allows: every method and path at the providers' hosts and ports.
    pub fn allow_rules(&self) -> Vec<AllowRule> {
        self.providers
            .iter()
            .map(|provider| AllowRule {
                hosts: provider.host_patterns().map(|pattern| (pattern, None)).collect(),
                ports: provider.ports.to_vec(),
                methods: Vec::new(),
                paths: Vec::new(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Config, parse_registry};

    const FILES: [(&str, &str); 5] = [
        ("cloud.toml", include_str!("../registry/cloud.toml")),
        ("code.toml", include_str!("../registry/code.toml")),
        ("messaging.toml", include_str!("../registry/messaging.toml")),
        ("models.toml", include_str!("../registry/models.toml")),
        ("tools.toml", include_str!("../registry/tools.toml")),
    ];

    #[test]
    fn the_static_table_is_what_the_files_say() {
        let mut read: Vec<Provider> =
            FILES.iter().flat_map(|(name, text)| parse_registry(name, text).expect(name)).collect();
        read.sort_by(|left, right| left.name.cmp(&right.name));
        assert_eq!(read, built_in());
        assert!(built_in().is_sorted_by(|left, right| left.name < right.name));
    }

    #[test]
    fn providers_are_found_by_name_and_by_variable() {
        let registry = Registry::default();
        for provider in built_in() {
            assert_eq!(registry.by_name(&provider.name), Some(provider));
            for variable in provider.variables.iter() {
                assert!(registry.by_variable(variable).any(|found| found == provider), "{variable}");
            }
        }
        assert_eq!(registry.by_name("nobody"), None);
        assert_eq!(registry.by_variable("NOBODY_KEY").count(), 0);
        assert_eq!(registry.iter().count(), built_in().len());
    }

    #[test]
    fn a_provider_of_the_users_hides_the_built_in_one_of_its_name() {
        let text = "[[provider]]\nname = \"telegram\"\nhosts = [\"chat.example\"]\nvariables = [\"CHAT_TOKEN\"]\nscheme = { query = \"t\" }";
        let registry = Registry::new(Config::parse("config.toml", text).unwrap().providers);
        assert_eq!(registry.by_name("telegram").map(|provider| &*provider.hosts[0]), Some("chat.example"));
        assert_eq!(registry.by_variable("TELEGRAM_BOT_TOKEN").count(), 0);
        assert_eq!(registry.by_variable("CHAT_TOKEN").count(), 1);
        assert_eq!(registry.iter().count(), built_in().len());
    }

    #[test]
    fn providers_in_use_are_found_by_host_and_port() {
        let registry = Registry::default();
        let in_use = InUse::new(["telegram", "github"].map(|name| registry.by_name(name).unwrap()).into());
        let host = Host::parse("API.telegram.org").unwrap();
        assert_eq!(in_use.at(&host, 443).map(|provider| &*provider.name).collect::<Vec<_>>(), ["telegram"]);
        assert_eq!(in_use.at(&host, 80).count(), 0);
        assert_eq!(in_use.at(&Host::parse("telegram.org").unwrap(), 443).count(), 0);
        assert!(in_use.collisions().is_empty());
        let both = ["github", "github-app"].map(|name| registry.by_name(name).unwrap());
        assert_eq!(InUse::new(both.into()).collisions().len(), 1);
    }
}
