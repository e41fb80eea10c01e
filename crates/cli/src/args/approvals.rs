//! `cofferdam approvals`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam approvals check 'rm -rf build'
  cofferdam approvals list
  cofferdam approvals allow k3w9m2pa")]
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
    /// Judge a command and ask whoever has to be asked: exit 0 approved, 3 not
    ///
    /// Nothing is run. What is approved is this command, in this directory, for this kind of session, with its
    /// scripts as they are now.
    #[command(after_help = "Examples:
  cofferdam approvals ask 'git push --force'
  cofferdam approvals ask --json --session-kind gateway --session chat-7 'rm -rf data'")]
    Ask(Ask),
    /// Show what waits for an answer, and the rules that were approved for always
    #[command(after_help = "Examples:
  cofferdam approvals list
  cofferdam approvals list --json")]
    List(Rules),
    /// Say yes to a question that waits
    #[command(after_help = "Examples:
  cofferdam approvals allow k3w9m2pa
  cofferdam approvals allow k3w9m2pa --for always")]
    Allow(Allow),
    /// Say no to a question that waits
    #[command(after_help = "Examples:
  cofferdam approvals deny k3w9m2pa
  cofferdam approvals deny k3w9m2pa --comment 'use the staging database'")]
    Deny(Deny),
    /// Hand questions out and take answers over a socket, for a chat gateway
    ///
    /// The socket is approvals.sock in the runtime directory; one JSON object a line, both ways. Only processes of the
    /// same user are heard. docs/approval.md has the words.
    #[command(after_help = "Examples:
  cofferdam approvals serve
  echo '{\"do\": \"list\"}' | nc -NU \"$XDG_RUNTIME_DIR/cofferdam/approvals.sock\"")]
    Serve,
    /// Take a rule out of approvals.toml; it no longer holds from then on
    #[command(after_help = "Examples:
  cofferdam approvals revoke k3w9m2pa")]
    Revoke(Revoke),
}

/// On whose behalf it is asked.
#[derive(Debug, Args)]
pub struct SessionArgs {
    /// The name of the session that the command belongs to
    #[arg(long, value_name = "NAME", default_value = "command-line")]
    pub session: String,
    /// Who is on the other side of the session
    #[arg(long, value_name = "KIND", default_value = "interactive")]
    pub session_kind: KindArg,
    /// The directory that it would run in (default: this one)
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum KindArg {
    /// Somebody at a terminal
    Interactive,
    /// Somebody in a chat
    Gateway,
    /// A schedule
    Cron,
    /// A script or a service
    Headless,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ScopeArg {
    Once,
    Session,
    Always,
}

#[derive(Debug, Args)]
pub struct Ask {
    /// The command, as a shell would get it
    #[arg(value_name = "CMD")]
    pub command: String,
    #[command(flatten)]
    pub session: SessionArgs,
    /// It would run in a sandbox or a container
    #[arg(long)]
    pub isolated: bool,
    /// Print the decision as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Allow {
    /// The question
    pub id: String,
    /// How long the yes holds
    #[arg(long = "for", value_name = "SCOPE", default_value = "once")]
    pub scope: ScopeArg,
    /// The digest of what was shown; another one is not answered
    #[arg(long, value_name = "DIGEST")]
    pub digest: Option<String>,
}

#[derive(Debug, Args)]
pub struct Deny {
    /// The question
    pub id: String,
    /// Why not; the agent is told
    #[arg(long, value_name = "TEXT")]
    pub comment: Option<String>,
    /// The digest of what was shown; another one is not answered
    #[arg(long, value_name = "DIGEST")]
    pub digest: Option<String>,
}

#[derive(Debug, Args)]
pub struct Revoke {
    /// The rule
    #[arg(required_unless_present = "session")]
    pub id: Option<String>,
    /// Take a whole session back: its approvals are forgotten, and scripts that run in its name end
    #[arg(long, value_name = "NAME", conflicts_with = "id")]
    pub session: Option<String>,
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
