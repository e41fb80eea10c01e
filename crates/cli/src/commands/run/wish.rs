//! From what was typed and what is configured to what the sandbox is asked for.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cofferdam_control::messages::egress::Opening;
use cofferdam_linux_sys::exec::Image;
use cofferdam_policy::document::{self, Config, Project, SandboxLimits};
use cofferdam_policy::environment::{
    self, Credentials, HostEnvironment, Origin, ProviderVariables, Trust, Wish,
};
use cofferdam_policy::host::HostPattern;
use cofferdam_policy::layers::{Layered, RunOptions};
use cofferdam_policy::mistake::quoted;
use cofferdam_policy::provider::Provider;
use cofferdam_policy::registry::{InUse, Registry};
use cofferdam_policy::rules::AllowRule;
use cofferdam_policy::secret_paths::Bases;
use cofferdam_sandbox::launch::Prepared;
use cofferdam_sandbox::overlay::Layer;
use cofferdam_sandbox::plan::{Identity, Isolation, Limits, Network, Plan};
use cofferdam_sandbox::planner;
use cofferdam_sandbox::request::{Profile, Request};
use cofferdam_sandbox::survey::Machine;
use cofferdam_sandbox::text::Text;

use crate::args::run::{
    Isolation as TypedIsolation, Network as TypedNetwork, Profile as TypedProfile, SandboxOptions,
};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::outlet::{self, Outlet, Server, Telling};
use crate::places::Places;
use crate::settings::{self, Settings};
use crate::waiting;

/// Open files that a command may have: what servers are given, and far from what the kernel can hold.
const OPEN_FILES: u64 = 65_536;
/// Processes and threads that a command may have at once: more than any build starts.
const PROCESSES: u64 = 4096;

/// Everything that one run is asked to be.
pub struct Wished {
    pub request: Request,
    /// Time on the wall clock.
    pub timeout: Option<Duration>,
    pub layered: Layered,
    pub places: Places,
    /// The hosts that were typed.
    pub allow: Vec<AllowRule>,
    typed: Vec<String>,
    providers: Vec<String>,
    inherited: Vec<String>,
}

impl Wished {
    /// Reads the configuration, lets the project narrow it, and puts what was typed on top.
    pub fn read(args: &SandboxOptions) -> Result<Self, Failure> {
        let settings = Settings::load()?;
        let workspace = resolve(args.workspace.as_deref().unwrap_or(Path::new(".")))?;
        let home = home()?;
        let hidden = |hide: &[String], beside: &Path| -> Vec<PathBuf> {
            hide.iter().filter_map(|text| document::locate(text, beside, Some(&home))).collect()
        };
        let mut hide = hidden(&settings.config.sandbox.hide, &settings.places.config);
        let network = network(args, &settings.config);
        let mut allow = allowed(&args.allow)?;
        allow.extend(inherited(&args.inherit_credentials, &settings.config)?);
        let mut layered = Layered::new(settings.config);
        let project = project(&workspace)?;
        if let Some(project) = project {
            hide.extend(hidden(&project.hide, &workspace));
            layered = layered.narrow(project);
        }
        hide.extend(args.hide.iter().cloned());
        let layered = layered.overridden_by(typed(args));
        let sandbox = &layered.config.sandbox;
        let request = Request {
            profile: match sandbox.profile {
                document::Profile::Strict => Profile::Strict,
                document::Profile::Workspace => Profile::Workspace,
                document::Profile::Home => Profile::Home,
            },
            workspace,
            read: args.read.iter().map(|path| resolve(path)).collect::<Result<_, _>>()?,
            write: args.write.iter().map(|path| resolve(path)).collect::<Result<_, _>>()?,
            hide: hide.iter().filter_map(|path| existing(path)).collect(),
            own: own_places(&settings.places),
            moved: moved_places(),
            home,
            layer: None,
            network,
            further_ports: Vec::new(),
            files: Vec::new(),
            trust: None,
            isolation: match (args.isolation, sandbox.isolation) {
                (Some(TypedIsolation::BestEffort), _) | (None, document::Isolation::BestEffort) => {
                    Isolation::BestEffort
                }
                (Some(TypedIsolation::Required), _) | (None, document::Isolation::Required) => {
                    Isolation::Required
                }
            },
            limits: limits(sandbox.limits),
        };
        Ok(Self {
            request,
            timeout: sandbox.limits.wall,
            places: settings.places,
            allow,
            typed: args.allow.clone(),
            providers: args.provider.clone(),
            inherited: args.inherit_credentials.clone(),
            layered,
        })
    }

    /// Lets all writes to the workspace go to a new layer.
    pub fn add_layer(&mut self, command: &[OsString]) -> Result<Layer, Failure> {
        let command = Text::from(command.join(std::ffi::OsStr::new(" ")));
        let layers = self.places.overlays();
        let layer = Layer::create(&layers, &self.request.workspace, command).map_err(|error| {
            Failure::new(Exit::NotStarted, format!("cannot make a layer in {}: {error}", layers.display()))
        })?;
        self.request.layer = Some(layer.directory().to_owned());
        Ok(layer)
    }

