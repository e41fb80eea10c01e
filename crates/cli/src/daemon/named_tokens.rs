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

use super::handover;
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
    pub variable: String,
    /// Its first characters, for people.
    pub begins: String,
    /// Of SHA-256, in hexadecimal digits.
    pub digest: String,
    /// Seconds since 1970.
    pub made: u64,
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

/// Changes the list; two processes at once change it one after the other. With `backup`, the file from before is kept
/// under that name.
pub fn change<T>(
    state: &Path,
    backup: Option<&str>,
    change: impl FnOnce(&mut Vec<NamedToken>) -> T,
) -> Result<T, TokensError> {
    let directory = PrivateDir::open_or_create(state)?;
    let _lock = directory.lock(LOCK)?;
    let mut tokens = read(state)?;
    if let Some(backup) = backup {
        directory.write_atomically(backup, &directory.read(FILE, LONGEST)?)?;
    }
    let result = change(&mut tokens);
    let document = Document { version: VERSION, tokens };
    let failed = |error: serde_json::Error| PrivateError::system(state.join(FILE), "write", error);
    directory.write_atomically(FILE, &serde_json::to_vec_pretty(&document).map_err(failed)?)?;
    Ok(result)
}

impl NamedToken {
    /// What is kept of a token that is handed out now.
    pub fn of(provider: &Provider, token: &Token) -> Self {
        let shown = provider.token.prefix.len() + 4;
        let made = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self {
            provider: provider.name.to_string(),
            variable: provider.variables.first().map(ToString::to_string).unwrap_or_default(),
            begins: token.expose().chars().take(shown).collect(),
            digest: hexadecimal(&KeptToken::of(&provider.name, token).digest),
            made,
        }
    }

    pub fn kept(&self) -> Option<KeptToken> {
        Some(KeptToken { providers: vec![self.provider.clone()], digest: digest_of(&self.digest)? })
    }
}

impl From<KeptToken> for handover::KeptToken {
    fn from(kept: KeptToken) -> Self {
        Self { providers: kept.providers, digest: hexadecimal(&kept.digest) }
    }
}

impl handover::KeptToken {
    pub fn kept(&self) -> Option<KeptToken> {
        Some(KeptToken { providers: self.providers.clone(), digest: digest_of(&self.digest)? })
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn digest_of(text: &str) -> Option<[u8; 32]> {
    let bytes: Vec<u8> = text
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect::<Option<_>>()?;
    bytes.try_into().ok()
}
