//! `cofferdam docker`, as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Containers: the shim that drops privileges
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam docker shim install --root ./rootfs --tool hermes --user hermes --target /opt/hermes/bin/hermes
  cofferdam docker shim heal /var/lib/hermes --user hermes")]
pub struct DockerArgs {
    #[command(subcommand)]
    pub command: DockerCommand,
}

#[derive(Debug, Subcommand)]
pub enum DockerCommand {
    /// The privilege-drop shim: `docker exec` as root runs a tool as the service's user
    #[command(after_help = "\
Examples:
  cofferdam docker shim install --root ./rootfs --tool hermes --user hermes --target /opt/hermes/bin/hermes
  cofferdam docker shim heal /var/lib/hermes --user hermes --apply")]
    Shim {
        #[command(subcommand)]
        command: ShimCommand,
    },
}

#[derive(Debug, Subcommand)]
pub enum ShimCommand {
    Install(ShimInstallArgs),
    Heal(ShimHealArgs),
}

/// Put the shim into an image's tree, in front of the real tool
///
/// Two files are written: the shim under the tool's name, and /etc/cofferdam/shim/NAME, which says what is
/// behind it. A container that is called as root then runs the tool as the user; anybody else's call passes straight
/// through. In a Dockerfile, use --root / in a RUN line.
#[derive(Debug, Args)]
#[command(
    override_usage = "cofferdam docker shim install --root DIR --tool NAME --user USER --target PATH [OPTIONS]",
    after_help = "\
Examples:
  cofferdam docker shim install --root ./rootfs --tool hermes --user hermes --target /opt/hermes/bin/hermes
  cofferdam docker shim install --root / --tool psql --user app --target /usr/bin/psql --opt-out APP_KEEP_ROOT"
)]
pub struct ShimInstallArgs {
    /// The root of the image's tree
    #[arg(long, value_name = "DIR")]
    pub root: PathBuf,
    /// The name that people call
    #[arg(long, value_name = "NAME")]
    pub tool: String,
    /// The user that the tool should run as
    #[arg(long)]
    pub user: String,
    /// The real tool, as a path inside the image
    #[arg(long, value_name = "PATH")]
    pub target: PathBuf,
    /// A variable that keeps root for whoever sets it to 1, true or yes
    #[arg(long, value_name = "VARIABLE")]
    pub opt_out: Option<String>,
    /// The mask for new files
    #[arg(long, value_name = "OCTAL")]
    pub umask: Option<String>,
    /// Where the shim goes, inside; it must come before the real tool on the path
    #[arg(long, value_name = "DIR", default_value = "/usr/local/bin")]
    pub directory: PathBuf,
}

/// Find what root left in a service's state directory, and give it to the service's user
///
/// Status 1 when something of root's is still there. Links are not followed, mounts not entered; files with a second
/// name, set-user-ID files and devices are named and left as they are.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam docker shim heal /var/lib/hermes --user hermes
  cofferdam docker shim heal /var/lib/hermes --user 1000:1000 --apply")]
pub struct ShimHealArgs {
    /// The state directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Whom the files should belong to: a name, or UID:GID
    #[arg(long, value_name = "USER")]
    pub user: String,
    /// Change the owners; without it they are only listed
    #[arg(long)]
    pub apply: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
