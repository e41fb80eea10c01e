//! Questions that wait for an answer.
//!
//! A question is a private file below `pending/`, made by the process that asks, which holds a lock on it for as
//! long as it lives. An answer is a file below `answers/`, which repeats the digest of what it is about. Both are
//! written under one lock, so that of two answers one is taken and the other one told that it came late. What
//! became of a question stays in `settled/` for a while, for whoever answers it afterwards.
//!
//! Nothing here is ever a yes by itself: a process that dies leaves a question that nobody waits for.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cofferdam_linux_sys::private::{Lock, PrivateDir, PrivateError};
use serde::{Deserialize, Serialize};

use crate::Digest;

const LARGEST: u64 = 4 << 20;
/// So many settled questions are remembered.
const REMEMBERED: usize = 256;

/// How long a yes holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Once,
    Session,
    Always,
}

/// What somebody said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "lowercase")]
pub enum Answer {
    Allow {
        scope: Scope,
    },
    Deny {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
    },
}

/// A question as it is written down, whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    pub id: String,
    pub digest: String,
    pub session: String,
    pub kind: String,
    pub command: String,
    pub directory: String,
    /// One sentence for each finding, the gravest first.
    pub reasons: Vec<String>,
    /// Whether "always" can be answered.
    pub can_be_kept: bool,
    /// Seconds since 1970.
    pub asked: u64,
    pub expires: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredAnswer {
    digest: String,
    said: Answer,
}

/// What became of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fate", rename_all = "lowercase")]
pub enum Fate {
    Answered {
        said: Answer,
    },
    Expired,
    /// Whoever asked is gone, or could not ask.
    Abandoned,
}

/// What an answer did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    Taken(Pending),
    /// Nothing was changed: this had become of it before.
    TooLate(Fate),
    NoSuchQuestion,
}

#[derive(Debug)]
pub enum BrokerError {
    Private(PrivateError),
    /// A file of ours does not hold what we wrote.
    Damaged(String),
    NoRandomness(std::io::Error),
    /// No person reads a command of that length.
    TooLarge,
}

impl From<PrivateError> for BrokerError {
    fn from(error: PrivateError) -> Self {
        Self::Private(error)
    }
}

impl std::fmt::Display for BrokerError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Private(error) => error.fmt(out),
            Self::Damaged(name) => write!(out, "{name} does not hold what was written there"),
            Self::TooLarge => out.write_str("the command is too long to be shown to anybody"),
            Self::NoRandomness(error) => write!(out, "the kernel gives no random numbers: {error}"),
        }
    }
}

/// The directories of the broker.
#[derive(Debug)]
pub struct Broker {
    base: PrivateDir,
    pending: PrivateDir,
    answers: PrivateDir,
    settled: PrivateDir,
}

/// A question of this process. Dropped without being settled, it counts as abandoned.
#[derive(Debug)]
pub struct Asked<'b> {
    broker: &'b Broker,
    pub pending: Pending,
    _alive: Lock,
    settled: bool,
}

impl Broker {
    /// `path` is the directory `approvals` of the state directory.
    pub fn open(path: &Path) -> Result<Self, BrokerError> {
        let base = PrivateDir::open_or_create(path)?;
        let [pending, answers, settled] =
            ["pending", "answers", "settled"].map(|name| base.subdirectory(name));
        Ok(Self { pending: pending?, answers: answers?, settled: settled?, base })
    }

    pub(crate) fn directory(&self) -> &PrivateDir {
        &self.base
    }

