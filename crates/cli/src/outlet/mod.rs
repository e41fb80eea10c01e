//! The way out of a sandbox: the daemon where one runs, or else a proxy in this process or in one of its own, takes the
//! sandbox's listeners for as long as it lives.
//!
//! It comes after the sandbox has begun, because that begins as a copy of this process, and before anything is started
//! in it. What cannot be had (a record, an authority, a configuration) is a reason not to start.

pub mod apart;
mod embedded;
pub mod line;
mod notices;
pub mod stand_in;
mod tally;
mod variables;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cofferdam_audit::{Label, Recorder};
use cofferdam_control::messages::egress::{HandedFile, Opened, Opening};
use cofferdam_egress::upstream_ca;
use cofferdam_policy::document::Config;
use cofferdam_policy::provider::{Kind, Provider};
use cofferdam_policy::rules::AllowRule;
use cofferdam_sandbox::doors;
use cofferdam_sandbox::launch::Doors;
use cofferdam_sandbox::request::Trust;
use cofferdam_sandbox::text::Text;
use cofferdam_secrets::source::HostVariables;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::proxy_parts;
use crate::secret_sources::SecretSources;
use crate::settings::Settings;
use embedded::Embedded;
use line::{Held, Line};
pub use notices::{Notices, Telling};
pub use tally::Tally;

/// Where the sandbox has files of ours.
const FILES: &str = "/etc/cofferdam";

/// What one sandbox is to reach.
pub struct Wish<'a> {
    pub settings: &'a Settings,
    pub opening: Opening,
    pub server: Server,
    pub telling: Telling,
}

/// Who may serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// The daemon where one runs, or else this process.
    DaemonOrThis,
    /// This process: it is to know all that was asked for.
    This,
    /// The daemon where one runs, or else a process of its own: this one ends before the sandbox.
    DaemonOrApart,
}

/// A proxy that serves one sandbox.
pub struct Outlet {
    way: Way,
    opened: Opened,
    pub providers: Vec<Provider>,
    pub recorder: Arc<Recorder>,
    pub tally: Arc<Tally>,
    pub notices: Arc<Notices>,
    pub session: Label,
    /// Whether the authority was made just now.
    pub first: bool,
}

/// Who serves.
enum Way {
    Here(Box<Embedded>),
    Elsewhere(Line),
    Held(Held),
    /// It was handed on.
    Gone,
}

impl Outlet {
    pub fn open(wish: Wish<'_>) -> Result<Self, Failure> {
        let Wish { settings, opening, server, telling } = wish;
        let recorder =
            proxy_parts::recorder(&settings.places, &settings.config).map_err(Failure::of_a_start)?;
        let notices = Arc::new(Notices::new(telling));
        let tally = Arc::new(Tally::new(Arc::clone(&notices).teller()));
        let session = Label::new(&opening.session);
        let first = !settings.places.authority().join("ca.key").exists();
        let sources =
            SecretSources::with(&settings.places, &settings.config, HostVariables::of_this_process());
        let by_daemon = match server {
            Server::This => None,
            Server::DaemonOrThis | Server::DaemonOrApart => Line::to_daemon(&settings.places, &opening)?,
        };
        let (way, opened) = match by_daemon {
            Some((line, opened)) => (Way::Elsewhere(line), opened),
            None => {
                require_credentials(&settings.config, &opening, &sources)?;
                match server {
                    Server::DaemonOrApart => {
                        let (line, opened) = apart::open(settings, &opening)?;
                        (Way::Elsewhere(line), opened)
                    }
                    Server::DaemonOrThis | Server::This => {
                        let (places, config) = (&settings.places, &settings.config);
                        let (host, watcher) = (HostVariables::of_this_process(), tally.clone());
                        let from =
                            embedded::From { places, config, host, recorder: recorder.clone(), watcher };
                        let (embedded, opened) = Embedded::open(from, opening)?;
                        (Way::Here(Box::new(embedded)), opened)
                    }
                }
            }
        };
        let providers = opened.providers.iter().filter_map(|name| sources.named(name).ok().cloned());
        let providers = providers.collect();
        Ok(Self { way, providers, opened, recorder, tally, notices, session, first })
    }

    /// What programs inside trust.
    pub fn trust(&self) -> Trust {
        use std::os::unix::ffi::OsStringExt;
        let authorities = upstream_ca::certificates(self.opened.authorities.as_bytes()).unwrap_or_default();
        let store = std::ffi::OsString::from_vec(cofferdam_egress::java_store(&authorities));
        Trust { bundle: self.opened.authorities.as_str().into(), java_store: Text::from(store) }
    }

    /// What stands for credentials that are files.
    pub fn files(&self) -> Vec<(PathBuf, Text)> {
        let file =
            |file: &HandedFile| (Path::new(FILES).join(&file.name), Text::from(file.contents.0.as_str()));
        self.opened.files.iter().map(file).collect()
    }

    /// Serves the sandbox on its own listeners.
    pub fn serve(&mut self, doors: Doors) -> io::Result<()> {
        self.way = match std::mem::replace(&mut self.way, Way::Gone) {
            Way::Elsewhere(line) => Way::Held(line.serve(doors, Arc::clone(&self.notices).teller())?),
            Way::Here(embedded) => {
                embedded.serve(doors.into_iter().map(|(door, socket)| (line::socket(door), socket)))?;
                Way::Here(embedded)
            }
            other => other,
        };
        Ok(())
    }

    /// The line to whoever serves, for the process that is to hold it.
    pub fn take_line(&mut self) -> Option<Line> {
        match std::mem::replace(&mut self.way, Way::Gone) {
            Way::Elsewhere(line) => Some(line),
            other => {
                self.way = other;
                None
            }
        }
    }

    /// The sandbox is gone.
    pub fn close(&self) {
        match &self.way {
            Way::Here(embedded) => embedded.close(),
            Way::Held(held) => held.leave(),
            Way::Elsewhere(_) | Way::Gone => {}
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

/// A credential that was named has to be there, and one that is there must not be without a use.
fn require_credentials(config: &Config, opening: &Opening, sources: &SecretSources) -> Result<(), Failure> {
    for name in opening.providers.iter().flatten() {
        let provider = sources.named(name)?;
        if !sources.kept().any(|kept| kept.name == provider.name) {
            let variables = provider.variables.join(", ");
            return Err(Failure::new(Exit::NotStarted, format!("no credential is known for {name}"))
                .hint(format!("set {variables}, or name a source for it in config.toml")));
        }
    }
    let named = |provider: &Provider| match &opening.providers {
        Some(names) => names.iter().any(|name| *name == provider.name),
        None => true,
    };
    let unused =
        |provider: &&Provider| provider.hosts.is_empty() && provider.kind == Kind::Model && named(provider);
    match sources.kept().find(unused).filter(|_| config.egress.fail_on_uncovered_providers) {
        None => Ok(()),
        Some(provider) => {
            let name = &provider.name;
            Err(Failure::new(Exit::NotStarted, format!("the credential of {name} is covered by no host"))
                .hint(format!(
                    "add a [[provider]] {name} with its hosts to config.toml, or unset its variable"
                )))
        }
    }
}
