//! The way out of a sandbox: the daemon where one runs, or else a proxy in this process, takes the sandbox's listeners
//! for as long as it lives.
//!
//! It comes after the sandbox has begun, because that begins as a copy of this process, and before anything is started
//! in it. What cannot be had (a record, an authority, a configuration) is a reason not to start.

mod daemon;
mod tally;
mod variables;

use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cofferdam_audit::{Label, OnWriteFailure, Recorder, Settings as RecordSettings};
use cofferdam_control::connection::Connection;
use cofferdam_control::messages::egress::{HandedFile, HandedToken, Opened};
use cofferdam_egress::service::{Base, Covered, Listeners, Opening, Service, Wanted};
use cofferdam_egress::upstream_ca::{self, UpstreamAuthority};
use cofferdam_egress::{Authority, ClientId, Parts, Proxy, StandInFile, Token};
use cofferdam_policy::document::{self, Config, Project};
use cofferdam_policy::layers::Layered;
use cofferdam_policy::provider::{Kind, Provider};
use cofferdam_policy::rules::AllowRule;
use cofferdam_sandbox::doors::{self, Door};
use cofferdam_sandbox::launch::Doors;
use cofferdam_sandbox::request::Trust;
use cofferdam_sandbox::text::Text;
use cofferdam_secrets::{Loader, Store};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::places::Places;
use crate::secret_sources::SecretSources;
pub use tally::{Tally, Telling};

/// Where the sandbox has files of ours.
const FILES: &str = "/etc/cofferdam";

/// What one sandbox is to reach.
pub struct Wish<'a> {
    pub places: &'a Places,
    pub config: &'a Config,
    pub project: Option<&'a Project>,
    pub allow: &'a [AllowRule],
    /// The same as it was typed, and the text of the project's file: what a daemon is told.
    pub typed: &'a [String],
    pub project_text: Option<String>,
    /// Somebody wants to know what was asked for, or gets a real key: the daemon is not asked then.
    pub embedded: bool,
    /// None: every provider that a credential is known for.
    pub providers: &'a [String],
    /// Providers whose real credential the command gets; they need no token.
    pub inherited: &'a [String],
    pub session: Label,
    pub telling: Telling,
}

/// A proxy that serves one sandbox.
pub struct Outlet {
    way: Way,
    tokens: Vec<(String, HandedToken)>,
    files: Vec<HandedFile>,
    pub providers: Vec<Provider>,
    /// In PEM.
    authorities: String,
    pub recorder: Arc<Recorder>,
    pub tally: Arc<Tally>,
    pub session: Label,
    /// Whether the authority was made just now.
    pub first: bool,
}

/// Who serves.
enum Way {
    /// The fields in the order in which they end.
    Embedded { service: Box<Service>, id: ClientId, _runtime: tokio::runtime::Runtime },
    /// The client ends with the connection.
    Daemon(Connection),
}

impl Outlet {
    pub fn open(wish: &Wish<'_>, sources: SecretSources) -> Result<Self, Failure> {
        let recorder = Arc::new(recorder(wish)?);
        if !wish.embedded
            && let Some((connection, opened)) = daemon::open(wish)?
        {
            return Ok(Self::of_daemon(wish, &sources, recorder, (connection, opened)));
        }
        Self::embed(wish, sources, recorder)
    }

    fn of_daemon(
        wish: &Wish<'_>,
        sources: &SecretSources,
        recorder: Arc<Recorder>,
        (connection, opened): (Connection, Opened),
    ) -> Self {
        let providers = opened.providers.iter().filter_map(|name| sources.named(name).ok().cloned());
        Self {
            way: Way::Daemon(connection),
            providers: providers.collect(),
            tokens: opened.tokens,
            files: opened.files,
            authorities: opened.authorities,
            recorder,
            tally: Arc::new(Tally::new(wish.telling)),
            session: wish.session.clone(),
            first: false,
        }
    }

