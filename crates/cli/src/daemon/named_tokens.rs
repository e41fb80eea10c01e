//! `tokens.json`: the tokens with which containers and others use the shared port. Their values are shown once, when
//! they are made; what is kept is enough to know them again.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use cofferdam_egress::{KeptToken, Token};
use cofferdam_linux_sys::private::{PrivateDir, PrivateError};
use cofferdam_policy::provider::Provider;
use serde::{Deserialize, Serialize};

use crate::clientele::{digest_of, hexadecimal};
use crate::exit::Exit;
use crate::failure::Failure;

const FILE: &str = "tokens.json";
const LOCK: &str = "tokens.lock";
const LONGEST: u64 = 4 << 20;
const VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedToken {
    pub provider: String,
    /// Others whose clients look in the same variable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    pub variable: String,
    /// Its first characters, for people.
    pub begins: String,
    /// Of SHA-256, in hexadecimal digits.
    pub digest: String,
    /// Seconds since 1970.
    pub made: u64,
    /// Where its credential came from when it was made, in words; empty if that was not written down then.
    #[serde(default)]
    pub source: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    tokens: Vec<NamedToken>,
}

#[derive(Debug)]
pub enum TokensError {
    Private(PrivateError),
    /// The file is none of ours, or was changed by hand.
    Broken(PathBuf),
}

impl fmt::Display for TokensError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Private(error) => error.fmt(f),
            Self::Broken(path) => write!(f, "{} is not a list of tokens", path.display()),
        }
    }
}

impl TokensError {
    pub fn hint(&self) -> String {
        match self {
            Self::Private(error) => error.fix(),
            Self::Broken(path) => {
                format!(
                    "move {} away and run `cofferdam egress setup`, which makes new tokens",
                    path.display()
                )
            }
        }
    }
}

impl From<PrivateError> for TokensError {
    fn from(error: PrivateError) -> Self {
        Self::Private(error)
    }
}

impl From<TokensError> for Failure {
    fn from(error: TokensError) -> Self {
        Self::new(Exit::Unavailable, error.to_string()).hint(error.hint())
    }
}

/// All that are kept; none if there was no setup.
pub fn read(state: &Path) -> Result<Vec<NamedToken>, TokensError> {
    let Some(directory) = PrivateDir::open(state)? else { return Ok(Vec::new()) };
    let broken = || TokensError::Broken(state.join(FILE));
    let bytes = match directory.read(FILE, LONGEST) {
        Ok(bytes) => bytes,
        Err(error) if error.io_kind() == Some(io::ErrorKind::NotFound) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let document: Document = serde_json::from_slice(&bytes).map_err(|_| broken())?;
    let sound = |token: &NamedToken| token.kept().is_some();
    match document.version == VERSION && document.tokens.iter().all(sound) {
        true => Ok(document.tokens),
        false => Err(broken()),
    }
}

/// Changes the list, unless the change fails; two processes at once change it one after the other. With `backup`, the
/// file from before is kept under that name.
pub fn change<T, E: From<TokensError>>(
    state: &Path,
    backup: Option<&str>,
    change: impl FnOnce(&mut Vec<NamedToken>) -> Result<T, E>,
) -> Result<T, E> {
    let private = |error: PrivateError| E::from(TokensError::Private(error));
    let directory = PrivateDir::open_or_create(state).map_err(private)?;
    let _lock = directory.lock(LOCK).map_err(private)?;
    let mut tokens = read(state)?;
    let result = change(&mut tokens)?;
    if let Some(backup) = backup {
        let before = directory.read(FILE, LONGEST).map_err(private)?;
        directory.write_atomically(backup, &before).map_err(private)?;
    }
    let document = Document { version: VERSION, tokens };
    let failed = |error: serde_json::Error| private(PrivateError::system(state.join(FILE), "write", error));
    let written = serde_json::to_vec_pretty(&document).map_err(failed)?;
    directory.write_atomically(FILE, &written).map_err(private)?;
    Ok(result)
}

impl NamedToken {
    /// What is kept of a token that is handed out now, for a credential from this source.
    pub fn of(provider: &Provider, token: &Token, source: String) -> Self {
        let shown = provider.token.prefix.len() + 4;
        let made = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self {
            provider: provider.name.to_string(),
            also: Vec::new(),
            variable: provider.variables.first().map(ToString::to_string).unwrap_or_default(),
            begins: token.expose().chars().take(shown).collect(),
            digest: hexadecimal(&KeptToken::of(&provider.name, token).digest),
            made,
            source,
        }
    }

    /// Whether it stands for the credential of this provider.
    pub fn is_of(&self, provider: &Provider) -> bool {
        self.providers().any(|name| *name == provider.name)
    }

    pub fn providers(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.provider).chain(&self.also)
    }

    pub fn kept(&self) -> Option<KeptToken> {
        Some(KeptToken { providers: self.providers().cloned().collect(), digest: digest_of(&self.digest)? })
    }
}
