//! Approvals that last: `approvals.toml` for always, and a private file for each session.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cofferdam_linux_sys::private::{PrivateDir, PrivateError};
use cofferdam_policy::document::{Allowance, Covers, Prohibited, StoredApprovals};
use cofferdam_policy::mistake::Mistake;
use sha2::{Digest as _, Sha256};

use crate::broker::BrokerError;
use crate::call::Call;
use crate::subject::hex;
use crate::{Broker, Context, Decision, Digest, SessionContext, Subject, Verdict};

const FILE: &str = "approvals.toml";
const LARGEST: u64 = 16 << 20;
const SESSION_LASTS: Duration = Duration::from_secs(24 * 60 * 60);
/// What stands at the top of a new file.
const HEADING: &str = "# What was approved for always, and what is refused in every mode. Edit as you like;\n\
    # `cofferdam approvals list` shows what it means, `cofferdam approvals revoke ID` removes a rule.\n";

#[derive(Debug)]
pub enum GrantsError {
    Private(PrivateError),
    Mistakes(PathBuf, Vec<Mistake>),
    Broker(BrokerError),
    /// The rule could not be cut out of the text without touching another.
    EditByHand(String),
}

impl From<PrivateError> for GrantsError {
    fn from(error: PrivateError) -> Self {
        Self::Private(error)
    }
}

impl From<BrokerError> for GrantsError {
    fn from(error: BrokerError) -> Self {
        Self::Broker(error)
    }
}

impl std::fmt::Display for GrantsError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Private(error) => error.fmt(out),
            Self::Broker(error) => error.fmt(out),
            Self::Mistakes(path, mistakes) => {
                write!(out, "there are mistakes in {}", path.display())?;
                mistakes.first().map_or(Ok(()), |mistake| write!(out, ": {mistake}"))
            }
            Self::EditByHand(id) => write!(out, "the rule {id} cannot be told apart from its neighbours"),
        }
    }
}

/// The lasting approvals, as they are at this moment.
#[derive(Debug)]
pub struct Grants {
    directory: PathBuf,
    pub stored: StoredApprovals,
}

impl Grants {
    /// What `approvals.toml` of a configuration directory says; `text` is the file, if there is one. A file that
    /// cannot be understood is an error, never an empty one.
    pub fn parse(directory: &Path, text: Option<&str>) -> Result<Self, GrantsError> {
        let stored = parse(directory, text.unwrap_or_default())?;
        Ok(Self { directory: directory.to_owned(), stored })
    }

    /// Where the rules of a configuration directory are.
    pub fn file(directory: &Path) -> PathBuf {
        directory.join(FILE)
    }

    /// The user's own rule that refuses this, if there is one.
    pub(crate) fn prohibition(&self, verdict: &Verdict, calls: &[Call]) -> Option<&str> {
        let hit = |covers: &Prohibited| match covers {
            Prohibited::Rule(rule) => verdict.findings.iter().any(|finding| finding.rule == rule),
            Prohibited::Program { program, arguments } => calls.iter().any(|call| {
                call.program() == Some(program.as_str())
                    && arguments.iter().all(|argument| call.texts().any(|text| text == argument))
            }),
        };
        self.stored.deny.iter().find(|rule| hit(&rule.covers)).map(|rule| rule.id.as_str())
    }

    /// The stored rule that covers the whole command. A named rule covers what it names; every finding needs one,
    /// so that one approved part never hides another.
    pub(crate) fn allowance(&self, verdict: &Verdict, subject: &Subject, place: &Context) -> Option<&str> {
        let fitting = || self.stored.allow.iter().filter(|rule| rule.session == subject.kind());
        let exact = |rule: &&Allowance| match &rule.covers {
            Covers::Command { command, directory, scripts } => {
                let stored = Subject::stored(command, directory, rule.session, scripts, place);
                stored.digest() == subject.digest()
            }
            Covers::Rule(_) => false,
        };
        if let Some(rule) = fitting().find(exact) {
            return Some(&rule.id);
        }
        let named =
            |name: &str| fitting().find(|rule| matches!(&rule.covers, Covers::Rule(rule) if rule == name));
        let mut asking =
            verdict.findings.iter().filter(|finding| finding.decision != Decision::Allow).peekable();
        asking.peek()?;
        let mut last = None;
        for finding in asking {
            last = Some(named(finding.rule)?);
        }
        last.map(|rule| rule.id.as_str())
    }

    /// Adds the narrowest rule that covers a command: itself, where it is, for its kind of session. Gives its id.
    pub(crate) fn keep(&self, broker: &Broker, subject: &Subject) -> Result<String, GrantsError> {
        let private = PrivateDir::open_or_create(&self.directory)?;
        let _lock = broker.directory().lock("rules")?;
        let mut text = read(&private)?;
        let before = parse(&self.directory, &text)?;
        let id = broker.new_id()?;
        if text.is_empty() {
            text.push_str(HEADING);
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&block(&id, subject));
        let after = parse(&self.directory, &text)?;
        if after.allow.len() != before.allow.len() + 1 || after.deny != before.deny {
            return Err(GrantsError::EditByHand(id));
        }
        private.write_atomically(FILE, text.as_bytes())?;
        Ok(id)
    }

