//! One file per command.

mod approvals;

use crate::args::{Args, Command};
use crate::exit::Exit;
use crate::failure::Failure;

pub fn run(args: Args) -> Result<Exit, Failure> {
    match args.command {
        Command::Approvals(args) => approvals::run(args),
    }
}
