//! `approvals serve`: questions and answers over a socket, for a chat gateway or whatever else reaches the person.
//!
//! One JSON object a line, both ways. Who connects is known by what the kernel says of them; another user is not heard.
//! The socket lies in the runtime directory, which is not there inside a sandbox. Nothing is kept here: questions belong
//! to the processes that ask them, so that a restart of this one loses none and approves none.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cofferdam_approvals::{Answer, Answered, Broker, BrokerError, Pending, Scope};
use cofferdam_control::peer::Peer;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::answers::fate_in_words;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::gatekeeper::{self, broker, broker_failure};
use crate::own_socket;
use crate::settings::Settings;

/// The file name of the socket in the runtime directory.
const SOCKET: &str = "approvals.sock";
const LONGEST_LINE: u64 = 64 << 10;
const MOST_CONNECTIONS: usize = 32;
const LOOK: Duration = Duration::from_millis(200);

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    /// What waits for an answer.
    List,
    /// What waits, and from then on whatever comes and goes.
    Watch,
    Allow {
        id: String,
        digest: String,
        #[serde(default = "once")]
        scope: Scope,
    },
    Deny {
        id: String,
        digest: String,
        comment: Option<String>,
    },
}

fn once() -> Scope {
    Scope::Once
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Told {
    Pending(Vec<Pending>),
    Asked(Box<Pending>),
    Gone { id: String },
    Taken { id: String },
    Late { id: String, what: &'static str },
    Unknown { id: String },
    Error(String),
}

pub fn run() -> Result<Exit, Failure> {
    let settings = Settings::load()?;
    let broker = Arc::new(broker(&settings)?);
    let path = settings.places.runtime.join(SOCKET);
    let listener = own_socket::listen(&settings.places.runtime, SOCKET).map_err(|error| {
        Failure::new(Exit::Unavailable, format!("cannot listen on {}: {error}", path.display()))
    })?;
    eprintln!("cofferdam: questions and answers on {}", path.display());
    let connections = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming().flatten() {
        let trusted = Peer::of(&stream).is_ok_and(Peer::may_control);
        if !trusted || connections.load(Ordering::Relaxed) >= MOST_CONNECTIONS {
            continue;
        }
        connections.fetch_add(1, Ordering::Relaxed);
        let (broker, connections) = (Arc::clone(&broker), Arc::clone(&connections));
        std::thread::spawn(move || {
            // Whoever hangs up has heard enough.
            let _ = converse(&broker, stream);
            connections.fetch_sub(1, Ordering::Relaxed);
        });
    }
    Ok(Exit::Success)
}

fn converse(broker: &Broker, stream: UnixStream) -> io::Result<()> {
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        let read = reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        if line.last() != Some(&b'\n') {
            return tell(&mut writer, &Told::Error("a line is too long or not ended".into()));
        }
        match serde_json::from_slice(&line) {
            Ok(Request::Watch) => return watch(broker, &mut writer),
            Ok(request) => tell(&mut writer, &done(broker, request))?,
            Err(error) => tell(&mut writer, &Told::Error(format!("this is no request: {error}")))?,
        }
    }
}

fn done(broker: &Broker, request: Request) -> Told {
    let failed = |error: &BrokerError| Told::Error(broker_failure(error).sentence().to_owned());
    let (id, digest, said) = match request {
        Request::List | Request::Watch => {
            return match broker.list() {
                Ok(pending) => Told::Pending(pending.into_iter().map(shown).collect()),
                Err(error) => failed(&error),
            };
        }
        Request::Allow { id, digest, scope } => (id, digest, Answer::Allow { scope }),
        Request::Deny { id, digest, comment } => (id, digest, Answer::Deny { comment }),
    };
    match broker.answer(&id, Some(&digest), &said) {
        Ok(Answered::Taken(_)) => Told::Taken { id },
        Ok(Answered::TooLate(fate)) => Told::Late { id, what: fate_in_words(&fate) },
        Ok(Answered::NoSuchQuestion) => Told::Unknown { id },
        Err(error) => failed(&error),
    }
}

/// Tells what comes and goes until the other end hangs up.
fn watch(broker: &Broker, writer: &mut UnixStream) -> io::Result<()> {
    let mut known: BTreeMap<String, ()> = BTreeMap::new();
    loop {
        let pending = broker.list().map_err(|error| io::Error::other(error.to_string()))?;
        let gone: Vec<String> =
            known.keys().filter(|id| !pending.iter().any(|one| one.id == **id)).cloned().collect();
        for id in gone {
            known.remove(&id);
            tell(writer, &Told::Gone { id })?;
        }
        for question in pending {
            if known.insert(question.id.clone(), ()).is_none() {
                tell(writer, &Told::Asked(Box::new(shown(question))))?;
            }
        }
        // A line of its own now and then finds out that nobody listens any more.
        if hung_up(writer)? {
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
}

fn hung_up(stream: &UnixStream) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut polled = [PollFd::new(stream, PollFlags::RDHUP)];
    poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    Ok(polled[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR))
}

/// A question as it leaves for a chat: without what is known to be a key.
fn shown(question: Pending) -> Pending {
    let reasons = question.reasons.iter().map(|reason| gatekeeper::redacted(reason)).collect();
    Pending { command: gatekeeper::redacted(&question.command), reasons, ..question }
}

fn tell(writer: &mut UnixStream, told: &Told) -> io::Result<()> {
    let mut line = serde_json::to_vec(&json!(told)).map_err(io::Error::other)?;
    line.push(b'\n');
    writer.write_all(&line)
}
