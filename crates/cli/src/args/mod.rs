//! What was typed. One definition per flag feeds the parser, the help, the manual and the completions.

mod completions;
mod config;
mod man;
mod mistake;
mod read_guard;
pub mod run;
mod secrets;
pub mod session;

use clap::{Parser, Subcommand};

use crate::exit::Exit;

pub use completions::{CompletionsArgs, Shell};
pub use config::ConfigCommand;
pub use man::ManArgs;
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
    after_help = "Examples:\n  cofferdam read-guard notes.txt\n  cofferdam read-guard --help"
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(Box<run::Run>),
    Session(session::SessionArgs),
    /// Look after the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    Secrets(SecretsArgs),
    ReadGuard(ReadGuardArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Parses the command line; help and version go to standard output, mistakes to standard error.
pub fn parse() -> Result<Args, Exit> {
    Args::try_parse().map_err(|error| {
        if error.use_stderr() {
            return mistake::failure(&error).report();
        }
        // Nothing is left to do when the terminal is gone.
        let _ = error.print();
        Exit::Success
    })
}
