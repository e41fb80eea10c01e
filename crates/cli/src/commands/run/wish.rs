//! From what was typed and what is configured to what the sandbox is asked for.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cofferdam_linux_sys::exec::Image;
use cofferdam_policy::document::{self, Project, SandboxLimits};
use cofferdam_policy::environment::{self, HostEnvironment, Origin, ProviderVariables, Trust, Wish};
use cofferdam_policy::layers::{Layered, RunOptions};
use cofferdam_policy::provider::Provider;
use cofferdam_policy::registry::Registry;
use cofferdam_policy::secret_paths::Bases;
use cofferdam_sandbox::overlay::Layer;
use cofferdam_sandbox::plan::{Identity, Isolation, Limits, Network, Plan};
use cofferdam_sandbox::planner;
use cofferdam_sandbox::request::{Profile, Request};
use cofferdam_sandbox::survey::Machine;
use cofferdam_sandbox::text::Text;

use crate::args::run::{Isolation as TypedIsolation, Profile as TypedProfile, SandboxOptions};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::places::Places;
use crate::settings::{self, Settings};

/// Open files that a command may have: what servers are given, and far from what the kernel can hold.
const OPEN_FILES: u64 = 65_536;
/// Processes and threads that a command may have at once: more than any build starts.
const PROCESSES: u64 = 4096;

/// Everything that one run is asked to be.
pub struct Wished {
    pub request: Request,
    /// Time on the wall clock.
    pub timeout: Option<Duration>,
    layered: Layered,
    places: Places,
}

impl Wished {
    /// Reads the configuration, lets the project narrow it, and puts what was typed on top.
    pub fn read(args: &SandboxOptions, network: Network) -> Result<Self, Failure> {
        let settings = Settings::load()?;
        let workspace = resolve(args.workspace.as_deref().unwrap_or(Path::new(".")))?;
        let home = home()?;
        let hidden = |hide: &[String], beside: &Path| -> Vec<PathBuf> {
            hide.iter().filter_map(|text| document::locate(text, beside, Some(&home))).collect()
        };
        let mut hide = hidden(&settings.config.sandbox.hide, &settings.places.config);
        let mut layered = Layered::new(settings.config);
        if let Some(project) = project(&workspace)? {
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
        Ok(Self { request, timeout: sandbox.limits.wall, layered, places: settings.places })
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

    /// Where the configuration lies.
    pub fn beside(&self) -> &Path {
        &self.places.config
    }

    /// The user's own providers.
    pub fn providers(&self) -> Vec<Provider> {
        self.layered.config.providers.clone()
    }

    pub fn plan(&self) -> Result<Plan, Failure> {
        planner::plan(&self.request, Identity::own(), &Machine::look())
            .map_err(|refusal| Failure::new(Exit::NotStarted, refusal.to_string()).hint(refusal.hint()))
    }

    /// The command with the environment that an unknown program gets.
    pub fn image(&self, typed: &[OsString], command: &[OsString]) -> Result<Image, Failure> {
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
        let mut request = environment::Request::plain(Trust::Unknown);
        request.wishes = &wishes;
        let built = environment::build(&host, &request, &ProviderVariables::new(&registry));
        Image::new(command, &built.environment).map_err(|error| {
            Failure::new(Exit::NotStarted, format!("the command cannot be started: {error}"))
        })
    }
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
    let path = workspace.join(settings::PROJECT_FILE);
    if path
        .symlink_metadata()
        .is_err_and(|error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
    {
        return Ok(None);
    }
    let text = settings::read_text(&path)?;
    let shown = path.display().to_string();
    Project::parse(&shown, &text).map(Some).map_err(|mistakes| settings::report(&path, &mistakes))
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

/// A path to hide. One that leads nowhere is told: it may be a slip.
fn existing(path: &Path) -> Option<PathBuf> {
    path.canonicalize()
        .inspect_err(|error| {
            eprintln!("cofferdam: hide {}: {error}; nothing is hidden there", Text::from(path));
        })
        .ok()
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
