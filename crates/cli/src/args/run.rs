//! `cofferdam run`, as typed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use cofferdam_policy::units;

use super::admission::Behalf;

/// Run one command in a sandbox
#[derive(Debug, Default, Args)]
#[command(after_help = "\
Examples:
  cofferdam run -- claude                    your agent, with a token where your key was
  cofferdam run --allow pypi.org --allow files.pythonhosted.org -- pip install .
  cofferdam run --learn -- ./agent           what it would need to be allowed
  cofferdam run --network none -- make test  no network at all
  cofferdam run --timeout 10m --read ~/datasets -- python3 train.py
  cofferdam run --profile strict --memory 2GiB -- ./untrusted
  cofferdam run --overlay -- ./try-something    the workspace stays as it is
  cofferdam run --publish 8000 -- python3 -m http.server 8000
  cofferdam run --dry-run -- true            print the plan and start nothing
  cofferdam run -- bash                      a shell, with a terminal of its own
  cofferdam run --session-kind gateway -- sh -c \"$AGENT_SAYS\"    an agent's command: judged, and asked about

Exit status: the command's own; 128+n if signal n ended it; 124 timeout; 125 the sandbox could not be
made; 126 not executable; 127 not found; 77 refused by policy.")]
pub struct Run {
    #[command(flatten)]
    pub sandbox: SandboxOptions,

    /// Give the command a terminal [default: if standard input, output and error are one]
    #[arg(short = 't', long, overrides_with = "no_tty")]
    pub tty: bool,

    /// Give the command no terminal
    #[arg(long)]
    pub no_tty: bool,

    /// Let the command write to your terminal whatever it likes: it can write your clipboard and type for you
    #[arg(long)]
    pub danger_raw_terminal: bool,

    /// Make a port of the sandbox reachable on this machine's loopback
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), conflicts_with = "danger_host_network")]
    pub publish: Vec<u16>,

    /// Keep the workspace as it is: writes go to a layer (see `cofferdam overlay --help`)
    #[arg(long)]
    pub overlay: bool,

    /// Write what was enforced and how it ended to a file, as JSON
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// Say what is allowed and how the sandbox is made, before it starts
    #[arg(long)]
    pub verbose: bool,

    /// Say at the end what was asked of the network: requests, refusals and bytes, by host
    #[arg(long)]
    pub summary: bool,

    /// Print at the end the configuration for what was refused
    #[arg(long)]
    pub learn: bool,

    #[command(flatten)]
    pub behalf: Behalf,

    /// Print the plan and start nothing
    #[arg(long)]
    pub dry_run: bool,

    /// With --dry-run: print the plan as JSON
    #[arg(long, requires = "dry_run")]
    pub json: bool,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// What a sandbox is to be, whatever runs in it
#[derive(Debug, Default, Args)]
pub struct SandboxOptions {
    /// How much of the host the command sees [default: the configured one, or workspace]
    #[arg(long, value_enum)]
    pub profile: Option<Profile>,

    /// The directory the command may write to [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,

    /// Show a path of the host, read-only
    #[arg(long, value_name = "PATH")]
    pub read: Vec<PathBuf>,

    /// Show a path of the host, writable
    #[arg(long, value_name = "PATH")]
    pub write: Vec<PathBuf>,

    /// Hide a path that the command would see
    #[arg(long, value_name = "PATH")]
    pub hide: Vec<PathBuf>,

    /// Pass a variable of yours on, or set one
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub env: Vec<OsString>,

    /// What the network is [default: proxy, unless egress is switched off in the configuration]
    #[arg(long, value_enum)]
    pub network: Option<Network>,

    /// Let the command reach a host, at ports 80 and 443 or at the one that is named
    #[arg(long, value_name = "HOST[:PORT]")]
    pub allow: Vec<String>,

    /// Use this provider and no other that is not named [default: all that a key is found for]
    #[arg(long, value_name = "NAME")]
    pub provider: Vec<String>,

    /// Give the command the real key of a provider instead of a token
    #[arg(long, value_name = "PROVIDER")]
    pub inherit_credentials: Vec<String>,

    /// Use the host's network: no protection of it at all
    #[arg(long)]
    pub danger_host_network: bool,

    /// What to do where the kernel lacks a layer [default: the configured one, or required]
    #[arg(long, value_enum)]
    pub isolation: Option<Isolation>,

    /// End the command, and all it started, after this long
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    pub timeout: Option<Duration>,

    /// Memory that the command may have: all of its processes, or each where no control group is yours
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub memory: Option<u64>,

    /// Processes that the command may have at once
    #[arg(long, value_name = "COUNT")]
    pub pids: Option<u32>,

    /// Processor time that a process of the command may use
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    pub cpu: Option<Duration>,

    /// The largest file that the command may write
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub file_size: Option<u64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Profile {
    /// System and workspace; none of your tools
    Strict,
    /// The same with your tools (~/.cargo, ~/.nvm, …), read-only
    Workspace,
    /// The same with your whole home, read-only, its secrets hidden
    Home,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Network {
    /// Sealed: every address leads to the egress proxy, which lets through what is allowed
    Proxy,
    /// A loopback of the sandbox's own and nothing else
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Isolation {
    /// Start nothing
    Required,
    /// Enforce the rest, and say what is missing
    BestEffort,
}
