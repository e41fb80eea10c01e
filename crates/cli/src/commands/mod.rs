//! One file per command.

mod approvals;
mod audit;
mod completions;
mod config;
mod doctor;
mod egress;
mod env;
mod hook;
mod man;
mod overlay;
mod providers;
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
        Command::Overlay(args) => overlay::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Egress(args) => egress::run(&args),
        Command::Approvals(args) => approvals::run(args),
        Command::Hook(args) => Ok(hook::run(&args)),
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
