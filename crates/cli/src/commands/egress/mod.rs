//! `egress`: the shared proxy, one file per command.

mod client;
mod config;
mod coverage;
mod disable;
mod doctor;
mod metrics;
mod reload;
mod rotate_ca;
mod rotate_tokens;
mod setup;
mod start;
mod status;
mod stop;
mod tokens;

use super::audit;
use crate::args::egress::{EgressArgs, EgressCommand};
use crate::daemon::{supervisor, worker};
use crate::exit::Exit;
use crate::failure::Failure;

pub fn run(args: EgressArgs) -> Result<Exit, Failure> {
    match args.command {
        EgressCommand::Start(args) => start::start(&args),
        EgressCommand::Stop(args) => stop::stop(&args),
        EgressCommand::Restart(_) => start::restart(),
        EgressCommand::Reload(_) => reload::reload(),
        EgressCommand::Status(args) => status::status(&args),
        EgressCommand::Setup(args) => setup::setup(&args),
        EgressCommand::Config(args) => config::config(&args),
        EgressCommand::Disable(_) => disable::disable(),
        EgressCommand::RotateTokens(args) => rotate_tokens::rotate_tokens(&args),
        EgressCommand::RotateCa(_) => rotate_ca::rotate_ca(),
        EgressCommand::Doctor(args) => doctor::doctor(&args),
        EgressCommand::Audit(args) => audit::run_for_egress(args),
        EgressCommand::Metrics(_) => metrics::metrics(),
        EgressCommand::Supervise { nonce } => supervisor::supervise(&nonce),
        EgressCommand::Work => worker::work(),
    }
}
