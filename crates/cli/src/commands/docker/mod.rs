//! `docker`.

mod bridge;
mod compose;
mod door;
mod engine;
mod exec;
mod keeper;
mod objections;
mod shim;
mod start;
mod variables;
mod way_out;

use crate::args::docker::{DockerArgs, DockerCommand};
use crate::exit::Exit;
use crate::failure::Failure;

pub fn run(args: &DockerArgs) -> Result<Exit, Failure> {
    match &args.command {
        DockerCommand::Run(args) => start::run(args),
        DockerCommand::Args(args) => start::print(args),
        DockerCommand::ComposeOverride(args) => compose::run(args),
        DockerCommand::Doctor(args) => start::doctor(args),
        DockerCommand::Bridge(args) => bridge::run(args),
        DockerCommand::Exec(args) => exec::run(args),
        DockerCommand::Shim { command } => shim::run(command),
    }
}
