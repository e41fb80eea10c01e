//! `egress`: the shared proxy.

use clap::{Args, Subcommand, ValueEnum};
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
    Setup(EgressSetup),
    Start(EgressStart),
    Stop(EgressStop),
    Restart(EgressRestart),
    Reload(EgressReload),
    Status(EgressStatus),
    Metrics(EgressMetrics),
    Config(EgressConfig),
    Disable(EgressDisable),
    RotateTokens(EgressRotateTokens),
    RotateCa(EgressRotateCa),
    Doctor(EgressDoctor),
    /// The record of what left and what was not let out; the same as `audit`, for the proxy alone
    #[command(
        after_help = "Examples:
  cofferdam egress audit tail -f
  cofferdam egress audit grep --decision refused --since 1h",
        mut_subcommands(of_the_proxy)
    )]
    Audit(super::audit::AuditArgs),
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

/// Make what containers and others need to use the proxy: an authority and tokens
///
/// Every provider with a credential gets a token; those that have one keep it, so this can be run again. A token is
/// shown when it is made and never again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam egress setup
  cofferdam egress setup --yes --json           in a script
  cofferdam egress setup --provider anthropic   for this provider alone
  cofferdam egress setup --rotate-tokens        new tokens for all")]
pub struct EgressSetup {
    /// Only for this provider; may be given more than once
    #[arg(long, value_name = "NAME")]
    pub provider: Vec<String>,

    /// Replace the tokens that there are
    #[arg(long)]
    pub rotate_tokens: bool,

    /// Accept that a credential comes from another source than when its token was made
    #[arg(long)]
    pub change_source: bool,

    /// Do not ask
    #[arg(long)]
    pub yes: bool,

    /// Print JSON, with the tokens that were made
    #[arg(long)]
    pub json: bool,
}

/// Replace all tokens of `setup` by new ones
///
/// The list from before is kept beside the new one. A running proxy refuses the old tokens from then on.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cofferdam egress rotate-tokens\n  cofferdam egress rotate-tokens --yes --json"
)]
pub struct EgressRotateTokens {
    /// Do not ask
    #[arg(long)]
    pub yes: bool,

    /// Print JSON, with the tokens that were made
    #[arg(long)]
    pub json: bool,
}

/// Sign with another certificate authority from now on
///
/// Sandboxes are given the authority after the present one as well, so those that run go on working. Clients that
/// were given `ca.crt` by hand need the new file before this is done a second time.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cofferdam egress rotate-ca")]
pub struct EgressRotateCa {}

/// Print what the configuration says about the proxy, with the defaults for what it does not say
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cofferdam egress config\n  cofferdam egress config --json")]
pub struct EgressConfig {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Stop the proxy, and switch it off in the configuration
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cofferdam egress disable")]
pub struct EgressDisable {}

/// Check everything on the way of a request, with a fix for each check that fails
///
/// Status 0 if all is well, 1 if something is not. No credential is shown.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam egress doctor
  cofferdam egress doctor --no-network      asks no name server and no provider
  cofferdam egress doctor --check port --json")]
pub struct EgressDoctor {
    /// Only this check; may be given more than once
    #[arg(long, value_name = "NAME", value_enum)]
    pub check: Vec<DoctorCheck>,

    /// Leave out what needs a network
    #[arg(long)]
    pub no_network: bool,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The checks, in the order in which they are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DoctorCheck {
    Config,
    Files,
    Authority,
    Record,
    Sources,
    Coverage,
    Daemon,
    Port,
    Network,
}

/// The examples of `audit`, as they are typed here.
fn of_the_proxy(command: clap::Command) -> clap::Command {
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    command.after_help(examples.replace("cofferdam audit", "cofferdam egress audit"))
}
