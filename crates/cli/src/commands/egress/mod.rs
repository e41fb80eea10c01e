//! `egress`: the shared proxy, one file per command.

mod client;
mod coverage;
mod metrics;
mod reload;
mod start;
mod status;
mod stop;

use crate::args::egress::{EgressArgs, EgressCommand};
use crate::daemon::{supervisor, worker};
use crate::exit::Exit;
use crate::failure::Failure;

pub fn run(args: &EgressArgs) -> Result<Exit, Failure> {
    match &args.command {
        EgressCommand::Start(args) => start::start(args),
        EgressCommand::Stop(args) => stop::stop(args),
        EgressCommand::Restart(_) => start::restart(),
        EgressCommand::Reload(_) => reload::reload(),
        EgressCommand::Status(args) => status::status(args),
        EgressCommand::Metrics(_) => metrics::metrics(),
        EgressCommand::Supervise { nonce } => supervisor::supervise(nonce),
        EgressCommand::Work => worker::work(),
    }
}