    /// Takes a rule out of the file, and leaves everything else as it was written. `false`: there is none.
    pub fn revoke(&self, broker: &Broker, id: &str) -> Result<bool, GrantsError> {
        let private = PrivateDir::open_or_create(&self.directory)?;
        let _lock = broker.directory().lock("rules")?;
        let text = read(&private)?;
        let mut wanted = parse(&self.directory, &text)?;
        let before = wanted.allow.len() + wanted.deny.len();
        wanted.allow.retain(|rule| rule.id != id);
        wanted.deny.retain(|rule| rule.id != id);
        if wanted.allow.len() + wanted.deny.len() == before {
            return Ok(false);
        }
        // Whatever the text looks like: it is only written if it means exactly what is wanted.
        let cut = blocks(&text).find_map(|(start, end)| {
            let without = format!("{}{}", &text[..start], &text[end..]);
            (parse(&self.directory, &without).ok()? == wanted).then_some(without)
        });
        let without = cut.ok_or_else(|| GrantsError::EditByHand(id.to_owned()))?;
        private.write_atomically(FILE, without.as_bytes())?;
        Ok(true)
    }
}

fn read(private: &PrivateDir) -> Result<String, GrantsError> {
    match private.read(FILE, LARGEST) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.io_kind() == Some(std::io::ErrorKind::NotFound) => Ok(String::new()),
        Err(error) => Err(error.into()),
    }
}

fn parse(directory: &Path, text: &str) -> Result<StoredApprovals, GrantsError> {
    let path = directory.join(FILE);
    StoredApprovals::parse(&path.display().to_string(), text, &crate::rule_names::all())
        .map_err(|mistakes| GrantsError::Mistakes(path, mistakes))
}

/// The places of the entries: from one line that begins with `[[` to the next.
fn blocks(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut starts: Vec<usize> = text
        .split_inclusive('\n')
        .scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some((start, line))
        })
        .filter(|(_, line)| line.starts_with("[["))
        .map(|(start, _)| start)
        .collect();
    starts.push(text.len());
    (1..starts.len()).map(move |next| (starts[next - 1], starts[next])).collect::<Vec<_>>().into_iter()
}

fn block(id: &str, subject: &Subject) -> String {
    let mut text = format!(
        "\n[[allow]]\nid = {}\nsession = {}\ndirectory = {}\ncommand = {}\n",
        quoted(id),
        quoted(subject.kind().name()),
        quoted(subject.directory()),
        quoted(subject.command())
    );
    if !subject.scripts().is_empty() {
        let scripts: Vec<String> = subject
            .scripts()
            .iter()
            .map(|script| quoted(&format!("sha256:{} {}", script.sha256, script.path)))
            .collect();
        text.push_str(&format!("scripts = [{}]\n", scripts.join(", ")));
    }
    text
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ if character.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(character))),
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

/// The digests that were approved for a session. Gone when the session is ended, and a day after the last yes: a
/// session that is picked up next week is another one.
pub(crate) fn of_session(broker: &Broker, context: &SessionContext) -> Result<BTreeSet<String>, GrantsError> {
    let directory = sessions(broker)?;
    let name = session_file(&context.session);
    let bytes = match directory.read(&name, LARGEST) {
        Ok(bytes) => bytes,
        Err(error) if error.io_kind() == Some(std::io::ErrorKind::NotFound) => return Ok(BTreeSet::new()),
        Err(error) => return Err(error.into()),
    };
    let written = directory.open_read(&name)?.metadata().and_then(|data| data.modified());
    // A time that is not known, or yet to come, is no recent one.
    let recent = written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age < SESSION_LASTS));
    if !recent {
        return Ok(BTreeSet::new());
    }
    Ok(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
}

pub(crate) fn keep_for_session(
    broker: &Broker,
    context: &SessionContext,
    digest: &Digest,
) -> Result<(), GrantsError> {
    let _lock = broker.directory().lock("rules")?;
    let mut digests = of_session(broker, context)?;
    digests.insert(digest.to_string());
    let text: String = digests.iter().map(|digest| format!("{digest}\n")).collect();
    Ok(sessions(broker)?.write_atomically(&session_file(&context.session), text.as_bytes())?)
}

impl Broker {
    /// The end of a session ends what was approved for it.
    pub fn end_session(&self, session: &str) -> Result<(), GrantsError> {
        let _lock = self.directory().lock("rules")?;
        Ok(sessions(self)?.remove(&session_file(session))?)
    }
}

pub(crate) fn sessions(broker: &Broker) -> Result<PrivateDir, GrantsError> {
    Ok(PrivateDir::open_or_create(&broker.directory().path().join("sessions"))?)
}

/// Whatever a session is called, it is one name in one directory.
pub(crate) fn session_file(session: &str) -> String {
    hex(&Sha256::digest(session.as_bytes()))
}
