//! `read-guard`: may this file be read?

use std::path::PathBuf;

use clap::Args;

/// Say whether a file may be read by an agent: status 0 for yes, 3 for no, with the reason
///
/// Refused are files of /proc and other windows into the kernel, devices, pipes and sockets, the places where
/// secrets lie, and private keys by how they begin, under whatever name they are reached. Of /proc, cpuinfo,
/// loadavg, meminfo, uptime and version stay readable.
///
/// A program that opens the file after asking opens whatever is there by then. Use --print to be given what
/// was judged.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cofferdam read-guard src/main.rs\n  cofferdam read-guard --json /proc/self/environ\n  cofferdam read-guard --print README.md | head"
)]
pub struct ReadGuardArgs {
    /// The file to be read
    pub path: PathBuf,
    /// Print the verdict as JSON
    #[arg(long, conflicts_with = "print")]
    pub json: bool,
    /// Write the file to standard output if it may be read
    #[arg(long)]
    pub print: bool,
}
