//! What was typed. One definition per flag feeds the parser, the help, the manual and the completions.

pub mod run;

use clap::{Parser, Subcommand};

use crate::exit::Exit;

#[derive(Debug, Parser)]
#[command(name = "cofferdam", version, about, max_term_width = 100, disable_help_subcommand = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(Box<run::Run>),
}

/// Parses the command line; help and version go to standard output, mistakes to standard error.
pub fn parse() -> Result<Args, Exit> {
    Args::try_parse().map_err(|error| {
        let exit = if error.use_stderr() { Exit::Usage } else { Exit::Success };
        // Nothing is left to do when the terminal is gone.
        let _ = error.print();
        exit
    })
}
