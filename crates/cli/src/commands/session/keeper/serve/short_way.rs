//! Clients that come by the short way (`crates/short-way`): they know nothing but their arguments, so the gate is asked
//! here, in their name, and what they are told is ready to be written.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use cofferdam_approvals::Backend;

use super::super::process::{Process, Role};
use super::{Client, Keeper, Waits, requests};
use crate::admission::{self, Line, Where};
use crate::caller::Caller;
use crate::commands::run::outcome;
use crate::commands::session::client;
use crate::commands::session::exec;
use crate::commands::session::protocol::{Cleared, Refusal, Reply, What};
use crate::failure::Failure;
use crate::places::Places;

/// What no other message begins with, and the version.
const BEGINNING: [u8; 2] = [0, 1];
const LONG_WAY: u8 = 0;
const ENDED: u8 = 1;
/// How an answer begins that says how the command ended.
pub const BEFORE_STATUS: [u8; 3] = [BEGINNING[0], BEGINNING[1], ENDED];
/// What such a client reads of an answer.
const LONGEST: usize = 4096;
/// A text that takes longer to judge would keep the others waiting, and so would files that take longer to read.
const LONGEST_TEXT: usize = 4 << 10;
/// So would one with many brackets, which can be nested so that a parser tries every way to read them.
const MOST_BRACKETS: usize = 12;
const MOST_READ: u64 = 1 << 20;

/// What a client was started with.
pub struct Strings {
    arguments: Vec<OsString>,
    /// As [`Caller::Other`] has them.
    variables: Vec<u8>,
}

/// The strings of such a message; none if it is of another kind.
pub fn strings(message: &[u8]) -> Option<Strings> {
    let (count, block) = message.strip_prefix(&BEGINNING)?.split_first_chunk::<4>()?;
    let count = usize::try_from(u32::from_ne_bytes(*count)).ok()?;
    let mut rest = block;
    let mut arguments = Vec::new();
    for _ in 0..count {
        let end = rest.iter().position(|byte| *byte == 0)?;
        arguments.push(OsStr::from_bytes(&rest[..end]).to_owned());
        rest = &rest[end + 1..];
    }
    Some(Strings { arguments, variables: rest.to_vec() })
}

impl Keeper {
    /// Asks the gate about the command that these strings mean, and starts it.
    pub(super) fn obey_at_once(
        &mut self,
        client: u64,
        strings: Strings,
        streams: &[OwnedFd],
    ) -> Result<(), Refusal> {
        let Strings { arguments, variables } = strings;
        let meant = self.meant(&arguments).filter(|_| streams.len() == 3 && self.listener.is_some());
        let Some((what, line)) = meant else { return self.send_back(client) };
        let places = Places::of(&Caller::Other(variables.clone()));
        let here = |places: &Places| places.runtime.join("sessions") == self.setup.sessions.as_path();
        let Some(places) = places.ok().filter(here) else { return self.send_back(client) };
        let (directory, workspace) = (self.left.directory.as_path(), self.setup.workspace.as_path());
        let place = Where { directory, workspace, session: &self.setup.name, backend: Backend::Isolated };
        let gate = self.gate.of(variables, &places);
        let approved = match gate.map(|gate| admission::unasked(gate, line, place)) {
            Some(Ok(Some(approved))) => approved,
            Some(Ok(None)) | None => return self.send_back(client),
            Some(Err(no)) => {
                self.answer_at_once(client, no.status(), &no.text());
                return Ok(());
            }
        };
        let cleared = Cleared::new(what.clone(), &approved);
        let process = Process::new(requests::shown(&what), Role::Foreground { client });
        if let Some(known) = self.clients.get_mut(&client) {
            known.asked = Some(what);
        }
        let id = self.start(process, &cleared, streams)?;
        self.wait_for(client, Waits::Process(id));
        Ok(())
    }

    /// The command, if these words mean one of this session.
    fn meant<'a>(&self, arguments: &'a [OsString]) -> Option<(What, Line<'a>)> {
        let [_, session, exec, name, how, words @ ..] = arguments else { return None };
        if session != "session" || exec != "exec" || name.to_str() != Some(&self.setup.name) {
            return None;
        }
        if words.iter().map(|word| word.len() + 1).sum::<usize>() > LONGEST_TEXT {
            return None;
        }
        let brackets = words.iter().flat_map(|word| word.as_encoded_bytes()).filter(|byte| **byte == b'(');
        if brackets.count() > MOST_BRACKETS {
            return None;
        }
        if !is_light(&self.left.directory, words) {
            return None;
        }
        match (how.to_str()?, words) {
            ("--", [_, ..]) => Some((exec::command(words), Line::Words(words))),
            ("-c", [text]) => Some((What::Shell(text.as_os_str().into()), Line::Text(text))),
            _ => None,
        }
    }

    pub(super) fn send_back(&self, client: u64) -> Result<(), Refusal> {
        if let Some(known) = self.clients.get(&client) {
            let _ = known.channel.send_bytes(&[BEGINNING[0], BEGINNING[1], LONG_WAY]);
        }
        Ok(())
    }

    fn answer_at_once(&mut self, client: u64, status: u8, told: &str) {
        if let Some(known) = self.clients.get(&client) {
            let _ = known.channel.send_bytes(&ended(status, told));
        }
    }
}

impl Client {
    /// Tells it in the language that it reads.
    pub(super) fn tell(
        &self,
        session: &str,
        reply: &Reply,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let Some(asked) = &self.asked else { return self.channel.send(reply, descriptors) };
        let (rest, end) = match reply {
            Reply::Ended(end) => (outcome::rest(end), outcome::exit(end, &named(asked))),
            Reply::Refused(refusal) => (String::new(), Err(client::refused(session, *refusal))),
            _ => return Err(io::Error::other("a reply that it does not read")),
        };
        let (status, told) = match end {
            Ok(exit) => (exit.status(), String::new()),
            Err(failure) => (failure.status(), Failure::text(&failure)),
        };
        self.channel.send_bytes(&ended(status, &(rest + &told)))
    }
}

/// Whether the files that are named here are read in no time: the gate looks into what a command runs.
fn is_light(directory: &Path, words: &[OsString]) -> bool {
    let between = |byte: &u8| byte.is_ascii_whitespace() || b";|&()<>'\"`$\\={}".contains(byte);
    let names = words.iter().flat_map(|word| word.as_bytes().split(between)).filter(|name| !name.is_empty());
    let sizes = names.filter_map(|name| fs::metadata(directory.join(OsStr::from_bytes(name))).ok());
    sizes.filter(fs::Metadata::is_file).map(|found| found.len()).sum::<u64>() <= MOST_READ
}

/// As the command is named when something is said about it.
fn named(asked: &What) -> Vec<OsString> {
    match asked {
        What::Command(words) => words.iter().map(|word| word.as_os_str().to_owned()).collect(),
        What::Shell(_) => vec!["the shell".into()],
    }
}

/// An answer, cut to what is read of it.
fn ended(status: u8, told: &str) -> Vec<u8> {
    let mut answer = BEFORE_STATUS.to_vec();
    answer.push(status);
    let mut room = LONGEST - answer.len();
    while !told.is_char_boundary(room.min(told.len())) {
        room -= 1;
    }
    answer.extend(&told.as_bytes()[..room.min(told.len())]);
    answer
}
