//! The worker: the proxy, and the other end of its supervisor's questions.

mod metrics;

use std::collections::HashMap;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use cofferdam_audit::event::{ConfigLoaded, ConfigReason, Outcome};
use cofferdam_audit::{Event, Label, Recorder};
use cofferdam_control::channel::Channel;
use cofferdam_control::messages::egress::{self, KeptToken, Serving, Socket};
use cofferdam_egress::service::{Listeners, Opening, Service, Wanted};
use cofferdam_egress::{Authority, ClientId, Door, Watcher};
use cofferdam_linux_sys::footprint;
use cofferdam_linux_sys::sock_diag::SocketTable;
use cofferdam_policy::document::Config;
use tokio::runtime::{Builder, Runtime};
use zeroize::Zeroizing;

use super::handover::{Answer, FromWorker, Job, ToWorker};
use super::variables::Variables;
use super::{log, named_tokens};
use crate::clientele;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::outlet::Tally;
use crate::places::Places;
use crate::proxy_parts::{self, ProxyParts};
use crate::settings::{Unusable, read_config};

/// The name of the shared port's users in the record.
const SHARED: &str = "shared port";

struct Worker {
    supervisor: Arc<Channel>,
    places: Places,
    variables: Variables,
    config: Config,
    service: Service,
    authority: Arc<Authority>,
    recorder: Arc<Recorder>,
    /// Whoever comes in by the shared port.
    shared: ClientId,
    /// By the numbers that the supervisor has for them.
    clients: HashMap<u64, ClientId>,
    /// Last: everything above uses it.
    _runtime: Runtime,
}

/// The worker's whole life. Standard input is the connection to its supervisor.
pub fn work() -> Result<Exit, Failure> {
    log::begin();
    let lost = |error: io::Error| Failure::new(Exit::Unavailable, format!("no worker: {error}"));
    let supervisor = Channel::from_connected(io::stdin().as_fd().try_clone_to_owned().map_err(lost)?);
    let supervisor = Arc::new(supervisor);
    let first = supervisor.receive::<ToWorker>();
    let Ok(Some((ToWorker { id, job }, descriptors))) = first else {
        return Err(Failure::new(Exit::Usage, "this command is started by `cofferdam egress start`"));
    };
    let Job::Begin { config, state, runtime, pairing, asks_about_sockets } = job else {
        return Err(Failure::new(Exit::Usage, "this command is started by `cofferdam egress start`"));
    };
    let places = Places { config: config.into(), state: state.into(), runtime: runtime.into() };
    let given = (descriptors, asks_about_sockets);
    let begun = Worker::begin(places, given, Zeroizing::new(pairing), Arc::clone(&supervisor));
    let mut worker = match begun {
        Ok(worker) => worker,
        Err(failure) => {
            supervisor.send(&FromWorker::Answer { id, answer: failed(&failure) }, &[]).map_err(lost)?;
            return Ok(Exit::Unavailable);
        }
    };
    supervisor.send(&FromWorker::Answer { id, answer: Answer::Done }, &[]).map_err(lost)?;
    // What it took to begin is not needed again, and the first client may come tomorrow.
    footprint::shrink();
    while let Some((ToWorker { id, job }, descriptors)) = supervisor.receive().map_err(lost)? {
        let answer = worker.answer(job, descriptors);
        supervisor.send(&FromWorker::Answer { id, answer }, &[]).map_err(lost)?;
    }
    Ok(Exit::Success)
}

fn failed(failure: &Failure) -> Answer {
    Answer::Failed { sentence: failure.sentence().to_owned(), hint: failure.hints() }
}

fn failed_with(sentence: &(impl ToString + ?Sized)) -> Answer {
    Answer::Failed { sentence: sentence.to_string(), hint: None }
}

