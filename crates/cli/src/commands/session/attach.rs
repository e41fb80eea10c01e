//! `session attach`: a terminal of the session, shown on this one.

use std::io;
use std::os::fd::AsFd;

use cofferdam_linux_sys::signals::Signals;
use cofferdam_sandbox::channel;
use rustix::event::{PollFd, PollFlags};

use super::client::Client;
use super::exec;
use super::protocol::{Cleared, Reply, Request};
use crate::admission::Line;
use crate::args::session::SessionAttach;
use crate::commands::run::outcome;
use crate::commands::run::supervise::{End, HANG_UP, How, PASSED_ON, TERM};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::{self, Filtering, Heard, Raw, Relay};

pub fn attach(args: &SessionAttach) -> Result<Exit, Failure> {
    let client = Client::connect(&args.session)?;
    let lost = |error: io::Error| client.lost(&error);
    let what = if args.command.is_empty() {
        if args.behalf.session_kind.is_some() {
            return Err(Failure::new(Exit::Usage, "an agent does not get a terminal that nobody looks at")
                .hint("give it a command, or type for it line by line: `cofferdam session send --help`"));
        }
        None
    } else {
        let admitted = client.admit(Line::Words(&args.command), &args.behalf)?;
        Some(Cleared::new(exec::command(&args.command), admitted.approved()))
    };
    let taken: Vec<i32> = PASSED_ON.into_iter().chain(terminal::SIGNALS).collect();
    let signals = Signals::take_over(&taken).map_err(lost)?;
    let (controller, shown_before) =
        match client.ask(&Request::Attach { what, window: terminal::window() })? {
            (Reply::Attached { .. }, mut descriptors) => match (descriptors.pop(), descriptors.pop()) {
                (Some(shown_before), Some(controller)) => (controller, shown_before),
                _ => return Err(client.confused()),
            },
            (Reply::Ended(end), _) => return outcome::exit(&end, &args.command),
            _ => return Err(client.confused()),
        };
    let shown_before = channel::read_memory_file(shown_before).map_err(lost)?;
    let filtering = if args.danger_raw_terminal { Filtering::Off } else { Filtering::On };
    let relay = Relay::new(controller, filtering).map_err(lost)?.detachable(&shown_before);
    // A program that was left redraws when its window changes.
    relay.resize();
    let raw = Raw::enter().map_err(lost)?;
    let left = show(&client, &signals, relay, raw.as_ref())?;
    drop(raw);
    match left {
        Left::Running => {
            eprintln!("\ncofferdam: left running; `cofferdam session attach {}` comes back", args.session);
            Ok(Exit::Success)
        }
        Left::Ended(end) => {
            outcome::tell_rest(&end);
            outcome::exit(&end, &args.command)
        }
    }
}

enum Left {
    Running,
    Ended(End),
}

fn show(client: &Client, signals: &Signals, mut relay: Relay, raw: Option<&Raw>) -> Result<Left, Failure> {
    let lost = |error: io::Error| client.lost(&error);
    loop {
        let sides = relay.awaited();
        let mut ready = vec![
            PollFd::new(client, PollFlags::IN),
            PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
        ];
        ready.extend(
            sides.iter().map(|(side, wish)| PollFd::from_borrowed_fd(relay.descriptor(*side), *wish)),
        );
        match rustix::event::poll(&mut ready, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(lost(error.into())),
        }
        let ready: Vec<PollFlags> = ready.iter().map(PollFd::revents).collect();
        let sides: Vec<_> = sides.iter().zip(&ready[2..]).map(|((side, _), ready)| (*side, *ready)).collect();
        match relay.serve(&sides).map_err(lost)? {
            Heard::Nothing => {}
            Heard::Detach | Heard::HungUp => {
                relay.leave().map_err(lost)?;
                return Ok(Left::Running);
            }
        }
        if !ready[1].is_empty() && obey(signals, &relay, raw).map_err(lost)? {
            relay.leave().map_err(lost)?;
            return Ok(Left::Running);
        }
        if !ready[0].is_empty() {
            let end = match client.receive()?.0 {
                Reply::Ended(end) => end,
                _ => End { how: How::Lost, held: Vec::new(), told: Vec::new() },
            };
            relay.finish().map_err(lost)?;
            return Ok(Left::Ended(end));
        }
    }
}

/// Whether this process is asked to end, which leaves the session's terminal running.
fn obey(signals: &Signals, relay: &Relay, raw: Option<&Raw>) -> io::Result<bool> {
    while let Some(signal) = signals.next()? {
        match (signal, raw) {
            (TERM | HANG_UP, _) => return Ok(true),
            (terminal::WINDOW_CHANGED, _) => relay.resize(),
            (terminal::STOP, Some(raw)) => raw.pause()?,
            (terminal::CONTINUE, Some(raw)) => {
                raw.again();
                relay.resize();
            }
            _ => {}
        }
    }
    Ok(false)
}
