//! One file per command.

mod completions;
mod config;
mod man;
mod read_guard;
mod run;
mod secrets;
mod session;

use crate::args::{Args, Command};
use crate::exit::Exit;
use crate::failure::Failure;

pub fn run(args: Args) -> Result<Exit, Failure> {
    match args.command {
        Command::Run(args) => run::run(&args),
        Command::Session(args) => session::run(&args.command),
        Command::Config(command) => config::run(command),
        Command::Secrets(args) => secrets::run(&args),
        Command::ReadGuard(args) => read_guard::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}