impl Worker {
    fn begin(
        places: Places,
        (descriptors, asks_about_sockets): (Vec<OwnedFd>, bool),
        pairing: Zeroizing<[u8; 32]>,
        supervisor: Arc<Channel>,
    ) -> Result<Self, Failure> {
        let lost = |error: io::Error| Failure::new(Exit::Unavailable, error.to_string());
        let mut descriptors = descriptors.into_iter();
        let missing = || lost(io::Error::other("a descriptor is missing"));
        let variables = Variables::from_file(descriptors.next().ok_or_else(missing)?).map_err(lost)?;
        let shared_door = TcpListener::from(descriptors.next().ok_or_else(missing)?);
        let sockets = match asks_about_sockets {
            true => Some(SocketTable::from(descriptors.next().ok_or_else(missing)?)),
            false => None,
        };
        let config = read_config(&places).map_err(first_mistake)?;
        let authority = proxy_parts::authority(&places)?;
        let recorder = proxy_parts::recorder(&places, &config)?;
        let parts = ProxyParts::of(&places, config.clone(), variables.to_host())?;
        // For names and counters, which are little; bytes are moved by threads of the proxy's own.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(lost)?;
        let _in_runtime = runtime.enter();
        let (proxy, base) = parts.into_proxy(authority.clone(), recorder.clone())?;
        proxy.tokens().pair_by(pairing);
        sockets.into_iter().for_each(|sockets| proxy.ask_through(sockets));
        let service = Service::new(proxy, base, runtime.handle().clone());
        let shared = open_shared(&service, &places)?;
        let doors = vec![(Door::Shared, shared_door)];
        service.serve(shared, Listeners { doors, ..Listeners::default() }).map_err(lost)?;
        if let Some(door) = descriptors.next() {
            metrics::serve(TcpListener::from(door), service.proxy(), runtime.handle()).map_err(lost)?;
        }
        drop(_in_runtime);
        let clients = HashMap::new();
        Ok(Self {
            supervisor,
            places,
            variables,
            config,
            service,
            authority,
            recorder,
            shared,
            clients,
            _runtime: runtime,
        })
    }

    fn answer(&mut self, job: Job, descriptors: Vec<OwnedFd>) -> Answer {
        match job {
            Job::Begin { .. } => failed_with("the worker has begun already"),
            Job::Open { client, opening, kept } => self.open(client, opening, kept),
            Job::Serve { client, sockets } => self.serve(client, &sockets, descriptors),
            Job::Close { client } => {
                if let Some(id) = self.clients.remove(&client) {
                    self.service.close(id);
                }
                Answer::Done
            }
            Job::Reload => Answer::Reply(self.reload()),
            Job::Status => Answer::Serving(self.serving()),
            Job::Metrics => {
                Answer::Reply(egress::Reply::Metrics(metrics::text(self.service.proxy(), self.clients.len())))
            }
            Job::Ping => Answer::Done,
        }
    }

    fn open(&mut self, client: u64, wish: egress::Opening, kept: Option<Vec<KeptToken>>) -> Answer {
        let watcher = wish.telling.then(|| self.watcher(client));
        let opening = match clientele::understood(wish, &proxy_parts::registry(&self.config), watcher) {
            Ok(opening) => opening,
            Err(sentence) => return failed_with(&sentence),
        };
        let taken_in = match kept {
            None => self.service.open(opening).map(|opened| {
                let handed = clientele::handed(&self.service, &opened, self.authority.certificate_pem());
                (opened.id, Answer::Opened(handed))
            }),
            Some(kept) => {
                let kept: Vec<_> = kept.iter().filter_map(clientele::read).collect();
                self.service.restore(opening, &kept).map(|id| (id, Answer::Done))
            }
        };
        match taken_in {
            Ok((id, answer)) => {
                self.clients.insert(client, id);
                answer
            }
            Err(error) => failed_with(&error),
        }
    }

    /// Tells whoever started a client what it was refused.
    fn watcher(&self, client: u64) -> Arc<dyn Watcher> {
        let supervisor = Arc::clone(&self.supervisor);
        Arc::new(Tally::new(Arc::new(move |line| {
            // Without a supervisor this process is about to end.
            let _ = supervisor.send(&FromWorker::Told { client, line }, &[]);
        })))
    }

    fn serve(&self, client: u64, sockets: &[Socket], descriptors: Vec<OwnedFd>) -> Answer {
        let Some(id) = self.clients.get(&client) else { return failed_with("there is no such client") };
        let listeners = clientele::listeners(sockets.iter().copied().zip(descriptors));
        match self.service.serve(*id, listeners) {
            Ok(()) => Answer::Done,
            Err(error) => failed_with(&error),
        }
    }

