//! `cofferdam exec-code`: a script in a sandbox, from its bytes to one JSON object.

mod commands;
mod configured;
mod file_tools;
mod granted;
mod outcome;
mod passing;
mod running;
mod script;
mod serve;
mod streams;
mod toolbox;

use std::sync::Arc;
use std::time::{Duration, Instant};

use cofferdam_approvals::{Backend, Refused};
use cofferdam_exec_broker::limits::Limits;

use super::run::outcome as run_outcome;
use super::run::wish::Wished;
use crate::args::exec_code::ExecCode;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::gatekeeper::{self, Gatekeeper, grants_failure, warn_if_nobody};
use granted::{Host, Wanted};
use outcome::{Outcome, Status, Teller};
use running::Job;
use script::Script;

const USUAL_TIME: Duration = Duration::from_secs(300);

pub fn run(args: &ExecCode) -> Result<Exit, Failure> {
    let Some(file) = &args.file else { return serve::run() };
    let began = Instant::now();
    // The bytes are read here, once: these are shown, approved and run, whatever becomes of the file.
    let script = Script::read(file, args.language)?;
    let host = args.host_tools.map(Host::inherited).transpose()?;
    execute(args, script, host, Teller::new(args.json), began)
}

/// From a script in hand to its result.
fn execute(
    args: &ExecCode,
    script: Script,
    host: Option<Host>,
    teller: Teller,
    began: Instant,
) -> Result<Exit, Failure> {
    let wanted = Wanted::read(&args.tools, host)?;
    let wished = Wished::read(&args.sandbox)?;
    let keeper = Arc::new(Gatekeeper::open()?);
    let directory = wished.request.workspace.clone();
    let context = keeper.context(args.session.clone(), args.session_kind, &directory, Backend::Isolated);
    let approver = keeper.at_terminal(&context);
    warn_if_nobody(&context, &approver);
    let session = keeper.broker.revocation(&context.session).map_err(|error| grants_failure(&error))?;
    teller.asking(&script);
    let shown = gatekeeper::waiting_for(&approver);
    let decided =
        keeper.gate(None).decide_script(script.approval_language(), &script.text, &context, &approver);
    drop(shown);
    if let Err(refused) = decided {
        return denied(&teller, &script, &refused, began);
    }
    if wanted.host_is_gone() {
        return Err(Failure::new(Exit::Unavailable, "whoever wanted this script is gone"));
    }
    // Nothing has been started before this line, and nothing secret read.
    let prepared = cofferdam_sandbox::launch::prepare().map_err(|error| run_outcome::not_begun(&error))?;
    let limits =
        Limits { time: wished.timeout.unwrap_or(USUAL_TIME), calls: args.max_calls, ..Limits::default() };
    let job = Job {
        script,
        wanted,
        limits,
        wished,
        variables: args.sandbox.env.clone(),
        keeper,
        context,
        session,
        teller,
    };
    let outcome = running::run(job, prepared, began)?;
    outcome.finish()
}

/// Serves the file tools, inside the sandbox.
pub fn file_tools() -> Result<Exit, Failure> {
    file_tools::serve()
}

fn denied(teller: &Teller, script: &Script, refused: &Refused, began: Instant) -> Result<Exit, Failure> {
    let mut outcome = Outcome::new(Status::Denied, script, began.elapsed(), teller.clone());
    outcome.error = Some(refused.sentence());
    outcome.finish()
}