    /// Writes a question down, or finds the one of the same session that asks the same already.
    pub(crate) fn ask(
        &self,
        mut question: Pending,
        timeout: Duration,
    ) -> Result<Result<Asked<'_>, Pending>, BrokerError> {
        let _lock = self.base.lock("lock")?;
        let same = |other: &Pending| other.digest == question.digest && other.session == question.session;
        if let Some(other) = self.waiting()?.into_iter().find(same) {
            return Ok(Err(other));
        }
        question.id = self.new_id()?;
        question.asked = now();
        question.expires = question.asked.saturating_add(timeout.as_secs().max(1));
        let bytes = to_json(&question);
        if bytes.len() as u64 > LARGEST {
            return Err(BrokerError::TooLarge);
        }
        let alive = self.pending.lock(&alive_name(&question.id))?;
        self.pending.write_atomically(&json_name(&question.id), &bytes)?;
        Ok(Ok(Asked { broker: self, pending: question, _alive: alive, settled: false }))
    }

    /// Every question that somebody still waits for. Those of processes that are gone are settled on the way.
    pub fn list(&self) -> Result<Vec<Pending>, BrokerError> {
        let _lock = self.base.lock("lock")?;
        self.waiting()
    }

    fn waiting(&self) -> Result<Vec<Pending>, BrokerError> {
        let mut found = Vec::new();
        for name in self.pending.names()? {
            let Some(id) = name.strip_suffix(".json").filter(|id| !id.starts_with('.')) else { continue };
            if let Some(pending) = self.look(id)? {
                found.push(pending);
            }
        }
        found.sort_by_key(|pending| (pending.asked, pending.id.clone()));
        Ok(found)
    }

    /// A question that can still be answered; one that cannot is settled here.
    fn look(&self, id: &str) -> Result<Option<Pending>, BrokerError> {
        let name = json_name(id);
        let pending: Pending = match self.pending.read(&name, LARGEST) {
            Ok(bytes) => from_json(&name, &bytes)?,
            Err(error) if error.io_kind() == Some(std::io::ErrorKind::NotFound) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let nobody_waits = self.pending.try_lock(&alive_name(id))?.is_some();
        let fate = match self.answer_of(&pending)? {
            Some(said) => Some(Fate::Answered { said }),
            None if now() >= pending.expires => Some(Fate::Expired),
            None if nobody_waits => Some(Fate::Abandoned),
            None => None,
        };
        match fate {
            None => Ok(Some(pending)),
            // Its own process takes the answer; only what nobody waits for is cleared away here.
            Some(_) if !nobody_waits => Ok(None),
            Some(fate) => {
                // An answer that nobody took changed nothing.
                let fate = if matches!(fate, Fate::Answered { .. }) { Fate::Abandoned } else { fate };
                self.settle(id, &fate)?;
                Ok(None)
            }
        }
    }

    /// Answers a question. `digest` is that of what the person saw.
    pub fn answer(&self, id: &str, digest: Option<&str>, said: &Answer) -> Result<Answered, BrokerError> {
        let _lock = self.base.lock("lock")?;
        if !is_id(id) {
            return Ok(Answered::NoSuchQuestion);
        }
        let Some(pending) = self.look(id)? else { return self.too_late(id) };
        if digest.is_some_and(|digest| digest != pending.digest) {
            return Ok(Answered::NoSuchQuestion);
        }
        let answer = StoredAnswer { digest: pending.digest.clone(), said: said.clone() };
        self.answers.write_atomically(&json_name(id), &to_json(&answer))?;
        Ok(Answered::Taken(pending))
    }

    fn too_late(&self, id: &str) -> Result<Answered, BrokerError> {
        if let Some(fate) = self.fate(id)? {
            return Ok(Answered::TooLate(fate));
        }
        let name = json_name(id);
        match self.answers.read(&name, LARGEST) {
            Ok(bytes) => {
                let answer: StoredAnswer = from_json(&name, &bytes)?;
                Ok(Answered::TooLate(Fate::Answered { said: answer.said }))
            }
            // The file is there without an answer: its time is up, and its process has not looked yet.
            Err(_) if self.pending.open_read(&name).is_ok() => Ok(Answered::TooLate(Fate::Expired)),
            Err(_) => Ok(Answered::NoSuchQuestion),
        }
    }

    /// What became of a question, as long as it is remembered.
    pub(crate) fn fate(&self, id: &str) -> Result<Option<Fate>, BrokerError> {
        let name = json_name(id);
        match self.settled.read(&name, LARGEST) {
            Ok(bytes) => from_json(&name, &bytes).map(Some),
            Err(error) if error.io_kind() == Some(std::io::ErrorKind::NotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the process behind a question is there.
    pub(crate) fn is_waited_for(&self, id: &str) -> Result<bool, BrokerError> {
        let _lock = self.base.lock("lock")?;
        Ok(self.pending.open_read(&json_name(id)).is_ok()
            && self.pending.try_lock(&alive_name(id))?.is_none())
    }

    fn answer_of(&self, pending: &Pending) -> Result<Option<Answer>, BrokerError> {
        let name = json_name(&pending.id);
        match self.answers.read(&name, LARGEST) {
            Ok(bytes) => {
                let answer: StoredAnswer = from_json(&name, &bytes)?;
                Ok((answer.digest == pending.digest).then_some(answer.said))
            }
            Err(error) if error.io_kind() == Some(std::io::ErrorKind::NotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Under the lock: remembers what became of a question and clears it away.
    fn settle(&self, id: &str, fate: &Fate) -> Result<(), BrokerError> {
        self.settled.write_atomically(&json_name(id), &to_json(fate))?;
        self.pending.remove(&json_name(id))?;
        self.pending.remove(&alive_name(id))?;
        self.answers.remove(&json_name(id))?;
        self.forget_the_oldest()
    }

    fn forget_the_oldest(&self) -> Result<(), BrokerError> {
        let names = self.settled.names()?;
        if names.len() <= REMEMBERED {
            return Ok(());
        }
        let age = |name: &String| {
            self.settled.open_read(name).ok().and_then(|file| file.metadata().ok()?.modified().ok())
        };
        let mut by_age: Vec<_> = names.into_iter().map(|name| (age(&name), name)).collect();
        by_age.sort();
        let going = by_age.len() - REMEMBERED / 2;
        by_age.iter().take(going).try_for_each(|(_, name)| Ok(self.settled.remove(name)?))
    }

    pub(crate) fn new_id(&self) -> Result<String, BrokerError> {
        use std::io::Read;
        let mut bytes = [0; 8];
        std::fs::File::open("/dev/urandom")
            .and_then(|mut file| file.read_exact(&mut bytes))
            .map_err(BrokerError::NoRandomness)?;
        // Without letters and digits that are mistaken for one another.
        const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
        Ok(bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect())
    }
}

impl Asked<'_> {
    /// The answer, if there is one by now.
    pub(crate) fn answer(&self) -> Result<Option<Answer>, BrokerError> {
        self.broker.answer_of(&self.pending)
    }

    /// Ends the question. An answer that came in before the lock was taken wins over `otherwise`.
    pub(crate) fn settle(mut self, otherwise: Fate) -> Result<Fate, BrokerError> {
        let _lock = self.broker.base.lock("lock")?;
        let fate = match self.answer()? {
            Some(said) => Fate::Answered { said },
            None => otherwise,
        };
        self.broker.settle(&self.pending.id, &fate)?;
        self.settled = true;
        Ok(fate)
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if !self.settled
            && let Ok(_lock) = self.broker.base.lock("lock")
        {
            // What cannot be cleared away now is found to be abandoned by the next one who looks.
            let _ = self.broker.settle(&self.pending.id, &Fate::Abandoned);
        }
    }
}

impl Pending {
    pub(crate) fn digest_is(&self, digest: &Digest) -> bool {
        self.digest == digest.to_string()
    }
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn is_id(id: &str) -> bool {
    id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn json_name(id: &str) -> String {
    format!("{id}.json")
}

fn alive_name(id: &str) -> String {
    format!("{id}.alive")
}

fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec_pretty(value).expect("these values have only string keys")
}

fn from_json<T: for<'de> Deserialize<'de>>(name: &str, bytes: &[u8]) -> Result<T, BrokerError> {
    serde_json::from_slice(bytes).map_err(|_| BrokerError::Damaged(name.to_owned()))
}
