//! The proxy as something that takes clients: sandboxes come with their listeners, get tokens of their own, and go.
//!
//! A client is opened first and served when its listeners are there, because its tokens are needed to start the very
//! command whose sandbox makes the listeners. What a client may reach is the user's configuration with what its
//! project takes away and what the person typed for it; a new configuration is put under all of them at once.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cofferdam_audit::Label;
use cofferdam_policy::document::Project;
use cofferdam_policy::layers::{Layered, RunOptions};
use cofferdam_policy::provider::{Kind, Provider, Shape};
use cofferdam_policy::rules::AllowRule;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::client::{Client, ClientId, Door, Watcher};
use crate::dns::{GivenAddresses, Range, Resolver};
use crate::policy::{LivePolicy, Policy};
use crate::proxy::Proxy;
use crate::stand_in::{StandInError, StandInFile};
use crate::tokens::{KeptToken, Life, Token};

/// What all clients begin with.
#[derive(Debug, Clone)]
pub struct Base {
    /// The user's configuration.
    pub layered: Layered,
    /// The providers whose credential can be had.
    pub providers: Vec<Covered>,
}

/// A provider, and the variables in which its clients look for the credential here.
#[derive(Debug, Clone)]
pub struct Covered {
    pub provider: Provider,
    pub variables: Vec<String>,
}

/// A wish to be served.
pub struct Opening {
    /// The name under which it goes on record.
    pub session: Label,
    pub providers: Wanted,
    /// Providers that it uses in no case: it has their credential.
    pub without: Vec<String>,
    /// What the project in the workspace says; it only narrows.
    pub project: Option<Project>,
    /// What the person typed for this client.
    pub allow: Vec<AllowRule>,
    pub watcher: Option<Arc<dyn Watcher>>,
}

/// Which of the providers a client uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    All,
    /// All but clouds: what a cloud's credential opens is more than a model or a tool, so it is used when it is asked
    /// for, or when a source for it is configured.
    Usual,
    Named(Vec<String>),
}

/// A client that may now be served.
pub struct Opened {
    pub id: ClientId,
    /// The providers it uses.
    pub providers: Vec<String>,
    /// Variables and the tokens to put there.
    pub tokens: Vec<(String, Token)>,
    /// Files to put into the sandbox, and the variables that name them.
    pub files: Vec<StandInFile>,
}

type Tokens = Vec<(String, Token)>;

/// The sockets of a client, made in its own network namespace.
#[derive(Debug, Default)]
pub struct Listeners {
    pub doors: Vec<(Door, TcpListener)>,
    pub dns_packets: Vec<UdpSocket>,
    pub dns_connections: Vec<TcpListener>,
    /// Where the client can dial what its resolver gives out.
    pub range: Range,
}

