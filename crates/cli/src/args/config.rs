//! `cofferdam config`.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Check a configuration and show every mistake in it
    ///
    /// Without FILE, the configuration that every command uses. A file called .cofferdam.toml is checked as
    /// the file of a project, which may only narrow.
    #[command(after_help = "Examples:
  cofferdam config check
  cofferdam config check new-config.toml
  cofferdam config check --json .cofferdam.toml")]
    Check {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
        /// The file to check
        file: Option<PathBuf>,
    },
}
