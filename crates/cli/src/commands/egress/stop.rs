//! `egress stop`.

use std::time::Duration;

use rustix::process::Signal;

use crate::args::egress::EgressStop;
use crate::daemon::identity::Found;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::places::Places;
use crate::waiting;

pub const GRACE: Duration = Duration::from_secs(10);
/// After a signal that no process can ignore.
const CERTAIN: Duration = Duration::from_secs(5);

pub fn stop(args: &EgressStop) -> Result<Exit, Failure> {
    let places = Places::find()?;
    match stop_if_running(&places, args.grace)? {
        Some(How::Asked) => output::text("stopped\n")?,
        Some(How::Killed) => output::text("stopped; it had to be killed\n")?,
        None => output::text("the proxy was not running\n")?,
    }
    Ok(Exit::Success)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Asked,
    Killed,
}

/// Ends the daemon if there is one. The descriptor of its process is opened before it is recognised, so a signal
/// reaches that process or none.
pub fn stop_if_running(places: &Places, grace: Duration) -> Result<Option<How>, Failure> {
    let found = Found::look(&places.runtime)
        .map_err(|error| Failure::new(Exit::Unavailable, error.to_string()).hint(error.fix()))?;
    let Some(found) = found else { return Ok(None) };
    let pid = found.identity.pid;
    let failed = |error: std::io::Error| {
        Failure::new(Exit::Unavailable, format!("cannot stop process {pid}: {error}"))
    };
    for (signal, longest, how) in [(Signal::TERM, grace, How::Asked), (Signal::KILL, CERTAIN, How::Killed)] {
        found.signal(signal).or_else(gone).map_err(failed)?;
        if waiting::during("stopping the proxy", || found.ended_within(longest)).map_err(failed)? {
            return Ok(Some(how));
        }
    }
    Err(Failure::new(Exit::Unavailable, format!("process {pid} does not end"))
        .hint("it waits for the kernel; a disk or file system may hang"))
}

/// One that has ended meanwhile needs no signal.
fn gone(error: std::io::Error) -> std::io::Result<()> {
    match error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) {
        true => Ok(()),
        false => Err(error),
    }
}
