//! `cofferdam overlay`, as typed.

use clap::{Args, Subcommand};

/// Look at what commands wrote with `run --overlay`, and apply or discard it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam run --overlay -- make
  cofferdam overlay list
  cofferdam overlay diff 3f9a0c11d2e4
  cofferdam overlay apply 3f9a0c11d2e4")]
pub struct OverlayArgs {
    #[command(subcommand)]
    pub command: OverlayCommand,
}

#[derive(Debug, Subcommand)]
pub enum OverlayCommand {
    /// List the layers that were neither applied nor discarded
    #[command(after_help = "Examples:\n  cofferdam overlay list\n  cofferdam overlay list --json")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what is different in a layer, and what would not be applied
    #[command(after_help = "Examples:\n  cofferdam overlay diff 3f9a0c11d2e4 --json")]
    Diff {
        /// The layer, as `overlay list` names it
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Carry a layer over into its workspace, each file at once or not at all
    #[command(after_help = "\
Examples:
  cofferdam overlay apply 3f9a0c11d2e4

What your own tools would run, files that hold secrets, links that lead out of the workspace and whatever
somebody else has changed since stay in the layer; the exit status is then 1.")]
    Apply {
        /// The layer, as `overlay list` names it
        id: String,
    },
    /// Remove a layer and everything in it
    #[command(after_help = "Examples:\n  cofferdam overlay discard 3f9a0c11d2e4")]
    Discard {
        /// The layer, as `overlay list` names it
        id: String,
    },
}
