//! The way to a session's keeper.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::PathBuf;

use cofferdam_approvals::Backend;
use cofferdam_sandbox::channel::Channel;

use super::place::{self, Sessions};
use super::protocol::{Refusal, Reply, Request};
use crate::admission::{self, Admitted, Line, Where};
use crate::args::admission::Behalf;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::places::Places;

/// Where the sockets of this user's sessions are.
pub fn sessions_directory() -> Result<PathBuf, Failure> {
    Ok(Places::find()?.runtime.join("sessions"))
}

/// A connection to one session.
#[derive(Debug)]
pub struct Client {
    channel: Channel,
    name: String,
}

impl Client {
    pub fn connect(name: &str) -> Result<Self, Failure> {
        let nobody = || {
            Failure::new(Exit::NotStarted, format!("there is no session \u{201c}{}\u{201d}", shown(name)))
                .hint("`cofferdam session list` shows the sessions, `cofferdam session new` makes one")
        };
        if !place::is_name(name) {
            return Err(nobody());
        }
        let opened = Sessions::open(&sessions_directory()?);
        let connected = opened.and_then(|sessions| sessions.connect(name));
        match connected {
            Ok(channel) => Ok(Self { channel, name: name.to_owned() }),
            Err(error)
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) =>
            {
                Err(nobody())
            }
            Err(error) => {
                Err(Failure::new(Exit::NotStarted, format!("cannot reach the session {name}: {error}")))
            }
        }
    }

    pub fn send(&self, request: &Request, streams: &[BorrowedFd<'_>]) -> Result<(), Failure> {
        self.channel.send(request, streams).map_err(|error| self.lost(&error))
    }

    /// The next answer. A refusal is a failure.
    pub fn receive(&self) -> Result<(Reply, Vec<OwnedFd>), Failure> {
        match self.channel.receive() {
            Ok(Some((Reply::Refused(refusal), _))) => Err(refused(&self.name, refusal)),
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err(self.lost(&io::Error::other("it has ended"))),
            Err(error) => Err(self.lost(&error)),
        }
    }

    pub fn ask(&self, request: &Request) -> Result<(Reply, Vec<OwnedFd>), Failure> {
        self.send(request, &[])?;
        self.receive()
    }

    /// Asks the gate about a command in this session, in the directory where it would start.
    pub fn admit(&self, line: Line<'_>, behalf: &Behalf) -> Result<Admitted, Failure> {
        // The keeper answers while this process opens the gate.
        self.send(&Request::Status, &[])?;
        let gate = admission::gate()?;
        let (Reply::Status(status), _) = self.receive()? else { return Err(self.confused()) };
        let (directory, workspace) = (status.directory.as_path(), status.workspace.as_path());
        let place = Where { directory, workspace, session: &self.name, backend: Backend::Isolated };
        admission::admit(gate, line, behalf, place)
    }

    /// Nothing is tried a second time: a command may have run before the connection was lost.
    pub fn lost(&self, error: &io::Error) -> Failure {
        Failure::new(Exit::NotStarted, format!("the session {} was lost: {error}", self.name))
            .hint("`cofferdam session list` shows the sessions that are left")
    }

    /// An answer that does not belong to the question.
    pub fn confused(&self) -> Failure {
        Failure::new(Exit::NotStarted, format!("the session {} gave an answer of another kind", self.name))
            .hint("it may have been started by another version; `cofferdam session kill` ends it")
    }
}

/// What a keeper's no means to the one who asked.
pub fn refused(name: &str, refusal: Refusal) -> Failure {
    match refusal {
        Refusal::NoSuchProcess => {
            Failure::new(Exit::Unavailable, format!("the session {name} has no such process"))
                .hint(format!("`cofferdam session ps {name}` shows them"))
        }
        Refusal::Moved => {
            let moved = format!("{name} is in another directory than the one this was approved for");
            Failure::new(admission::REFUSED, moved).hint("look where it is, and start the command again")
        }
        Refusal::NotKept => Failure::new(
            Exit::NotStarted,
            format!("the session {name} cannot keep the files that were approved as they were"),
        )
        .hint("`cofferdam run` starts the command in a sandbox of its own"),
        Refusal::NoLog => Failure::new(
            Exit::Unavailable,
            format!("the output of that process of {name} went to the one who started it"),
        ),
        Refusal::AttachedElsewhere => {
            Failure::new(Exit::Unavailable, format!("the terminal of {name} is in use elsewhere"))
                .hint("leave it there with Ctrl-], or start another: `cofferdam session attach NAME -- bash`")
        }
        Refusal::NotRead => Failure::new(
            Exit::Unavailable,
            format!("the program in the terminal of {name} does not read what is typed"),
        )
        .hint(format!("look at it: `cofferdam session attach {name}`")),
        Refusal::NotUnderstood => {
            Failure::new(Exit::NotStarted, format!("the session {name} does not take that"))
                .hint("it is ending, or was started by another version")
        }
        Refusal::Failed(errno) => Failure::new(
            Exit::NotStarted,
            format!("the session {name} failed: {}", io::Error::from_raw_os_error(errno)),
        ),
    }
}

impl std::os::fd::AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

fn shown(name: &str) -> String {
    cofferdam_sandbox::text::Text::from(name).to_string()
}
