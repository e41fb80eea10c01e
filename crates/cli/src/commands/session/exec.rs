//! `session exec`: one command in a session, at most once, with this process's own streams.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

use cofferdam_linux_sys::descriptors;
use cofferdam_linux_sys::signals::Signals;
use rustix::event::{PollFd, PollFlags, Timespec};

use super::client::Client;
use super::protocol::{Cleared, Reply, Request, What};
use crate::admission::{self, Line};
use crate::args::session::SessionExec;
use crate::commands::run::outcome;
use crate::commands::run::supervise::{GRACE, HANG_UP, INTERRUPT, PASSED_ON, QUIT, TERM};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

pub fn exec(args: &SessionExec) -> Result<Exit, Failure> {
    let client = Client::connect(&args.session)?;
    let (line, what) = match &args.text {
        Some(text) => (Line::Text(text), What::Shell(text.as_os_str().into())),
        None => (Line::Words(&args.command), command(&args.command)),
    };
    let admitted = client.admit(line, &args.behalf)?;
    let what = Cleared::new(what, admitted.approved());
    if args.background {
        // Nobody waits to hear that it was not started, so what can be told now is told now.
        admission::still_holds(admitted.approved())?;
        return match client.ask(&Request::Background { what, timeout: args.timeout })?.0 {
            Reply::Background { process } => output::text(&format!("{process}\n")).map(|()| Exit::Success),
            _ => Err(client.confused()),
        };
    }
    let signals = Signals::take_over(&PASSED_ON).map_err(|error| client.lost(&error))?;
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let streams = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
    client.send(&Request::Exec { what, timeout: args.timeout }, &streams)?;
    let end = match wait(&client, &signals)? {
        Waited::Answer => match client.receive()?.0 {
            Reply::Ended(end) => end,
            _ => return Err(client.confused()),
        },
        Waited::Left(signal) => return Ok(Exit::Command(128 + signal)),
    };
    outcome::tell_rest(&end);
    let shell = ["the shell".into()];
    let named = if args.command.is_empty() { &shell[..] } else { &args.command };
    outcome::exit(&end, named)
}

pub fn command(words: &[OsString]) -> What {
    What::Command(words.iter().map(|argument| argument.as_os_str().into()).collect())
}

enum Waited {
    Answer,
    /// Asked to end, the command has not; the end of the connection ends it.
    Left(u8),
}

fn wait(client: &Client, signals: &Signals) -> Result<Waited, Failure> {
    let mut leaving: Option<(Instant, u8)> = None;
    // Interrupted, a command may go on for as long as it likes, but its keeper has to have read of it.
    let mut interrupted: Option<(Instant, u8)> = None;
    loop {
        let mut ready =
            [PollFd::new(client, PollFlags::IN), PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN)];
        let deadline = leaving.into_iter().chain(interrupted).map(|(deadline, _)| deadline).min();
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let timeout = left
            .map(|left| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) });
        match rustix::event::poll(&mut ready, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(client.lost(&error.into())),
        }
        let [answer, signal] = ready.map(|ready| !ready.revents().is_empty());
        if answer {
            return Ok(Waited::Answer);
        }
        if signal {
            while let Some(signal) = signals.next().map_err(|error| client.lost(&error))? {
                client.send(&Request::Signal(signal), &[])?;
                let then = Some((Instant::now() + GRACE, u8::try_from(signal).unwrap_or(0)));
                match signal {
                    TERM | HANG_UP => leaving = leaving.or(then),
                    INTERRUPT | QUIT => interrupted = interrupted.or(then),
                    _ => {}
                }
            }
        }
        match leaving {
            Some((deadline, signal)) if deadline <= Instant::now() => return Ok(Waited::Left(signal)),
            _ => {}
        }
        match interrupted {
            Some((deadline, signal)) if deadline <= Instant::now() => {
                if descriptors::is_unread(client.as_fd()) {
                    return Ok(Waited::Left(signal));
                }
                interrupted = None;
            }
            _ => {}
        }
    }
}
