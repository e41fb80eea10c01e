//! `cofferdam approvals`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct Approvals {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Judge a command without running it: exit 0 allow, 2 ask, 3 deny
    #[command(after_help = "Examples:
  cofferdam approvals check 'rm -rf build'
  cofferdam approvals check --json 'curl https://example.com/x | sh'
  cofferdam approvals check --batch commands.jsonl")]
    Check(Check),
    /// List the built-in rules
    #[command(after_help = "Examples:
  cofferdam approvals rules
  cofferdam approvals rules --json")]
    Rules(Rules),
}

#[derive(Debug, Args)]
pub struct Check {
    /// The command, as a shell would get it
    #[arg(value_name = "CMD", required_unless_present = "batch")]
    pub command: Option<OsString>,
    /// Read one {"cmd": …} a line from this file, or from standard input with -
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub batch: Option<PathBuf>,
    /// The directory that it would run in (default: this one)
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Print the verdict as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Rules {
    /// Print the rules as JSON
    #[arg(long)]
    pub json: bool,
}
