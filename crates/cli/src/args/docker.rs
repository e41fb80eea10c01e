//! `cofferdam docker`, as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Containers: their only way out, and the shim that drops privileges
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam docker run --rm -it -v \"$PWD:/work\" -w /work python:3 python agent.py
  cofferdam docker args --rm my-agent
  cofferdam docker exec my-agent pip install httpx
  cofferdam docker shim heal /var/lib/hermes --user hermes")]
pub struct DockerArgs {
    #[command(subcommand)]
    pub command: DockerCommand,
}

#[derive(Debug, Subcommand)]
pub enum DockerCommand {
    /// A container whose only way out is the proxy, which puts the credentials in
    ///
    /// The container has no network but a loopback, on which the daemon of `cofferdam egress start` serves a proxy and a
    /// resolver for it alone. It holds tokens instead of keys, a read-only root, no capabilities, and limits.
    ///
    /// Options of Cofferdam come first, then those of the engine, as you know them, then the image. An option that would
    /// undo the wiring is refused with the reason.
    #[command(after_help = "\
Examples:
  cofferdam docker run --rm -it -v \"$PWD:/work\" -w /work python:3 python agent.py
  cofferdam docker run --engine podman --allow pypi.org my-agent
  cofferdam docker run --provider openai -d --name agent my-agent
  cofferdam docker run --bridge --network my-network -p 8080:8080 my-agent")]
    Run(StartArgs),
    /// The same call, printed instead of made
    ///
    /// The way out waits ten minutes for the container.
    #[command(after_help = "\
Examples:
  cofferdam docker args --rm -it my-agent
  sh -c \"$(cofferdam docker args --rm my-agent)\"")]
    Args(StartArgs),
    /// One more command in a container of `docker run`, past the approval gate
    ///
    /// It has the variables that the container was made with. A container whose way out has gone, that was made with
    /// other settings or before the authority was changed, is not used again.
    #[command(after_help = "\
Examples:
  cofferdam docker exec my-agent ls /work
  cofferdam docker exec -it my-agent sh")]
    Exec(ExecArgs),
    /// What to lay over a compose project so that its services are sealed
    ///
    /// Prints a file for `docker compose -f`. The ways out wait ten minutes for their containers; write it anew before
    /// each start. A service that asks for what would undo the wiring is refused with the reason.
    #[command(after_help = "\
Examples:
  cofferdam docker compose-override > sealed.json && docker compose -f compose.yaml -f sealed.json up
  docker compose config --format json | cofferdam docker compose-override --service agent - > sealed.json")]
    ComposeOverride(ComposeArgs),
    /// Whether a container on a bridge reaches the proxy, seen from inside of one
    ///
    /// Starts a container of the image that does nothing but look, and says what stands in the way: a firewall of the
    /// machine that drops or rejects what comes from the bridge, or nobody who listens.
    #[command(after_help = "\
Examples:
  cofferdam docker doctor my-agent
  cofferdam docker doctor --network my-network --port 9191 my-agent")]
    Doctor(DoctorArgs),
    /// The address of a container bridge, as the kernel tells it, for the proxy to listen on
    ///
    /// For containers that need a network of their engine's. They are led to the proxy by their variables alone; a sealed
    /// container has no other way.
    #[command(after_help = "\
Examples:
  cofferdam docker bridge
  cofferdam docker bridge podman0 --json")]
    Bridge(BridgeArgs),
    /// The privilege-drop shim: `docker exec` as root runs a tool as the service's user
    #[command(after_help = "\
Examples:
  cofferdam docker shim install --root ./rootfs --tool hermes --user hermes --target /opt/hermes/bin/hermes
  cofferdam docker shim heal /var/lib/hermes --user hermes --apply")]
    Shim {
        #[command(subcommand)]
        command: ShimCommand,
    },
}

#[derive(Debug, Args)]
pub struct StartArgs {
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub reached: ReachedArgs,
    /// Give the container a network of its engine's; its variables lead it to the proxy at the bridge's own address
    #[arg(long)]
    pub bridge: bool,
    /// The port of the proxy on the bridge, for a firewall that lets one port in [default: one that is free]
    #[arg(long, value_name = "PORT", requires = "bridge")]
    pub port: Option<u16>,
    /// Options of the engine, the image, and the command
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "OPTIONS IMAGE COMMAND"
    )]
    pub words: Vec<String>,
}

