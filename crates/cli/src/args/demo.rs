//! `cofferdam demo`, as typed.

use std::path::PathBuf;

use clap::Args;

/// Show it on this machine: an invented key, a command that uses it, and a dozen tries to steal it
///
/// Needs no key and no internet. A local host is started, a key invented, and a command run in a sandbox; it asks the
/// host with its token, and then tries to get at the key. What became of each try is printed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam demo
  cofferdam demo --json

Exit status: 0 if the host got the key and nothing else did; 1 if a try worked; 125 if there was no sandbox.")]
pub struct DemoArgs {
    /// Print the outcome as JSON
    #[arg(long)]
    pub json: bool,

    /// What the sandboxed command runs: the tries, with the facts in this file
    #[arg(long, hide = true, value_name = "FILE")]
    pub inside: Option<PathBuf>,
}
