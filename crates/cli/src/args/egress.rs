//! `egress`: the shared proxy.

use clap::{Args, Subcommand};
use cofferdam_policy::units;

/// The shared proxy: one for all sandboxes, containers and others
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam egress start
  cofferdam egress status
  cofferdam egress reload")]
pub struct EgressArgs {
    #[command(subcommand)]
    pub command: EgressCommand,
}

#[derive(Debug, Subcommand)]
pub enum EgressCommand {
    Start(EgressStart),
    Stop(EgressStop),
    Restart(EgressRestart),
    Reload(EgressReload),
    Status(EgressStatus),
    Metrics(EgressMetrics),
    /// The supervisor; started by `start`
    #[command(hide = true)]
    Supervise {
        nonce: String,
    },
    /// The worker; started by the supervisor
    #[command(hide = true)]
    Work,
}

/// Start the proxy; comes back when it answers
///
/// It keeps nothing of this environment but the values that sources of the configuration read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam egress start
  cofferdam egress start --foreground     for systemd and containers; logs to standard error")]
pub struct EgressStart {
    /// Stay, and log to standard error; takes a socket from systemd and tells it when it is ready
    #[arg(long)]
    pub foreground: bool,
}

/// Stop the proxy
///
/// It is asked to end, and killed if it does not. A process that merely has its number is left alone.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cofferdam egress stop")]
pub struct EgressStop {
    /// How long it may take to end by itself
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = units::duration)]
    pub grace: std::time::Duration,
}

/// Stop the proxy if it runs, and start it
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cofferdam egress restart")]
pub struct EgressRestart {}

/// Let the running proxy read its configuration again
///
/// A valid configuration takes effect for every request from then on, and no connection is closed. One with a mistake
/// changes nothing; the mistakes are printed and the status is 78. Saving the file and SIGHUP do the same.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cofferdam egress reload")]
pub struct EgressReload {}

/// Tell whether the proxy runs and serves, and what it covers
///
/// Status 0 if it serves, 1 if it does not.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cofferdam egress status\n  cofferdam egress status --json")]
pub struct EgressStatus {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Print counters of the running proxy in the format of Prometheus
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cofferdam egress metrics")]
pub struct EgressMetrics {}