    fn embed(wish: &Wish<'_>, sources: SecretSources, recorder: Arc<Recorder>) -> Result<Self, Failure> {
        let first = !wish.places.authority().join("ca.key").exists();
        let authority = Authority::load_or_create(&wish.places.authority())
            .map_err(|error| Failure::new(Exit::NotStarted, error.to_string()).hint(error.hint()))?;
        let authority = Arc::new(authority);
        let covered = covered(wish, &sources)?;
        let upstream_authorities = upstream_authorities(wish.config, &sources.loader)?;
        let runtime = runtime()?;
        let entered = runtime.enter();
        let proxy = Proxy::new(Parts {
            authority: authority.clone(),
            secrets: Store::new(sources.loader, covered.iter().map(|covered| covered.provider.clone())),
            recorder: recorder.clone(),
            upstream_authorities,
        })
        .map_err(|error| Failure::new(Exit::NotStarted, error.to_string()))?;
        drop(entered);
        let providers: Vec<Provider> = covered.iter().map(|covered| covered.provider.clone()).collect();
        let base = Base { layered: Layered::new(wish.config.clone()), providers: covered };
        let service = Service::new(proxy, base, runtime.handle().clone());
        let tally = Arc::new(Tally::new(wish.telling));
        let opened = service
            .open(Opening {
                session: wish.session.clone(),
                providers: Wanted::All,
                project: wish.project.cloned(),
                allow: wish.allow.to_vec(),
                watcher: Some(tally.clone()),
            })
            .map_err(|error| Failure::new(Exit::NotStarted, error.to_string()))?;
        let token = |(name, token): (String, Token)| (name, HandedToken(token.expose().to_owned()));
        let file = |file: StandInFile| HandedFile {
            variables: file.variables.iter().map(ToString::to_string).collect(),
            name: file.name,
            contents: HandedToken(file.contents.to_string()),
        };
        Ok(Self {
            way: Way::Embedded { service: Box::new(service), id: opened.id, _runtime: runtime },
            tokens: opened.tokens.into_iter().map(token).collect(),
            files: opened.files.into_iter().map(file).collect(),
            providers,
            authorities: authority.certificate_pem().to_owned(),
            recorder,
            tally,
            session: wish.session.clone(),
            first,
        })
    }

    /// What programs inside trust.
    pub fn trust(&self) -> Trust {
        use std::os::unix::ffi::OsStringExt;
        let authorities = upstream_ca::certificates(self.authorities.as_bytes()).unwrap_or_default();
        let store = std::ffi::OsString::from_vec(cofferdam_egress::java_store(&authorities));
        Trust { bundle: self.authorities.as_str().into(), java_store: Text::from(store) }
    }

    /// What stands for credentials that are files.
    pub fn files(&self) -> Vec<(PathBuf, Text)> {
        let file =
            |file: &HandedFile| (Path::new(FILES).join(&file.name), Text::from(file.contents.0.as_str()));
        self.files.iter().map(file).collect()
    }

    /// Serves the sandbox on its own listeners.
    pub fn serve(&self, doors: Doors) -> std::io::Result<()> {
        let (service, id) = match &self.way {
            Way::Embedded { service, id, .. } => (service, *id),
            Way::Daemon(connection) => return daemon::serve(connection, &doors),
        };
        let mut listeners = Listeners::default();
        for (door, socket) in doors {
            match door {
                Door::Proxy => listeners.doors.push((cofferdam_egress::Door::Proxy, socket.into())),
                Door::Transparent { port } => {
                    let door = cofferdam_egress::Door::Transparent { port };
                    listeners.doors.push((door, socket.into()));
                }
                Door::DnsPackets => listeners.dns_packets.push(UdpSocket::from(socket)),
                Door::DnsConnections => listeners.dns_connections.push(TcpListener::from(socket)),
            }
        }
        service.serve(id, listeners)
    }

    /// The sandbox is gone.
    pub fn close(&self) {
        // The daemon's client ends with the connection to it.
        if let Way::Embedded { service, id, .. } = &self.way {
            service.close(*id);
        }
    }
}

/// The ports that a sealed network has to take, besides those it always takes.
pub fn further_ports(
    config: &Config,
    allow: &[AllowRule],
    providers: &[Provider],
) -> Result<Vec<u16>, Failure> {
    let of_rule = |rule: &AllowRule| -> Vec<u16> {
        let own = rule.hosts.iter().filter_map(|(_, port)| *port);
        let common = rule.hosts.iter().any(|(_, port)| port.is_none()).then_some(&rule.ports);
        own.chain(common.into_iter().flatten().copied()).collect()
    };
    let mut ports: Vec<u16> = config.egress.allow.iter().chain(allow).flat_map(of_rule).collect();
    ports.extend(providers.iter().flat_map(|provider| provider.ports.iter().copied()));
    ports.retain(|port| !doors::TRANSPARENT.contains(port));
    ports.sort_unstable();
    ports.dedup();
    if ports.len() > doors::MOST_FURTHER {
        let most = doors::MOST_FURTHER;
        return Err(Failure::new(
            Exit::NotStarted,
            format!("the rules name {} ports besides 80 and 443; a sandbox takes {most}", ports.len()),
        )
        .hint("allow fewer ports"));
    }
    Ok(ports)
}

