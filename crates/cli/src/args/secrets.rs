//! `secrets`: where credentials are kept, and whether they can be had.

use clap::{Args, Subcommand};

/// Show where the secrets of providers are kept, and check that they can be read; never a value
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cofferdam secrets list\n  cofferdam secrets check anthropic")]
pub struct SecretsArgs {
    #[command(subcommand)]
    pub command: SecretsCommand,
}

#[derive(Debug, Subcommand)]
pub enum SecretsCommand {
    List(SecretsListArgs),
    Check(SecretsCheckArgs),
}

/// List every provider that has a secret, and where it is kept
///
/// Nothing is read: a file is not opened and a command is not run. Providers of the built-in registry are
/// listed if one of their variables is set.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cofferdam secrets list\n  cofferdam secrets list --json")]
pub struct SecretsListArgs {
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

/// Read every secret as a request would, and say whether it can be had
///
/// Status 0 if all of them can, 1 if one of them cannot. Neither a value nor anything that a source printed
/// is shown.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cofferdam secrets check\n  cofferdam secrets check anthropic\n  cofferdam secrets check --json"
)]
pub struct SecretsCheckArgs {
    /// Check the secret of this provider alone
    pub provider: Option<String>,
    /// Print what was found as JSON
    #[arg(long)]
    pub json: bool,
}
