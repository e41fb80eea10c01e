//! One file per command.

mod config;
mod env;
mod providers;
mod secrets;

use crate::args::{Args, Command};
use crate::exit::Exit;
use crate::failure::Failure;

pub fn run(args: Args) -> Result<Exit, Failure> {
    match args.command {
        Command::Config(command) => config::run(command),
        Command::Secrets(args) => secrets::run(&args),
        Command::Providers(args) => providers::run(&args),
        Command::Env(args) => env::run(&args),
    }
}