    /// All or nothing: whatever is wrong with the new configuration, the old one holds as it was.
    fn reload(&mut self) -> egress::Reply {
        let read = read_config(&self.places).map_err(|unusable| match unusable {
            Unusable::Mistakes(mistakes) => mistakes.iter().map(ToString::to_string).collect(),
            Unusable::Unreadable(failure) => vec![failure.sentence().to_owned()],
        });
        let made = read.and_then(|config| self.parts(config).map_err(|mistake| vec![mistake]));
        let (config, parts, tokens) = match made {
            Ok(made) => made,
            Err(mistakes) => {
                let count = u32::try_from(mistakes.len()).unwrap_or(u32::MAX);
                let outcome = Outcome::Refused { reason: ConfigReason::Mistakes };
                self.record(ConfigLoaded { outcome, mistakes: count, rules: 0 });
                return egress::Reply::NotReloaded { mistakes };
            }
        };
        if let Err(failure) = self.renew_authority() {
            return egress::Reply::NotReloaded { mistakes: vec![failure.sentence().to_owned()] };
        }
        let notes = notes(&self.config, &config);
        let rules = u32::try_from(config.egress.allow.len()).unwrap_or(u32::MAX);
        self.service.proxy().replace_secrets(parts.store);
        self.service.reload(parts.base);
        self.service.replace_tokens(self.shared, &tokens);
        self.config = config;
        self.record(ConfigLoaded { outcome: Outcome::Allowed, mistakes: 0, rules });
        egress::Reply::Reloaded { notes }
    }

    fn parts(
        &self,
        config: Config,
    ) -> Result<(Config, ProxyParts, Vec<cofferdam_egress::KeptToken>), String> {
        let tokens = named(&self.places).map_err(|failure| failure.sentence().to_owned())?;
        let parts = ProxyParts::of(&self.places, config.clone(), self.variables.to_host());
        let parts = parts.map_err(|failure| failure.sentence().to_owned())?;
        Ok((config, parts, tokens))
    }

    /// Another authority may sign by now.
    fn renew_authority(&mut self) -> Result<(), Failure> {
        let authority = proxy_parts::authority(&self.places)?;
        if authority.certificate() != self.authority.certificate()
            && !self.service.proxy().replace_authority(authority.clone())
        {
            return Err(Failure::new(Exit::Unavailable, "no key for certificates can be made"));
        }
        self.authority = authority;
        Ok(())
    }

    fn serving(&self) -> Serving {
        let mut named_tokens: Vec<String> =
            self.service.kept_tokens(self.shared).into_iter().flat_map(|kept| kept.providers).collect();
        named_tokens.sort();
        named_tokens.dedup();
        let mut providers = self.service.providers();
        providers.sort();
        Serving {
            authority: self.authority.fingerprint(),
            providers,
            named_tokens,
            clients: u32::try_from(self.clients.len()).unwrap_or(u32::MAX),
            recording: self.recorder.is_written() && self.recorder.sync().is_ok(),
        }
    }

    fn record(&self, event: impl Into<Event>) {
        if let Err(error) = self.recorder.record(None, &event.into()) {
            tracing::error!("not recorded: {error}");
        }
    }
}

fn open_shared(service: &Service, places: &Places) -> Result<ClientId, Failure> {
    let opening = Opening {
        session: Label::new(SHARED),
        providers: Wanted::All,
        without: Vec::new(),
        project: None,
        allow: Vec::new(),
        watcher: None,
    };
    let opened = service.restore(opening, &named(places)?);
    opened.map_err(|error| Failure::new(Exit::Unavailable, error.to_string()))
}

fn named(places: &Places) -> Result<Vec<cofferdam_egress::KeptToken>, Failure> {
    let tokens = named_tokens::read(&places.state)?;
    Ok(tokens.iter().filter_map(named_tokens::NamedToken::kept).collect())
}

/// What a running daemon cannot change.
fn notes(old: &Config, new: &Config) -> Vec<String> {
    let (old, new) = (&old.egress, &new.egress);
    let changed = [
        ("listen", old.listen != new.listen),
        ("metrics", old.metrics != new.metrics),
        ("upstream_ca_files", old.upstream_ca_files != new.upstream_ca_files),
        ("enabled", old.enabled != new.enabled),
    ];
    changed
        .into_iter()
        .filter(|(_, changed)| *changed)
        .map(|(key, _)| format!("{key} was changed; that takes effect with `cofferdam egress restart`"))
        .collect()
}

fn first_mistake(unusable: Unusable) -> Failure {
    match unusable {
        Unusable::Unreadable(failure) => failure,
        Unusable::Mistakes(mistakes) => {
            let first = mistakes.first().map(ToString::to_string).unwrap_or_default();
            Failure::new(Exit::Config, first).hint("`cofferdam config check` shows all mistakes")
        }
    }
}
