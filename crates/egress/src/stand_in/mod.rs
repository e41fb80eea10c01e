//! What a sandbox holds where a credential is more than one text, and who answers it when it mints for itself.
//!
//! A client that expects a service account, a private key or a pair of keys gets one, made here and good for nothing
//! but this proxy. Where its client asks a token server or the metadata server, the answer is a token of ours, which
//! is swapped like any other: the real exchange is done outside ([`crate::mint`]).

mod answer;
mod key;
mod locals;
mod metadata;

use cofferdam_policy::provider::{Provider, Shape};
use zeroize::Zeroizing;

pub(crate) use answer::{Asked, answer, is_needed};
pub(crate) use key::StandInKey;
pub(crate) use locals::Locals;

use crate::client::ClientId;
use crate::proxy::Proxy;
use crate::scheme::google;
use crate::tokens::{Life, Token};

/// What stands for the credential of one provider in one sandbox.
pub struct StandIn {
    /// Variables and their values: a provider's variables have the same one, unless the credential has parts.
    pub variables: Vec<(Box<str>, Token)>,
    /// For a variable that names a file.
    pub files: Vec<StandInFile>,
}

/// A file to put into the sandbox. The variables are set to wherever it is put.
pub struct StandInFile {
    pub variables: Vec<Box<str>>,
    /// A name for it, without a directory.
    pub name: String,
    pub contents: Zeroizing<String>,
}

/// Why there is no stand-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandInError {
    NoRandomness,
    NoKey,
}

impl std::fmt::Display for StandInError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoRandomness => "the kernel gave no randomness",
            Self::NoKey => "no key for a stand-in can be made",
        })
    }
}

impl std::error::Error for StandInError {}

impl Proxy {
    /// Makes what a sandbox gets in place of a provider's credential. It is worth nothing outside that sandbox.
    pub fn stand_in(
        &self,
        client: ClientId,
        provider: &Provider,
        life: Life,
    ) -> Result<StandIn, StandInError> {
        let minted = self.tokens().mint(client, provider, life).map_err(|_| StandInError::NoRandomness)?;
        let names = || provider.variables.iter().map(|name| Box::from(&**name));
        let (variables, files) = match provider.shape() {
            Shape::Value | Shape::OAuthClient => {
                (names().map(|name| (name, Token(minted.0.clone()))).collect(), Vec::new())
            }
            Shape::AwsKeys => {
                let other = self.tokens().other_half(minted.0.as_bytes());
                let halves = [minted, Token(other.map_err(|_| StandInError::NoRandomness)?)];
                (names().zip(halves).collect(), Vec::new())
            }
            Shape::GithubApp => {
                let key = self.stand_in_key().pem().map_err(|_| StandInError::NoKey)?;
                (names().map(|name| (name, Token(key.clone()))).collect(), Vec::new())
            }
            Shape::GoogleAccount => {
                let key = self.stand_in_key().pem().map_err(|_| StandInError::NoKey)?;
                let contents = google::stand_in_account(minted.expose(), &key);
                let name = format!("{}.json", provider.name);
                (Vec::new(), vec![StandInFile { variables: names().collect(), name, contents }])
            }
        };
        Ok(StandIn { variables, files })
    }
}