fn recorder(wish: &Wish<'_>) -> Result<Recorder, Failure> {
    let on_write_failure = match wish.config.audit.on_write_failure {
        document::OnWriteFailure::Refuse => OnWriteFailure::Refuse,
        document::OnWriteFailure::Continue => OnWriteFailure::Continue,
    };
    let settings = RecordSettings { on_write_failure, ..RecordSettings::default() };
    Recorder::open(&wish.places.audit(), settings)
        .map_err(|error| Failure::new(Exit::NotStarted, error.to_string()).hint(error.fix()))
}

/// One that blocks no signal of its own: the launcher has taken them over before.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("egress")
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::NotStarted, format!("no threads for the proxy: {error}")))
}

/// The providers of this sandbox, with the variables that their tokens go to.
fn covered(wish: &Wish<'_>, sources: &SecretSources) -> Result<Vec<Covered>, Failure> {
    for name in wish.providers {
        let provider = sources.named(name)?;
        if !sources.kept().any(|kept| kept.name == provider.name) {
            let variables = provider.variables.join(", ");
            return Err(Failure::new(Exit::NotStarted, format!("no credential is known for {name}"))
                .hint(format!("set {variables}, or name a source for it in config.toml")));
        }
    }
    let mut used: Vec<Covered> = Vec::new();
    let mut kept: Vec<&Provider> = sources.kept().filter(|provider| wanted(wish, provider)).collect();
    // Of two that a request could be meant for at once, by the same variable, the first one stays: a code host
    // before the model that it also sells.
    kept.sort_by_key(|provider| provider.kind != Kind::Code);
    for provider in kept {
        if provider.hosts.is_empty() {
            uncovered(wish.config, provider)?;
            continue;
        }
        let variables = sources.variables_of(provider);
        let same = |other: &Covered| {
            other.provider.collides(provider) && other.variables.iter().any(|name| variables.contains(name))
        };
        if !used.iter().any(same) {
            used.push(Covered { provider: provider.clone(), variables });
        }
    }
    Ok(used)
}

fn wanted(wish: &Wish<'_>, provider: &Provider) -> bool {
    if wish.inherited.iter().any(|name| *name == provider.name) {
        return false;
    }
    match wish.providers {
        // A cloud's credential opens more than a model or a tool; it is used when it is asked for.
        [] => provider.kind != Kind::Cloud || provider.secret.is_some(),
        named => named.iter().any(|name| *name == provider.name),
    }
}

/// A credential that is here and that no host belongs to.
fn uncovered(config: &Config, provider: &Provider) -> Result<(), Failure> {
    if provider.kind != Kind::Model || !config.egress.fail_on_uncovered_providers {
        return Ok(());
    }
    Err(Failure::new(Exit::NotStarted, format!("the credential of {} is covered by no host", provider.name))
        .hint(format!(
            "add a [[provider]] {} with its hosts to config.toml, or unset its variable",
            provider.name
        )))
}

fn upstream_authorities(config: &Config, loader: &Loader) -> Result<Vec<UpstreamAuthority>, Failure> {
    let mut certificates = Vec::new();
    for text in &config.egress.upstream_ca_files {
        let path: Option<PathBuf> = document::locate(text, &loader.base, loader.home.as_deref());
        let failed = |why: String| {
            Failure::new(Exit::Config, format!("upstream_ca_files: {text}: {why}"))
                .hint("name a file with certificates in PEM")
        };
        let path = path.ok_or_else(|| failed("is no path".to_owned()))?;
        let pem = std::fs::read(&path).map_err(|error| failed(error.to_string()))?;
        let read = upstream_ca::certificates(&pem);
        certificates.extend(read.ok_or_else(|| failed("holds no certificate in PEM".to_owned()))?);
    }
    Ok(certificates)
}
