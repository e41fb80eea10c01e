//! From a provider to its secret, once.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use cofferdam_policy::document::{SecretStores, locate};
use cofferdam_policy::environment::ChildEnvironment;
use cofferdam_policy::provider::{Provider, SecretSource};
use zeroize::Zeroizing;

use crate::document;
use crate::reference::{Origin, SecretRef};
use crate::secret::Secret;
use crate::source::{HostVariables, SourceError, read_command, read_dotenv, read_file};
use crate::stores;

/// What happens when a configured source gives no value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EnvironmentFallback {
    /// The provider has no secret, loudly.
    #[default]
    Refuse,
    /// The provider's variables are looked at instead (`allow_env_fallback`).
    Allow,
}

/// Reads secrets from their sources. No `Debug`: the environments hold credentials.
pub struct Loader {
    pub host: HostVariables,
    /// What the command of a source gets for an environment.
    pub command_environment: ChildEnvironment,
    /// Where a relative path of the configuration starts: the directory of the configuration.
    pub base: PathBuf,
    /// What `~` means.
    pub home: Option<PathBuf>,
    pub fallback: EnvironmentFallback,
    /// How the stores are reached.
    pub stores: SecretStores,
}

/// A secret, and where it was really found.
pub struct Loaded {
    pub secret: Arc<Secret>,
    pub reference: SecretRef,
    /// Why the configured source was passed over, if it was.
    pub fell_back: Option<SourceError>,
}

impl Loader {
    /// Where the secret of a provider would be read, without reading it.
    pub fn locate(&self, provider: &Provider) -> SecretRef {
        let origin = match &provider.secret {
            Some(source) => self.origin(source),
            None => match self.set_variable(provider) {
                Some(name) => Origin::Environment { name: name.to_owned() },
                None => Origin::Nowhere { variables: variables(provider) },
            },
        };
        SecretRef { provider: provider.name.to_string(), origin }
    }

    /// Reads the secret of a provider. A configured source that fails in any way (it cannot be read, it has
    /// nothing under that key, what it has cannot be used) is an error; the provider's variables are only
    /// looked at then if that was explicitly allowed.
    pub fn load(&self, provider: &Provider) -> Result<Loaded, Arc<LoadError>> {
        let reference = self.locate(provider);
        let cause = match self.read(provider) {
            Ok(secret) => return Ok(Loaded { secret: Arc::new(secret), reference, fell_back: None }),
            Err(cause) => cause,
        };
        if provider.secret.is_none() || self.fallback == EnvironmentFallback::Refuse {
            return Err(Arc::new(LoadError { reference, cause }));
        }
        match self.read_variables(provider) {
            Ok((name, secret)) => {
                let origin = Origin::Environment { name };
                let reference = SecretRef { origin, ..reference };
                Ok(Loaded { secret: Arc::new(secret), reference, fell_back: Some(cause) })
            }
            // What was configured is what has to be mended.
            Err(_) => Err(Arc::new(LoadError { reference, cause })),
        }
    }

    fn read(&self, provider: &Provider) -> Result<Secret, SourceError> {
        let bytes = match &provider.secret {
            None => return self.read_variables(provider).map(|(_, secret)| secret),
            Some(source) => match stores::read(self, source) {
                Some(stored) => stored?,
                None => self.read_source(source)?,
            },
        };
        document::check(provider.shape(), &bytes)?;
        Ok(Secret::take(bytes)?)
    }

    /// From a source that needs no credential itself.
    pub(crate) fn read_source(&self, source: &SecretSource) -> Result<Zeroizing<Vec<u8>>, SourceError> {
        match source {
            SecretSource::Env { name } => self.variable(name),
            SecretSource::Dotenv { file, key } => read_dotenv(&self.path(file)?, key),
            SecretSource::File { file, key } => read_file(&self.path(file)?, key.as_deref()),
            SecretSource::Command { argv, timeout, .. } => {
                read_command(argv, *timeout, &self.command_environment)
            }
            SecretSource::Bitwarden { .. }
            | SecretSource::OnePassword { .. }
            | SecretSource::Vault { .. }
            | SecretSource::Keyring { .. } => Err(SourceError::StoreInStore),
        }
    }

    fn read_variables(&self, provider: &Provider) -> Result<(String, Secret), SourceError> {
        let name = self
            .set_variable(provider)
            .ok_or_else(|| SourceError::NoVariableSet { names: variables(provider) })?;
        let bytes = document::from_variables(self, provider, name)?;
        document::check(provider.shape(), &bytes)?;
        Ok((name.to_owned(), Secret::take(bytes)?))
    }

    pub(crate) fn variable(&self, name: &str) -> Result<Zeroizing<Vec<u8>>, SourceError> {
        self.host.read(name).ok_or_else(|| SourceError::VariableNotSet { name: name.to_owned() })
    }

    fn set_variable<'a>(&self, provider: &'a Provider) -> Option<&'a str> {
        self.host.first_set(provider.variables.iter().map(AsRef::as_ref))
    }

    /// The file of a provider's source, if it has one.
    pub(crate) fn file(&self, provider: &Provider) -> Option<PathBuf> {
        match provider.secret.as_ref()? {
            SecretSource::Dotenv { file, .. } | SecretSource::File { file, .. } => self.path(file).ok(),
            _ => None,
        }
    }

    fn origin(&self, source: &SecretSource) -> Origin {
        let shown = |file: &str| self.path(file).unwrap_or_else(|_| PathBuf::from(file));
        match source {
            SecretSource::Env { name } => Origin::Environment { name: name.to_string() },
            SecretSource::Dotenv { file, key } => Origin::Dotenv { file: shown(file), key: key.to_string() },
            SecretSource::File { file, key } => {
                Origin::File { file: shown(file), key: key.as_ref().map(Cow::to_string) }
            }
            SecretSource::Command { argv, .. } => {
                Origin::Command { program: argv.first().map(Cow::to_string).unwrap_or_default() }
            }
            SecretSource::Bitwarden { id, .. } => Origin::Bitwarden { id: id.to_string() },
            SecretSource::OnePassword { reference, .. } => {
                Origin::OnePassword { reference: reference.to_string() }
            }
            SecretSource::Vault { path, key, .. } => {
                Origin::Vault { path: path.to_string(), key: key.to_string() }
            }
            SecretSource::Keyring { attributes, .. } => {
                let shown = attributes.iter().map(|(name, value)| format!("{name}={value}"));
                Origin::Keyring { attributes: shown.collect() }
            }
        }
    }

    pub(crate) fn path(&self, written: &str) -> Result<PathBuf, SourceError> {
        locate(written, &self.base, self.home.as_deref())
            .ok_or_else(|| SourceError::NoHome { path: written.to_owned() })
    }
}

fn variables(provider: &Provider) -> Vec<String> {
    provider.variables.iter().map(Cow::to_string).collect()
}

/// Why a provider has no secret.
#[derive(Debug)]
pub struct LoadError {
    pub reference: SecretRef,
    pub cause: SourceError,
}

impl LoadError {
    pub fn hint(&self) -> Option<String> {
        self.cause.hint()
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the secret of {} cannot be had: {}", self.reference.provider, self.cause)
    }
}

impl std::error::Error for LoadError {}

#[cfg(test)]
pub(crate) mod tests;
