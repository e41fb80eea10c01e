//! One file per command.

mod run;

use crate::args::{Args, Command};
use crate::exit::Exit;
use crate::failure::Failure;

pub fn run(args: Args) -> Result<Exit, Failure> {
    match args.command {
        Command::Run(args) => run::run(&args),
    }
}
