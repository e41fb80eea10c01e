//! One file per command.

mod approvals;
mod approved_bytes;
mod audit;
mod completions;
mod config;
mod demo;
mod docker;
mod doctor;
mod egress;
mod env;
mod exec_code;
mod hook;
mod late_secrets;
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

/// Begins what takes as long as understanding what was typed, and can go on beside that.
pub fn begin() -> Option<run::Begun> {
    std::env::args_os().nth(1).is_some_and(|command| command == "run").then(run::begin)
}

pub fn run(args: Args, begun: Option<run::Begun>) -> Result<Exit, Failure> {
    match args.command {
        Command::Run(args) => run::run(&args, begun.unwrap_or_else(run::begin)),
        Command::ExecCode(args) => exec_code::run(&args),
        Command::FileTools => exec_code::file_tools(),
        Command::LateSecrets => late_secrets::serve(),
        Command::ApprovedBytes => approved_bytes::serve(),
        Command::Session(args) => session::run(&args.command),
        Command::Overlay(args) => overlay::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Egress(args) => egress::run(args),
        Command::Docker(args) => docker::run(&args),
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
