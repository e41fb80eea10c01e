//! Covering secrets that appear while a sandbox runs: the process that watches, and the way to it for whoever holds the
//! sandbox.
//!
//! It is this program anew, with an empty environment: it enters namespaces, which a process with threads cannot, and it
//! must hold nothing that this one has read. It begins a moment after the command, so that a short one does not pay for it,
//! looks everything over once, and ends when its connection does.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

use cofferdam_linux_sys::child::{ChildCommand, Input, Lifetime, Program};
use cofferdam_policy::environment::ChildEnvironment;
use cofferdam_sandbox::channel::Channel;
use cofferdam_sandbox::late::{self, Late, Told};
use cofferdam_sandbox::launch::{News, Sandbox};
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::exit::Exit;
use crate::failure::Failure;

/// Most commands are over by then.
const AFTER: Duration = Duration::from_millis(40);
/// A busy machine takes its time, and a watch that needs longer is none.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// The process's whole life. Standard input is the connection.
pub fn serve() -> Result<Exit, Failure> {
    let lost = |error: io::Error| Failure::new(Exit::Usage, format!("nobody holds a sandbox here: {error}"));
    let holder = io::stdin().as_fd().try_clone_to_owned().map(Channel::from_connected).map_err(lost)?;
    late::serve(&holder).map_err(lost)?;
    Ok(Exit::Success)
}

/// The watch over one sandbox.
#[derive(Debug)]
pub struct LateSecrets(Stage);

#[derive(Debug)]
enum Stage {
    /// It begins then.
    From(Instant),
    /// The sandbox has been asked for its namespaces.
    Asked,
    /// Who watches.
    Watched(Channel),
    Over,
}

impl LateSecrets {
    /// For a sandbox in which a command starts now.
    pub fn new() -> Self {
        Self(Stage::From(Instant::now() + AFTER))
    }

    /// How long it is until something is to be done.
    pub fn wait(&self) -> Option<Duration> {
        match self.0 {
            Stage::From(then) => Some(then.saturating_duration_since(Instant::now())),
            Stage::Asked | Stage::Watched(_) | Stage::Over => None,
        }
    }

    /// Does what is to be done by now.
    pub fn go_on(&mut self, sandbox: &Sandbox) {
        if self.wait().is_some_and(|left| left.is_zero()) {
            // A sandbox that is gone has left word of it.
            let asked = sandbox.ask_for_namespaces();
            self.0 = if asked.is_ok() { Stage::Asked } else { Stage::Over };
        }
    }

    /// Begins, with what the sandbox has answered.
    pub fn begin(&mut self, what: &Late, namespaces: &[OwnedFd]) -> Option<String> {
        // Where there are none, the report has said what that means.
        if namespaces.is_empty() {
            self.0 = Stage::Over;
            return None;
        }
        match start(what, namespaces) {
            Ok(channel) => {
                self.0 = Stage::Watched(channel);
                None
            }
            Err(error) => {
                self.0 = Stage::Over;
                Some(sentence(&Told::Unwatched(error.to_string())))
            }
        }
    }

    /// What is to be waited for.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.0 {
            Stage::Watched(channel) => Some(channel.as_fd()),
            Stage::From(_) | Stage::Asked | Stage::Over => None,
        }
    }

    /// The next thing that the person should know.
    pub fn hear(&mut self) -> Option<String> {
        let Stage::Watched(channel) = &self.0 else { return None };
        match channel.receive::<Told>() {
            Ok(Some((told, _))) => Some(sentence(&told)),
            Ok(None) | Err(_) => {
                self.0 = Stage::Over;
                Some(sentence(&Told::Unwatched("the process that watches has ended".to_owned())))
            }
        }
    }
}

/// Puts a secret where a sandbox shows it, and waits until it is hidden there: whether there is a watch on this machine.
pub fn tried(sandbox: &Sandbox, what: &Late, secret: &Path) -> Result<(), String> {
    sandbox.ask_for_namespaces().map_err(|error| error.to_string())?;
    let namespaces = loop {
        match sandbox.news().map_err(|error| error.to_string())?.1 {
            News::Namespaces(namespaces) => break namespaces,
            News::Gone { .. } => return Err("the sandbox is gone".to_owned()),
            _ => {}
        }
    };
    if namespaces.is_empty() {
        return Err("there are no namespaces to hide it in".to_owned());
    }
    let watch = start(what, &namespaces).map_err(|error| error.to_string())?;
    fs::write(secret, "").map_err(|error| format!("{}: {error}", secret.display()))?;
    let mut ready = [PollFd::new(&watch, PollFlags::IN)];
    match rustix::event::poll(&mut ready, Some(&PATIENCE)) {
        Ok(0) => return Err("a secret that has appeared was not seen".to_owned()),
        Ok(_) => {}
        Err(error) => return Err(error.to_string()),
    }
    match watch.receive::<Told>() {
        Ok(Some((Told::Hidden(_), _))) => Ok(()),
        Ok(Some((told, _))) => Err(sentence(&told)),
        Ok(None) => Err("the process that watches has ended".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn start(what: &Late, namespaces: &[OwnedFd]) -> io::Result<Channel> {
    let (ours, theirs) = Channel::pair()?;
    let handed: Vec<_> = namespaces.iter().map(AsFd::as_fd).collect();
    ours.send(what, &handed)?;
    let environment = ChildEnvironment::empty();
    let program = Program::new("/proc/self/exe").map_err(io::Error::other)?;
    let command = ChildCommand::new(program, &environment).called("cofferdam").args(["late-secrets"]);
    // Nobody waits for its end: it sees that of the connection, and closing a watch takes the kernel a while.
    let command = command.input(Input::Connection(theirs.into())).lifetime(Lifetime::Detached);
    command.spawn().map_err(io::Error::other)?;
    Ok(ours)
}

fn sentence(told: &Told) -> String {
    match told {
        Told::Hidden(path) => format!("{path} has appeared and is hidden from the command"),
        Told::NotHidden { path, why } => format!("{path} has appeared and could not be hidden: {why}"),
        Told::More => "more have appeared, and are hidden without a word from here on".to_owned(),
        Told::TooMany { watched } => format!(
            "{watched} directories are watched for secrets that appear, and there are more; what appears in those is seen"
        ),
        Told::Unwatched(why) => format!("secrets that appear from here on are seen by the command: {why}"),
    }
}