/// Why a client is not served.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no provider of this name that a credential is known for.
    Provider(String),
    StandIn(StandInError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Provider(name) => write!(f, "no credential is known for the provider {name}"),
            Self::StandIn(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {}

/// A proxy with its clients.
pub struct Service {
    proxy: Proxy,
    runtime: Handle,
    inner: Mutex<Inner>,
}

struct Inner {
    base: Base,
    clients: HashMap<ClientId, Served>,
}

/// A client, and what has to be known to judge it anew.
struct Served {
    client: Client,
    given: Arc<GivenAddresses>,
    providers: Wanted,
    without: Vec<String>,
    project: Option<Project>,
    allow: Vec<AllowRule>,
    tasks: Vec<AbortHandle>,
}

impl Service {
    pub fn new(proxy: Proxy, base: Base, runtime: Handle) -> Self {
        Self { proxy, runtime, inner: Mutex::new(Inner { base, clients: HashMap::new() }) }
    }

    pub fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    /// Takes a client in and makes its tokens.
    pub fn open(&self, opening: Opening) -> Result<Opened, OpenError> {
        let (id, used) = self.admit(opening)?;
        match self.stand_ins(id, &used) {
            Ok((tokens, files)) => Ok(Opened { id, providers: names(&used), tokens, files }),
            Err(error) => {
                self.close(id);
                Err(OpenError::StandIn(error))
            }
        }
    }

    /// Takes a client in that was here before, with the tokens that it has. Providers that are gone by now are left
    /// out, and their tokens are worth nothing any more.
    pub fn restore(&self, mut opening: Opening, tokens: &[KeptToken]) -> Result<ClientId, OpenError> {
        if let Wanted::Named(names) = &mut opening.providers {
            let inner = self.inner();
            names.retain(|name| inner.base.providers.iter().any(|covered| covered.provider.name == *name));
        }
        let (id, _) = self.admit(opening)?;
        self.replace_tokens(id, tokens);
        Ok(id)
    }

    /// Lets a client use these tokens and no others.
    pub fn replace_tokens(&self, id: ClientId, tokens: &[KeptToken]) {
        let inner = self.inner();
        let known = tokens.iter().flat_map(|kept| {
            let of_it = |covered: &&Covered| kept.providers.iter().any(|name| covered.provider.name == *name);
            inner.base.providers.iter().filter(of_it).map(|covered| (&covered.provider, kept.digest))
        });
        self.proxy.tokens().replace(id, &known.collect::<Vec<_>>());
    }

    /// The tokens of a client, as far as they can be known again.
    pub fn kept_tokens(&self, id: ClientId) -> Vec<KeptToken> {
        self.proxy.tokens().kept(id)
    }

    fn admit(&self, opening: Opening) -> Result<(ClientId, Vec<Covered>), OpenError> {
        let Opening { session, providers, without, project, allow, watcher } = opening;
        let mut inner = self.inner();
        if let Wanted::Named(names) = &providers {
            let known = |name: &str| inner.base.providers.iter().any(|covered| covered.provider.name == name);
            if let Some(unknown) = names.iter().find(|name| !known(name)) {
                return Err(OpenError::Provider(unknown.clone()));
            }
        }
        let used = used(&inner.base, &providers, &without);
        let policy = compile(&inner.base, &used, (project.as_ref(), &allow));
        let given = Arc::new(GivenAddresses::default());
        let client = Client {
            session: Some(session),
            given: Some(given.clone()),
            watcher,
            ..Client::new(Arc::new(LivePolicy::new(policy)))
        };
        let id = client.id;
        let served = Served { client, given, providers, without, project, allow, tasks: Vec::new() };
        inner.clients.insert(id, served);
        Ok((id, used))
    }

    /// What stands for the credentials inside, in the variables in which its clients look for them here. A credential
    /// with parts has all of them inside: half of one is of no use.
    fn stand_ins(&self, id: ClientId, used: &[Covered]) -> Result<(Tokens, Vec<StandInFile>), StandInError> {
        let (mut tokens, mut files) = (Vec::new(), Vec::new());
        for Covered { provider, variables } in used {
            let whole = provider.shape() == Shape::AwsKeys;
            let looked_for = |name: &str| variables.iter().any(|variable| variable == name);
            let wanted =
                |name: &str| looked_for(name) || (whole && provider.variables.iter().any(|own| own == name));
            let mut shared = false;
            for (_, token) in tokens.iter().filter(|(name, _): &&(String, Token)| wanted(name)) {
                self.proxy.tokens().share(token, provider);
                shared = true;
            }
            // Its variables have their values already: clients of several providers look for them there.
            if shared && whole {
                continue;
            }
            let stand_in = self.proxy.stand_in(id, provider, Life::Sandbox)?;
            for (name, token) in stand_in.variables.into_iter().filter(|(name, _)| wanted(name)) {
                if !tokens.iter().any(|(taken, _)| **taken == *name) {
                    tokens.push((String::from(name), token));
                }
            }
            files.extend(stand_in.files);
        }
        Ok((tokens, files))
    }

    /// Serves a client on its listeners until it is closed. A client that is not open is not served.
    pub fn serve(&self, id: ClientId, listeners: Listeners) -> io::Result<()> {
        let mut inner = self.inner();
        let Some(served) = inner.clients.get_mut(&id) else { return Ok(()) };
        served.given.stay_within(listeners.range);
        let _in_runtime = self.runtime.enter();
        let resolver = || {
            let engine = self.proxy.engine().clone();
            Arc::new(Resolver::new(engine, served.client.clone(), served.given.clone()))
        };
        let resolver = resolver();
        let mut tasks = Vec::new();
        for (door, listener) in listeners.doors {
            let (proxy, client) = (self.proxy.clone(), Client { door, ..served.client.clone() });
            tasks.push(self.runtime.spawn(async move {
                let _ = proxy.serve(listener, client).await;
            }));
        }
        for socket in listeners.dns_packets {
            socket.set_nonblocking(true)?;
            let socket = tokio::net::UdpSocket::from_std(socket)?;
            tasks.push(self.runtime.spawn(resolver.clone().serve_packets(socket)));
        }
        for listener in listeners.dns_connections {
            listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(listener)?;
            tasks.push(self.runtime.spawn(resolver.clone().serve_connections(listener)));
        }
        served.tasks.extend(tasks.iter().map(tokio::task::JoinHandle::abort_handle));
        Ok(())
    }

    /// Lets a client go: its listeners and connections are closed, its tokens are worth nothing from now on.
    pub fn close(&self, id: ClientId) {
        self.proxy.tokens().forget(id);
        let served = self.inner().clients.remove(&id);
        served.into_iter().flat_map(|served| served.tasks).for_each(|task| task.abort());
        self.proxy.flush();
    }

    /// The providers that clients can use.
    pub fn providers(&self) -> Vec<String> {
        names(&used(&self.inner().base, &Wanted::All, &[]))
    }

    /// How many clients there are.
    pub fn clients(&self) -> usize {
        self.inner().clients.len()
    }

    /// Puts another configuration under every client. A client that named its providers keeps them, as far as they
    /// are still there.
    pub fn reload(&self, base: Base) {
        let mut inner = self.inner();
        for served in inner.clients.values() {
            let used = used(&base, &served.providers, &served.without);
            let policy = compile(&base, &used, (served.project.as_ref(), &served.allow));
            served.client.policy.replace(policy);
        }
        inner.base = base;
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn names(used: &[Covered]) -> Vec<String> {
    used.iter().map(|covered| covered.provider.name.to_string()).collect()
}

/// The providers that are meant, as far as they can be served side by side: of two that a request could be meant for at
/// once, by the same variable, the first one stays, and a code host comes before the model that it also sells.
fn used(base: &Base, wanted: &Wanted, without: &[String]) -> Vec<Covered> {
    let meant = |covered: &&Covered| {
        let provider = &covered.provider;
        let asked_for = match wanted {
            Wanted::All => true,
            Wanted::Usual => provider.kind != Kind::Cloud || provider.secret.is_some(),
            Wanted::Named(names) => names.iter().any(|name| *name == provider.name),
        };
        asked_for && !without.iter().any(|name| *name == provider.name)
    };
    let mut meant: Vec<&Covered> = base.providers.iter().filter(meant).collect();
    meant.sort_by_key(|covered| covered.provider.kind != Kind::Code);
    let mut used: Vec<Covered> = Vec::new();
    for covered in meant {
        let same = |other: &Covered| {
            other.provider.collides(&covered.provider)
                && other.variables.iter().any(|name| covered.variables.contains(name))
        };
        if !used.iter().any(same) {
            used.push(covered.clone());
        }
    }
    used
}

fn compile(base: &Base, used: &[Covered], (project, allow): (Option<&Project>, &[AllowRule])) -> Policy {
    let mut layered = base.layered.clone();
    if let Some(project) = project {
        layered = layered.narrow(project.clone());
    }
    let typed = RunOptions { allow: allow.to_vec(), ..RunOptions::default() };
    let layered = layered.overridden_by(typed);
    Policy::new(&layered, used.iter().map(|covered| covered.provider.clone()).collect())
}
