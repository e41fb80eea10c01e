//! `cofferdam doctor`, as typed.

use clap::Args;

/// Try every layer of a sandbox on this machine, and say what works
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cofferdam doctor
  cofferdam doctor --json

Exit status: 0 if every layer works, 1 if one is missing.")]
pub struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
