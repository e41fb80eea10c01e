//! Taking a session back: what was approved for it is forgotten, and what runs in its name ends.

use crate::Broker;
use crate::grants::{GrantsError, session_file, sessions};

const LONGEST: u64 = 64;

/// How often a session has been taken back so far, as far as anybody can tell: a new word each time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation(Option<Vec<u8>>);

impl Broker {
    /// Forgets the approvals of a session and lets everything that runs in its name know.
    pub fn revoke_session(&self, session: &str) -> Result<(), GrantsError> {
        self.end_session(session)?;
        let word = self.new_id()?;
        Ok(sessions(self)?.write_atomically(&file(session), word.as_bytes())?)
    }

    /// To be compared with a later one: if they differ, the session was taken back in between. What cannot be read
    /// counts as taken back.
    pub fn revocation(&self, session: &str) -> Result<Revocation, GrantsError> {
        match sessions(self)?.read(&file(session), LONGEST) {
            Ok(word) => Ok(Revocation(Some(word))),
            Err(error) if error.io_kind() == Some(std::io::ErrorKind::NotFound) => Ok(Revocation(None)),
            Err(error) => Err(error.into()),
        }
    }
}

fn file(session: &str) -> String {
    format!("{}-revoked", session_file(session))
}
