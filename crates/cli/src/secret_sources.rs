//! Where the secrets of this user's providers come from.

use std::env;
use std::path::PathBuf;

use cofferdam_policy::document::Config;
use cofferdam_policy::environment::{self, HostEnvironment, ProviderVariables, Request, Trust};
use cofferdam_policy::mistake::{nearest, quoted};
use cofferdam_policy::provider::Provider;
use cofferdam_policy::registry::Registry;
use cofferdam_secrets::source::HostVariables;
use cofferdam_secrets::{EnvironmentFallback, Loader};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::places::Places;
use crate::settings::Settings;

/// All providers, and what reads their secrets.
pub struct SecretSources {
    pub loader: Loader,
    registry: Registry,
}

impl SecretSources {
    /// From the configuration and the environment of this process. No source is read.
    pub fn find() -> Result<Self, Failure> {
        let Settings { places, config } = Settings::load()?;
        Ok(Self::with(&places, &config, HostVariables::of_this_process()))
    }

    /// From a configuration, and variables that need not be those of this process.
    pub fn with(places: &Places, config: &Config, host: HostVariables) -> Self {
        let fallback = match config.egress.allow_env_fallback {
            true => EnvironmentFallback::Allow,
            false => EnvironmentFallback::Refuse,
        };
        let registry = Registry::new(config.providers.clone());
        // The programs that people keep passwords with are somebody else's, and find their own files by HOME;
        // with what a helper of ours gets they would find nothing. No credential is among it.
        let command_environment = {
            let host = HostEnvironment::new(env::vars_os());
            let request = Request::plain(Trust::Tool);
            environment::build(&host, &request, &ProviderVariables::new(&registry)).environment
        };
        let loader = Loader {
            host,
            command_environment,
            base: places.config.clone(),
            home: env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute()),
            fallback,
            stores: config.secrets.clone(),
        };
        Self { loader, registry }
    }

    /// The providers that have a secret: one is configured, or one of their variables is set.
    pub fn kept(&self) -> impl Iterator<Item = &Provider> {
        self.registry.iter().filter(|provider| {
            provider.secret.is_some() || provider.variables.iter().any(|name| self.loader.host.is_set(name))
        })
    }

    /// The variables in which clients of a provider look for its credential here: those that are set, or the first.
    pub fn variables_of(&self, provider: &Provider) -> Vec<String> {
        let set = provider.variables.iter().filter(|name| self.loader.host.is_set(name));
        let set: Vec<String> = set.map(ToString::to_string).collect();
        match set.is_empty() {
            true => provider.variables.first().map(ToString::to_string).into_iter().collect(),
            false => set,
        }
    }

    pub fn named(&self, name: &str) -> Result<&Provider, Failure> {
        if let Some(provider) = self.registry.by_name(name) {
            return Ok(provider);
        }
        let failure = Failure::new(Exit::Usage, format!("there is no provider {}", quoted(name)));
        Err(match nearest(name, self.registry.iter().map(|provider| provider.name.as_ref())) {
            Some(near) => failure.hint(format!("did you mean {near}?")),
            None => failure.hint("cofferdam secrets list shows the providers that have a secret"),
        })
    }
}
