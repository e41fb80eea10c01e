//! `cofferdam run`: one command in a sandbox, from the wish to the exit status.

mod outcome;
mod supervise;

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use cofferdam_linux_sys::exec::Image;
use cofferdam_policy::environment::{self, HostEnvironment, Origin, ProviderVariables, Trust, Wish};
use cofferdam_policy::registry::Registry;
use cofferdam_policy::secret_paths::Bases;
use cofferdam_sandbox::launch::{self, Start};
use cofferdam_sandbox::plan::{Identity, Limits, Network, Plan};
use cofferdam_sandbox::planner;
use cofferdam_sandbox::request::{Profile, Request};
use cofferdam_sandbox::survey::Machine;
use cofferdam_sandbox::text::Text;

use crate::args::run::{Profile as TypedProfile, Run};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::places::Places;

pub fn run(args: &Run) -> Result<Exit, Failure> {
    let network = if args.danger_host_network { Network::Host } else { Network::None };
    if args.dry_run {
        let plan = plan(args, network)?;
        return if args.json { output::json(&plan) } else { output::text(&plan.to_string()) }
            .map(|()| Exit::Success);
    }
    if network == Network::Host {
        eprintln!(
            "cofferdam: the command has the host's network: it reaches every host and every local service"
        );
    }
    // First of all, before anything is read: the sandbox begins as a copy of this process.
    let prepared = launch::prepare(network).map_err(|error| outcome::no_namespaces(&error))?;
    let plan = plan(args, network)?;
    if plan.looked.unfinished {
        eprintln!(
            "cofferdam: {} names were looked through for secrets, and there are more; name others with --hide",
            plan.looked.names
        );
    }
    let image = image(args)?;
    let (sandbox, report) = prepared.build(&plan).map_err(|problem| outcome::not_built(&problem))?;
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let start = Start {
        image: &image,
        directory: &workspace(args)?,
        terminal: None,
        limits: plan.limits,
        descriptors: &[stdin.as_fd(), stdout.as_fd(), stderr.as_fd()],
    };
    let end = supervise::supervise(&sandbox, &start, args.timeout)?;
    for held in &end.held {
        eprintln!("cofferdam: the command made a file that your own tools would run; it is now {held}");
    }
    if let Some(path) = &args.report {
        outcome::write_report(path, &report, &end)?;
    }
    outcome::exit(&end, &args.command)
}

fn plan(args: &Run, network: Network) -> Result<Plan, Failure> {
    let home = std::env::var_os("HOME")
        .filter(|home| !home.is_empty())
        .map_or_else(|| PathBuf::from("/root"), PathBuf::from);
    let request = Request {
        profile: match args.profile {
            TypedProfile::Strict => Profile::Strict,
            TypedProfile::Workspace => Profile::Workspace,
            TypedProfile::Home => Profile::Home,
        },
        workspace: workspace(args)?,
        home: home.canonicalize().unwrap_or(home),
        read: args.read.iter().map(|path| resolve(path)).collect::<Result<_, _>>()?,
        write: args.write.iter().map(|path| resolve(path)).collect::<Result<_, _>>()?,
        hide: hidden(args),
        own: own_places(),
        moved: moved_places(),
        network,
        limits: Limits {
            memory: args.memory,
            processes: args.pids,
            cpu_seconds: args.cpu.map(|time| time.as_secs().max(1)),
            file_size: None,
            open_files: None,
        },
    };
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    planner::plan(&request, Identity { user, group }, &Machine)
        .map_err(|refusal| Failure::new(Exit::NotStarted, refusal.to_string()).hint(refusal.hint()))
}

/// The paths that the person wants hidden. One that leads nowhere is told: it may be a slip.
fn hidden(args: &Run) -> Vec<PathBuf> {
    let mut hidden = Vec::new();
    for path in &args.hide {
        match path.canonicalize() {
            Ok(path) => hidden.push(path),
            Err(error) => {
                eprintln!(
                    "cofferdam: --hide {}: {error}; nothing is hidden there",
                    Text::from(path.as_path())
                );
            }
        }
    }
    hidden
}

/// Where Cofferdam keeps its own files. Where there is no place for them, there are none.
fn own_places() -> Vec<PathBuf> {
    let places = Places::find().map(|places| vec![places.config, places.state, places.runtime]);
    places.unwrap_or_default().into_iter().map(|path| path.canonicalize().unwrap_or(path)).collect()
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

fn workspace(args: &Run) -> Result<PathBuf, Failure> {
    resolve(args.workspace.as_deref().unwrap_or(Path::new(".")))
}

/// A path without links, as the sandbox will have it.
fn resolve(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize().map_err(|error| {
        Failure::new(Exit::NotStarted, format!("cannot use {}: {error}", path.display()))
            .hint("check the path")
    })
}

/// The command with the environment that an unknown program gets.
fn image(args: &Run) -> Result<Image, Failure> {
    let wishes = args
        .env
        .iter()
        .map(|typed| Wish::parse(typed, Origin::CommandLine))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|bad| {
            Failure::new(Exit::NotStarted, format!("--env: {bad}")).hint("write NAME or NAME=VALUE")
        })?;
    let host = HostEnvironment::new(std::env::vars_os());
    let registry = Registry::default();
    let mut request = environment::Request::plain(Trust::Unknown);
    request.wishes = &wishes;
    let built = environment::build(&host, &request, &ProviderVariables::new(&registry));
    Image::new(&args.command, &built.environment)
        .map_err(|error| Failure::new(Exit::NotStarted, format!("the command cannot be started: {error}")))
}
