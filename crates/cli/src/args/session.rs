//! `cofferdam session`, as typed.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, Subcommand};
use cofferdam_policy::units;

use super::admission::Behalf;
use super::run::SandboxOptions;

/// Keep a sandbox, and run commands in it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam session new --name build
  cofferdam session exec build -c 'cd src && export MODE=fast'
  cofferdam session exec build -c 'echo $MODE in $PWD'      the same directory and variables
  cofferdam session exec build --background -- python3 -m http.server
  cofferdam session logs build 3 --follow
  cofferdam session attach build                            leave it with Ctrl-]
  cofferdam session send build 'make test'                  typed into its terminal
  cofferdam session kill build")]
pub struct SessionArgs {
    #[command(subcommand)]
    pub command: SessionCommand,
}

#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    New(Box<SessionNew>),
    Exec(SessionExec),
    Attach(SessionAttach),
    Send(SessionSend),
    List(SessionList),
    Ps(SessionPs),
    Logs(SessionLogs),
    Kill(SessionKill),
    /// The process that holds a session; started by `new`
    #[command(hide = true)]
    Keep,
    /// The process that lets a session out where no daemon runs; started by `new`
    #[command(hide = true)]
    WayOut {
        session: String,
    },
}

/// Make a sandbox that stays, and print its name
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam session new
  cofferdam session new --name build --memory 4GiB --idle-timeout 1h
  cofferdam session new --allow pypi.org --allow files.pythonhosted.org
  cofferdam session new --publish 8080 --overlay")]
pub struct SessionNew {
    /// What it is called [default: a random name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// End it when nothing has run in it for this long
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    pub idle_timeout: Option<Duration>,

    /// Make a port of the sandbox reachable on this machine's loopback, for as long as it is there
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub publish: Vec<u16>,

    /// Let everything that is written to the workspace go to a layer, to be looked at, applied or discarded later
    #[arg(long)]
    pub overlay: bool,

    #[command(flatten)]
    pub sandbox: SandboxOptions,
}

/// Run a command in a session
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam session exec build -- make test
  cofferdam session exec build -c 'cd src; export MODE=fast'
  cofferdam session exec build --background -- ./server

Shell text leaves its directory and variables to the next command; with bash its functions and aliases too.
Exit status: as for `cofferdam run`.")]
pub struct SessionExec {
    /// The session's name
    pub session: String,

    /// Do not wait: keep the output for `session logs`, and print the number of the process
    #[arg(long)]
    pub background: bool,

    /// End the command, and all it started, after this long
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    pub timeout: Option<Duration>,

    #[command(flatten)]
    pub behalf: Behalf,

    /// Run this text in a shell
    #[arg(short = 'c', value_name = "TEXT", conflicts_with = "command", required_unless_present = "command")]
    pub text: Option<OsString>,

    /// The command and its arguments
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// Use a shell of a session on this terminal
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam session attach build
  cofferdam session attach build -- python3

Ctrl-] leaves it running; attaching again comes back to it.")]
pub struct SessionAttach {
    /// The session's name
    pub session: String,

    /// Let the command write to your terminal whatever it likes: it can write your clipboard and type for you
    #[arg(long)]
    pub danger_raw_terminal: bool,

    #[command(flatten)]
    pub behalf: Behalf,

    /// What to run [default: what was left running, or a shell]
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// Type a line into the terminal of a session
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam session send build 'make test'
  cofferdam session send build --session-kind gateway \"$AGENT_SAYS\"
  cofferdam session logs build 4          what it said to that, while nobody is attached

The line is judged like any command. Without a terminal in the session a shell is started in one.
Prints the number of the process that it was typed to.")]
pub struct SessionSend {
    /// The session's name
    pub session: String,

    #[command(flatten)]
    pub behalf: Behalf,

    /// What to type; the end of the line is added
    pub text: OsString,
}

/// List the sessions
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam session list
  cofferdam session list --json")]
pub struct SessionList {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// List what was started in a session
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam session ps build
  cofferdam session ps build --json")]
pub struct SessionPs {
    /// The session's name
    pub session: String,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Print what a background process has written
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam session logs build 3
  cofferdam session logs build 3 --follow      until it ends; its status becomes this command's")]
pub struct SessionLogs {
    /// The session's name
    pub session: String,

    /// The number that `exec --background` has printed
    pub process: u64,

    /// Go on until the process ends
    #[arg(short, long)]
    pub follow: bool,
}

/// End a session, or one process of it with all it started
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam session kill build
  cofferdam session kill build 3")]
pub struct SessionKill {
    /// The session's name
    pub session: String,

    /// A process of it
    pub process: Option<u64>,
}
