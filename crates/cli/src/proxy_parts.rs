//! What a proxy is made of, from the configuration and the values of an environment: the embedded one of a run and the
//! daemon's are made the same way.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cofferdam_audit::{OnWriteFailure, Recorder, Settings as RecordSettings};
use cofferdam_egress::service::{Base, Covered};
use cofferdam_egress::upstream_ca::{self, UpstreamAuthority};
use cofferdam_egress::{Authority, Parts, Proxy};
use cofferdam_policy::document::{self, Config, locate};
use cofferdam_policy::layers::Layered;
use cofferdam_policy::registry::Registry;
use cofferdam_secrets::Store;
use cofferdam_secrets::source::HostVariables;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::places::Places;
use crate::secret_sources::SecretSources;

/// Everything but the authority and the record.
pub struct ProxyParts {
    pub base: Base,
    pub store: Store,
    upstream_ca_files: Vec<PathBuf>,
}

impl ProxyParts {
    /// No source is read.
    pub fn of(places: &Places, config: Config, host: HostVariables) -> Result<Self, Failure> {
        let sources = SecretSources::with(places, &config, host);
        // One without hosts cannot be served.
        let with_hosts = sources.kept().filter(|provider| !provider.hosts.is_empty());
        let covered: Vec<Covered> = with_hosts
            .map(|provider| Covered { provider: provider.clone(), variables: sources.variables_of(provider) })
            .collect();
        let home = sources.loader.home.clone();
        let located = config.egress.upstream_ca_files.iter().map(|file| {
            locate(file, &places.config, home.as_deref()).ok_or_else(|| {
                Failure::new(Exit::Config, format!("{file} is beside a home that is not known"))
                    .hint("write the path from / on")
            })
        });
        let upstream_ca_files = located.collect::<Result<_, _>>()?;
        let store = Store::new(sources.loader, covered.iter().map(|covered| covered.provider.clone()));
        Ok(Self {
            base: Base { layered: Layered::new(config), providers: covered },
            store,
            upstream_ca_files,
        })
    }

    /// A proxy of these parts, and what its clients begin with.
    pub fn into_proxy(
        self,
        authority: Arc<Authority>,
        recorder: Arc<Recorder>,
    ) -> Result<(Proxy, Base), Failure> {
        let mut upstream_authorities = Vec::new();
        for file in &self.upstream_ca_files {
            upstream_authorities.extend(read_certificates(file)?);
        }
        let parts = Parts { authority, secrets: self.store, recorder, upstream_authorities };
        let proxy = Proxy::new(parts).map_err(|error| Failure::new(Exit::Unavailable, error.to_string()))?;
        Ok((proxy, self.base))
    }
}

/// The authority of this user, made where there is none.
pub fn authority(places: &Places) -> Result<Arc<Authority>, Failure> {
    let authority = Authority::load_or_create(&places.authority());
    authority
        .map(Arc::new)
        .map_err(|error| Failure::new(Exit::Unavailable, error.to_string()).hint(error.hint()))
}

/// The record, as the configuration wants it to be written.
pub fn recorder(places: &Places, config: &Config) -> Result<Arc<Recorder>, Failure> {
    let on_write_failure = match config.audit.on_write_failure {
        document::OnWriteFailure::Refuse => OnWriteFailure::Refuse,
        document::OnWriteFailure::Continue => OnWriteFailure::Continue,
    };
    let settings = RecordSettings { on_write_failure, ..RecordSettings::default() };
    Ok(Arc::new(Recorder::open(&places.audit(), settings)?))
}

fn read_certificates(file: &Path) -> Result<Vec<UpstreamAuthority>, Failure> {
    let pem = fs::read(file).map_err(|error| {
        Failure::new(Exit::Config, format!("cannot read {}: {error}", file.display()))
            .hint("upstream_ca_files in the section [egress] names it")
    })?;
    upstream_ca::certificates(&pem).ok_or_else(|| {
        Failure::new(Exit::Config, format!("{} holds no certificate in PEM", file.display()))
            .hint("upstream_ca_files in the section [egress] names it")
    })
}

/// All providers there are: the user's own and the built-in ones.
pub fn registry(config: &Config) -> Registry {
    Registry::new(config.providers.clone())
}
