//! `tokens.json`: the tokens with which containers and others use the shared port. Their values are shown once, when
//! they are made; what is kept is enough to know them again.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use cofferdam_egress::KeptToken;
use cofferdam_linux_sys::private::{PrivateDir, PrivateError};
use serde::{Deserialize, Serialize};

use super::handover;

const FILE: &str = "tokens.json";
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

impl NamedToken {
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

pub fn hexadecimal(bytes: &[u8]) -> String {
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