    /// To be called before there is a second thread.
    pub fn settled(&self, prepared: Prepared) -> io::Result<Prepared> {
        match self.request.isolation {
            Isolation::Required => Ok(prepared),
            Isolation::BestEffort => prepared.settled(),
        }
    }

    /// Where the configuration lies.
    pub fn beside(&self) -> &Path {
        &self.places.config
    }

    /// The user's own providers.
    pub fn providers(&self) -> Vec<Provider> {
        self.layered.config.providers.clone()
    }

    pub fn plan(&self) -> Result<Plan, Failure> {
        let look = || {
            let machine = Machine::look_into(&[&self.request.workspace, &self.request.home]);
            planner::plan(&self.request, Identity::own(), &machine)
        };
        waiting::during("looking for files that hold secrets", look)
            .map_err(|refusal| Failure::new(Exit::NotStarted, refusal.to_string()).hint(refusal.hint()))
    }

    /// Opens the way out of a sealed network, and asks for what belongs to it. None for any other network, and where
    /// it cannot be opened and need not be: the sandbox then has no network.
    pub fn open_outlet(
        &mut self,
        session: &str,
        telling: Telling,
        server: Server,
    ) -> Result<Option<Outlet>, Failure> {
        if self.request.network != Network::Proxy {
            return Ok(None);
        }
        let config = &self.layered.config;
        let opening = Opening {
            session: session.to_owned(),
            providers: (!self.providers.is_empty()).then(|| self.providers.clone()),
            without: self.inherited.clone(),
            project: project_text(&self.request.workspace)?,
            allow: self.typed.clone(),
            telling: true,
        };
        let settings = Settings { places: self.places.clone(), config: config.clone() };
        let open = || Outlet::open(outlet::Wish { settings: &settings, opening, server, telling });
        let opened = waiting::during("opening the way out", open)
            .and_then(|outlet| Ok((outlet::further_ports(config, &self.allow, &outlet.providers)?, outlet)));
        match opened {
            Ok((ports, outlet)) => {
                self.request.further_ports = ports;
                self.request.trust = Some(outlet.trust());
                self.request.files = outlet.files();
                Ok(Some(outlet))
            }
            Err(failure) if config.egress.enforce => Err(failure),
            Err(failure) => {
                failure.report();
                eprintln!("cofferdam: warning: the command has no network, because egress is not enforced");
                self.request.network = Network::None;
                Ok(None)
            }
        }
    }

    /// The command with the environment that an unknown program gets.
    pub fn image(
        &self,
        typed: &[OsString],
        command: &[OsString],
        outlet: Option<&Outlet>,
    ) -> Result<Image, Failure> {
        let config = &self.layered.config;
        let passed = config.sandbox.pass.iter().map(|name| (OsString::from(name), Origin::Configuration));
        let typed = typed.iter().map(|wish| (wish.clone(), Origin::CommandLine));
        let wishes = passed
            .chain(typed)
            .map(|(wish, origin)| Wish::parse(&wish, origin))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|bad| {
                Failure::new(Exit::NotStarted, format!("--env: {bad}")).hint("write NAME or NAME=VALUE")
            })?;
        let host = HostEnvironment::new(std::env::vars_os());
        let registry = Registry::new(config.providers.clone());
        let fixed = match outlet {
            Some(outlet) => {
                outlet.check(&wishes, &host, config.egress.enforce)?;
                let fixed = outlet.variables(&wishes, &host);
                fixed.map_err(|bad| Failure::new(Exit::NotStarted, format!("the wiring: {bad}")))?
            }
            None => Vec::new(),
        };
        let inherited: Vec<&str> = self.inherited.iter().map(String::as_str).collect();
        let mut request = environment::Request::plain(Trust::Unknown);
        request.wishes = &wishes;
        request.fixed = &fixed;
        request.credentials = match inherited.as_slice() {
            [] => Credentials::Strip,
            providers => Credentials::Inherit(providers),
        };
        let built = environment::build(&host, &request, &ProviderVariables::new(&registry));
        if let Some(outlet) = outlet {
            outlet.record_environment(&built, &self.inherited)?;
        }
        Image::new(command, &built.environment).map_err(|error| {
            Failure::new(Exit::NotStarted, format!("the command cannot be started: {error}"))
        })
    }
}

/// The network that was asked for; the dangerous one with a word about what it gives up.
fn network(options: &SandboxOptions, config: &Config) -> Network {
    if options.danger_host_network {
        eprintln!(
            "cofferdam: the command has the host's network: it reaches every host and every local service"
        );
        return Network::Host;
    }
    match options.network {
        Some(TypedNetwork::Proxy) => Network::Proxy,
        Some(TypedNetwork::None) => Network::None,
        None if config.egress.enabled => Network::Proxy,
        None => Network::None,
    }
}

