//! `man`: the manual, one page per command.

use std::path::PathBuf;

use clap::Args;

/// Print the manual page, or write one page per command into a directory
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cofferdam man | man -l -\n  cofferdam man --dir ~/.local/share/man/man1"
)]
pub struct ManArgs {
    /// Write cofferdam.1 and one page for every command into this directory, which must exist
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}
