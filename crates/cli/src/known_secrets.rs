//! The values that must not be seen in anything that is captured from a sandbox.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use cofferdam_policy::environment::{self, HostEnvironment, ProviderVariables, Request, Trust};
use cofferdam_policy::registry::Registry;
use cofferdam_secrets::redaction::{Patterns, Redactor, Replacement};
use cofferdam_secrets::{Origin, Secret};

use crate::failure::Failure;
use crate::secret_sources::SecretSources;

/// What to look for, shared by all streams.
#[derive(Clone)]
pub struct KnownSecrets {
    patterns: Arc<Patterns>,
    except: Arc<BTreeSet<Vec<u8>>>,
}

impl KnownSecrets {
    /// Every credential of a provider that can be read without asking anybody, and every variable of this process that
    /// is or looks like one. Where it stops: what a configured command would print is not known, because that
    /// command may ask a person for a password.
    pub fn load() -> Result<Self, Failure> {
        let sources = SecretSources::find()?;
        let mut named: Vec<(String, Arc<Secret>)> = Vec::new();
        for provider in sources.kept() {
            if matches!(
                sources.loader.locate(provider).origin,
                Origin::Command { .. } | Origin::Nowhere { .. }
            ) {
                continue;
            }
            if let Ok(loaded) = sources.loader.load(provider) {
                named.push((provider.name.to_string(), loaded.secret));
            }
        }
        let host = HostEnvironment::new(std::env::vars_os());
        let registry = Registry::new(Vec::new());
        let judged =
            environment::build(&host, &Request::plain(Trust::Unknown), &ProviderVariables::new(&registry));
        let variables: Vec<_> = judged
            .decisions
            .iter()
            .filter(|decision| decision.credential)
            .filter_map(|decision| {
                Some((decision.name.to_string_lossy().into_owned(), host.get(&decision.name)?))
            })
            .collect();
        let loaded = named.iter().map(|(name, secret)| (name.as_str(), secret.expose()));
        let variables = variables.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        // One that is too short to be looked for occurs by chance anyway.
        let (patterns, _) = Patterns::new(loaded.chain(variables));
        Ok(Self { patterns: Arc::new(patterns), except: Arc::default() })
    }

    /// Tokens stand for credentials and look like them; a script may say what it holds.
    pub fn leave<'a>(&mut self, tokens: impl Iterator<Item = &'a str>) {
        self.except = Arc::new(tokens.map(|token| token.as_bytes().to_vec()).collect());
    }

    pub fn redactor(&self) -> Redactor {
        Redactor::new(Arc::clone(&self.patterns), Replacement::Marker).with_shapes(Arc::clone(&self.except))
    }

    pub fn redacted(&self, text: &str) -> String {
        let mut redactor = self.redactor();
        let mut out = Vec::with_capacity(text.len());
        redactor.push_all(text.as_bytes(), &mut out);
        redactor.finish(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}