/// The hosts that were typed, as rules.
fn allowed(typed: &[String]) -> Result<Vec<AllowRule>, Failure> {
    let rule = |text: &String| match HostPattern::parse_with_port(text) {
        Ok((host, port)) => Ok(AllowRule::whole_host(host, port)),
        Err(error) => Err(Failure::new(Exit::Usage, format!("--allow {}: {error}", quoted(text)))
            .hint("write a host such as api.example.com, api.example.com:8443 or *.example.com")),
    };
    typed.iter().map(rule).collect()
}

/// Where a real credential that is handed over is good, it may go.
fn inherited(names: &[String], config: &Config) -> Result<Vec<AllowRule>, Failure> {
    let registry = Registry::new(config.providers.clone());
    let mut rules = Vec::new();
    for name in names {
        let provider = registry.by_name(name).ok_or_else(|| {
            Failure::new(Exit::Usage, format!("there is no provider {}", quoted(name)))
                .hint("cofferdam providers list shows them all")
        })?;
        eprintln!("cofferdam: the command gets the real key of {name}");
        rules.extend(InUse::new(vec![provider]).allow_rules());
    }
    Ok(rules)
}

fn typed(args: &SandboxOptions) -> RunOptions {
    RunOptions {
        allow: Vec::new(),
        profile: args.profile.map(|profile| match profile {
            TypedProfile::Strict => document::Profile::Strict,
            TypedProfile::Workspace => document::Profile::Workspace,
            TypedProfile::Home => document::Profile::Home,
        }),
        hide: Vec::new(),
        limits: SandboxLimits {
            memory: args.memory,
            processes: args.pids,
            cpu: args.cpu,
            file_size: args.file_size,
            wall: args.timeout,
        },
    }
}

fn limits(wished: SandboxLimits) -> Limits {
    Limits {
        memory: wished.memory,
        processes: Some(wished.processes.map_or(PROCESSES, u64::from)),
        cpu_seconds: wished.cpu.map(|time| time.as_secs().max(1)),
        file_size: wished.file_size,
        open_files: Some(OPEN_FILES),
    }
}

/// What the project says about itself. Whatever runs in the workspace can write this file, so it only narrows; one
/// that cannot be read or understood is a failure, because it may have hidden something.
fn project(workspace: &Path) -> Result<Option<Project>, Failure> {
    let Some(text) = project_text(workspace)? else { return Ok(None) };
    let path = workspace.join(settings::PROJECT_FILE);
    let shown = path.display().to_string();
    Project::parse(&shown, &text).map(Some).map_err(|mistakes| settings::report(&path, &mistakes))
}

fn project_text(workspace: &Path) -> Result<Option<String>, Failure> {
    settings::read_if_there(&workspace.join(settings::PROJECT_FILE))
}

fn home() -> Result<PathBuf, Failure> {
    match std::env::var_os("HOME").filter(|home| !home.is_empty()) {
        Some(home) => Ok(Path::new(&home).canonicalize().unwrap_or_else(|_| home.into())),
        None => {
            Err(Failure::new(Exit::NotStarted, "HOME is not set, so there is no telling what to keep out")
                .hint("set HOME to your home directory"))
        }
    }
}

/// A path to hide. One that leads nowhere is told: it may be a slip. It is hidden when something appears there.
fn existing(path: &Path) -> Option<PathBuf> {
    let error = match path.canonicalize() {
        Ok(path) => return Some(path),
        Err(error) => error,
    };
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let place = absolute.parent().and_then(|above| above.canonicalize().ok()).zip(path.file_name());
    let then = if place.is_some() { "it is hidden when it appears" } else { "nothing is hidden there" };
    eprintln!("cofferdam: hide {}: {error}; {then}", Text::from(path));
    place.map(|(above, name)| above.join(name))
}

/// Where Cofferdam keeps its own files.
fn own_places(places: &Places) -> Vec<PathBuf> {
    let places = [&places.config, &places.state, &places.runtime];
    places.into_iter().map(|path| path.canonicalize().unwrap_or_else(|_| path.clone())).collect()
}

fn moved_places() -> Bases {
    let base =
        |variable: &str| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    Bases {
        home: PathBuf::new(),
        config: base("XDG_CONFIG_HOME"),
        data: base("XDG_DATA_HOME"),
        state: base("XDG_STATE_HOME"),
        cache: base("XDG_CACHE_HOME"),
    }
}

/// A path without links, as the sandbox will have it.
fn resolve(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize().map_err(|error| {
        Failure::new(Exit::NotStarted, format!("cannot use {}: {error}", path.display()))
            .hint("check the path")
    })
}
