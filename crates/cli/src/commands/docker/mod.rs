//! `docker`.

mod shim;

use crate::args::docker::{DockerArgs, DockerCommand};
use crate::exit::Exit;
use crate::failure::Failure;

pub fn run(args: &DockerArgs) -> Result<Exit, Failure> {
    match &args.command {
        DockerCommand::Shim { command } => shim::run(command),
    }
}
