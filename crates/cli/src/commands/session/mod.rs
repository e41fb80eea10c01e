//! `cofferdam session`: sandboxes that stay, and what is done with them.

mod attach;
mod client;
mod exec;
mod keeper;
mod listing;
mod new;
mod place;
mod protocol;
mod send;

use crate::args::session::SessionCommand;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::outlet;

pub fn run(command: &SessionCommand) -> Result<Exit, Failure> {
    match command {
        SessionCommand::New(args) => new::new(args),
        SessionCommand::Exec(args) => exec::exec(args),
        SessionCommand::Attach(args) => attach::attach(args),
        SessionCommand::Send(args) => send::send(args),
        SessionCommand::List(args) => listing::list(args),
        SessionCommand::Ps(args) => listing::processes(args),
        SessionCommand::Logs(args) => listing::logs(args),
        SessionCommand::Kill(args) => listing::kill(args),
        SessionCommand::Keep => keeper::keep(),
        SessionCommand::WayOut { .. } => outlet::apart::serve_one(),
    }
}
