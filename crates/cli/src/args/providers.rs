//! `providers`: which credentials are covered, and how.

use clap::{Args, Subcommand, ValueEnum};

/// List the providers whose credentials are known, and show one of them
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cofferdam providers list\n  cofferdam providers show anthropic")]
pub struct ProvidersArgs {
    #[command(subcommand)]
    pub command: ProvidersCommand,
}

#[derive(Debug, Subcommand)]
pub enum ProvidersCommand {
    /// List all providers, built in and your own, and which of their variables are set here
    #[command(
        after_help = "Examples:\n  cofferdam providers list\n  cofferdam providers list --kind model\n  cofferdam providers list --json"
    )]
    List {
        /// Only providers of this kind
        #[arg(long)]
        kind: Option<KindArg>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one provider: hosts, variables, where its credential goes, what stands in for it
    #[command(
        after_help = "Examples:\n  cofferdam providers show anthropic\n  cofferdam providers show telegram --json"
    )]
    Show {
        /// The provider's name, as in the list
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KindArg {
    Model,
    Tool,
    Messaging,
    Code,
    Cloud,
}