/// What a container may reach.
#[derive(Debug, Default, Args)]
pub struct ReachedArgs {
    /// A host that may be reached, besides those of the providers; with :PORT for another port
    #[arg(long, value_name = "HOST")]
    pub allow: Vec<String>,
    /// Only these providers; without it, all that a credential is known for
    #[arg(long, value_name = "NAME")]
    pub provider: Vec<String>,
}

#[derive(Debug, Args)]
pub struct ComposeArgs {
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub reached: ReachedArgs,
    /// Only this service; without it, all of them
    #[arg(long, value_name = "NAME")]
    pub service: Vec<String>,
    /// The project as `docker compose config --format json` prints it; - for standard input [default: that is called]
    #[arg(value_name = "PROJECT")]
    pub project: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    pub engine: EngineArgs,
    /// The engine's network [default: its usual one]
    #[arg(long, value_name = "NAME")]
    pub network: Option<String>,
    /// The port of the proxy on the bridge [default: one that is free]
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// An image; nothing of it is run
    pub image: String,
}

#[derive(Debug, Args)]
pub struct BridgeArgs {
    /// The bridge
    #[arg(default_value = "docker0")]
    pub name: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ExecArgs {
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Keep standard input open
    #[arg(short, long)]
    pub interactive: bool,
    /// Give it a terminal
    #[arg(short, long)]
    pub tty: bool,
    /// The directory to start in, inside
    #[arg(short, long, value_name = "DIR")]
    pub workdir: Option<String>,
    /// The container, by the engine's name for it
    pub container: String,
    /// The command and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub command: Vec<String>,
}

#[derive(Debug, Clone, Args)]
pub struct EngineArgs {
    /// Which engine; without it, the first that is installed
    #[arg(long, value_enum)]
    pub engine: Option<EngineArg>,
    /// A word for the engine before its command, such as --engine-option=--host=ssh://…
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    pub engine_option: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EngineArg {
    Docker,
    Podman,
}

#[derive(Debug, Subcommand)]
pub enum ShimCommand {
    Install(ShimInstallArgs),
    Heal(ShimHealArgs),
}

/// Put the shim into an image's tree, in front of the real tool
///
/// Two files are written: the shim under the tool's name, and /etc/cofferdam/shim/NAME, which says what is
/// behind it. A container that is called as root then runs the tool as the user; anybody else's call passes straight
/// through. In a Dockerfile, use --root / in a RUN line.
#[derive(Debug, Args)]
#[command(
    override_usage = "cofferdam docker shim install --root DIR --tool NAME --user USER --target PATH [OPTIONS]",
    after_help = "\
Examples:
  cofferdam docker shim install --root ./rootfs --tool hermes --user hermes --target /opt/hermes/bin/hermes
  cofferdam docker shim install --root / --tool psql --user app --target /usr/bin/psql --opt-out APP_KEEP_ROOT"
)]
pub struct ShimInstallArgs {
    /// The root of the image's tree
    #[arg(long, value_name = "DIR")]
    pub root: PathBuf,
    /// The name that people call
    #[arg(long, value_name = "NAME")]
    pub tool: String,
    /// The user that the tool should run as
    #[arg(long)]
    pub user: String,
    /// The real tool, as a path inside the image
    #[arg(long, value_name = "PATH")]
    pub target: PathBuf,
    /// A variable that keeps root for whoever sets it to 1, true or yes
    #[arg(long, value_name = "VARIABLE")]
    pub opt_out: Option<String>,
    /// The mask for new files
    #[arg(long, value_name = "OCTAL")]
    pub umask: Option<String>,
    /// Where the shim goes, inside; it must come before the real tool on the path
    #[arg(long, value_name = "DIR", default_value = "/usr/local/bin")]
    pub directory: PathBuf,
}

/// Find what root left in a service's state directory, and give it to the service's user
///
/// Status 1 when something of root's is still there. Links are not followed, mounts not entered; files with a second
/// name, set-user-ID files and devices are named and left as they are.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam docker shim heal /var/lib/hermes --user hermes
  cofferdam docker shim heal /var/lib/hermes --user 1000:1000 --apply")]
pub struct ShimHealArgs {
    /// The state directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Whom the files should belong to: a name, or UID:GID
    #[arg(long, value_name = "USER")]
    pub user: String,
    /// Change the owners; without it they are only listed
    #[arg(long)]
    pub apply: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
