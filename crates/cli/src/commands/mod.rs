//! One file per command.

mod audit;
mod completions;
mod config;
mod env;
mod man;
mod providers;
mod read_guard;
mod run;
mod secrets;

use crate::args::{Args, Command};
use crate::exit::Exit;
use crate::failure::Failure;

pub fn run(args: Args) -> Result<Exit, Failure> {
    match args.command {
        Command::Run(args) => run::run(&args),
        Command::Env(args) => env::run(&args),
        Command::Providers(args) => providers::run(&args),
        Command::Secrets(args) => secrets::run(&args),
        Command::ReadGuard(args) => read_guard::run(&args),
        Command::Audit(args) => audit::run(args),
        Command::Config(command) => config::run(command),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}
