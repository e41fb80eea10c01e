//! `hook`: an agent's pre-tool hook, answered by the gate.
//!
//! To all three agents status 2 means that the call is blocked, and any other status but 0 means a warning at most.
//! So whatever goes wrong in here ends with 2: a usage mistake, a broken configuration, input that is no call, a
//! panic.

mod answer;
mod call;

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use cofferdam_approvals::approver::Approver;
use cofferdam_approvals::{Backend, SessionContext, Weighed};
use cofferdam_linux_sys::read_guard::NotOpened;
use cofferdam_policy::document::SessionKind;
use cofferdam_policy::units;

use crate::args::hook::{AgentArg, HookArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::gatekeeper::Gatekeeper;
use answer::Decision;
use call::{Act, Call};

const LARGEST: u64 = 64 << 20;

pub fn run(args: &HookArgs) -> Exit {
    std::panic::set_hook(Box::new(|_| std::process::exit(2)));
    let decided =
        read().and_then(|input| Call::parse(args.agent, &input)).and_then(|call| decide(args, &call));
    match decided {
        Ok(decision) => give(args.agent, &decision),
        Err(why) => blocked(&why),
    }
}

/// One way to be wrong: the call is blocked, and this is why.
type Blocked = String;

fn read() -> Result<Vec<u8>, Blocked> {
    let mut input = Vec::new();
    io::stdin()
        .lock()
        .take(LARGEST + 1)
        .read_to_end(&mut input)
        .map_err(|error| format!("the call cannot be read: {error}"))?;
    if input.len() as u64 > LARGEST {
        return Err("the call is too large to be judged".to_owned());
    }
    Ok(input)
}

fn blocked(why: &str) -> Exit {
    // Without standard error the status alone says it.
    let _ = writeln!(io::stderr().lock(), "Blocked: {why}");
    Exit::Ask
}

fn give(agent: AgentArg, decision: &Decision) -> Exit {
    let text = answer::text(agent, decision);
    match io::stdout().lock().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Ok(()) => Exit::Success,
        Err(error) => blocked(&format!("the decision cannot be given: {error}")),
    }
}

fn decide(args: &HookArgs, call: &Call) -> Result<Decision, Blocked> {
    let longest = units::duration(&args.wait).map_err(|error| format!("--wait {error}"))?;
    let mut asked = Decision::None;
    for act in &call.acts {
        let decision = match act {
            Act::Read(path) => reads(&call.directory.join(path))?,
            Act::Run(command) => runs(args, call, command, longest)?,
        };
        match decision {
            Decision::Deny(_) => return Ok(decision),
            Decision::Ask(_) => asked = decision,
            Decision::Allow if asked == Decision::None && call.acts.len() == 1 => asked = decision,
            Decision::Allow | Decision::None => {}
        }
    }
    Ok(asked)
}

/// A file that may not be read is refused; one that is not there is the agent's own business.
fn reads(path: &Path) -> Result<Decision, Blocked> {
    let guard = super::read_guard::guard().map_err(|failure| told(&failure))?;
    match guard.open(path) {
        Ok(_) => Ok(Decision::None),
        Err(NotOpened::Refused(cofferdam_linux_sys::read_guard::Refusal::Directory)) => Ok(Decision::None),
        Err(NotOpened::Refused(refusal)) => {
            Ok(Decision::Deny(format!("Refused: the file {}", refusal.reason())))
        }
        Err(NotOpened::Failed(error)) if error.kind() == io::ErrorKind::NotFound => Ok(Decision::None),
        Err(NotOpened::Failed(error)) => Err(format!("the file cannot be judged: {error}")),
        Err(NotOpened::NoProc) => Err("the file cannot be judged without /proc".to_owned()),
    }
}

fn runs(args: &HookArgs, call: &Call, command: &str, longest: Duration) -> Result<Decision, Blocked> {
    let keeper = Gatekeeper::open().map_err(|failure| told(&failure))?;
    let context = keeper.context(call.session.clone(), args.session_kind, &call.directory, Backend::Host);
    let gate = keeper.gate(Some(longest));
    let question = match gate.weigh(command, &context) {
        Weighed::Approved(approved) if approved.by_person() => return Ok(Decision::Allow),
        // Nothing to ask about: the agent's own rules still apply.
        Weighed::Approved(_) => return Ok(Decision::None),
        Weighed::Refused(refused) => return Ok(Decision::Deny(refused.sentence())),
        Weighed::Ask(question) => question,
    };
    if call.agent_asks && context.kind == SessionKind::Interactive {
        return Ok(match question.hand_over() {
            Ok(reasons) => Decision::Ask(reasons),
            Err(refused) => Decision::Deny(refused.sentence()),
        });
    }
    Ok(match question.put(&approver(&keeper, &context)) {
        Ok(_) => Decision::Allow,
        Err(refused) => Decision::Deny(refused.sentence()),
    })
}

/// The terminal belongs to the agent, so the question waits for another one.
fn approver(keeper: &Gatekeeper, context: &SessionContext) -> Approver {
    match keeper.away_from_terminal(context) {
        Approver::Nobody if context.kind == SessionKind::Interactive => Approver::Queue,
        approver => approver,
    }
}

/// The agent is told that something is broken; the person finds out more on standard error.
fn told(failure: &Failure) -> Blocked {
    failure.report();
    "the approval gate does not work on this machine; tell the person you work for".to_owned()
}
