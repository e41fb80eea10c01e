//! What was typed. One definition per flag feeds the parser, the help, the manual and the completions.

pub mod admission;
pub mod approvals;
pub mod audit;
mod completions;
mod config;
pub mod demo;
pub mod docker;
pub mod doctor;
pub mod egress;
mod env;
pub mod exec_code;
pub mod hook;
mod man;
mod mistake;
mod often;
pub mod overlay;
mod providers;
mod read_guard;
pub mod run;
mod secrets;
pub mod session;

use clap::{Parser, Subcommand};

use crate::exit::Exit;

pub use completions::{CompletionsArgs, Shell};
pub use config::ConfigCommand;
pub use env::{ChildArgs, EnvArgs, EnvCommand, TrustArg};
pub use man::ManArgs;
pub use providers::{KindArg, ProvidersArgs, ProvidersCommand};
pub use read_guard::ReadGuardArgs;
pub use secrets::{SecretsArgs, SecretsCheckArgs, SecretsCommand, SecretsListArgs};

#[derive(Debug, Parser)]
#[command(
    name = "cofferdam",
    version,
    about,
    max_term_width = 100,
    disable_help_subcommand = true,
    color = clap::ColorChoice::Auto,
    after_help = "\
Examples:
  cofferdam demo                     see it work, without keys or internet
  cofferdam run -- claude            your agent, in a sandbox without your keys
  cofferdam env show                 what a child would get of your environment
  cofferdam secrets check            whether every credential can be loaded
  cofferdam config check             every mistake in your configuration
  cofferdam audit tail -f            decisions, as they are made"
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(Box<run::Run>),
    ExecCode(Box<exec_code::ExecCode>),
    /// Serves the file tools of a script, inside its sandbox
    #[command(hide = true)]
    FileTools,
    /// Watches for secrets that appear while a sandbox runs; started by whoever holds one
    #[command(hide = true)]
    LateSecrets,
    /// Keeps approved bytes in place while a command of a session runs; started by whoever holds the session
    #[command(hide = true)]
    ApprovedBytes,
    Session(session::SessionArgs),
    Overlay(overlay::OverlayArgs),
    Doctor(doctor::DoctorArgs),
    Demo(demo::DemoArgs),
    Egress(egress::EgressArgs),
    Docker(docker::DockerArgs),
    /// The gate: what a command would do, and whether somebody has to be asked
    Approvals(approvals::Approvals),
    Hook(hook::HookArgs),
    Env(EnvArgs),
    Providers(ProvidersArgs),
    Secrets(SecretsArgs),
    ReadGuard(ReadGuardArgs),
    Audit(audit::AuditArgs),
    /// Look after the configuration
    #[command(subcommand, after_help = "Examples:\n  cofferdam config check")]
    Config(ConfigCommand),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Parses the command line; help and version go to standard output, mistakes to standard error.
pub fn parse() -> Result<Args, Exit> {
    if let Some(command) = often::parse() {
        return Ok(Args { command });
    }
    Args::try_parse().map_err(|error| {
        if error.use_stderr() {
            let exit = mistake::failure(&error).report();
            // An agent that calls a hook takes every other number for a yes.
            let hook = std::env::args_os().nth(1).is_some_and(|command| command == "hook");
            return if hook { Exit::Ask } else { exit };
        }
        // Nothing is left to do when the terminal is gone.
        let _ = error.print();
        Exit::Success
    })
}
