//! The three parts of an AWS credential.

use std::borrow::Cow;
use std::sync::Arc;

use cofferdam_secrets::Secret;
use serde::Deserialize;
use zeroize::Zeroizing;

use super::Credentials;
use crate::scheme::oauth2::MintError;

/// Read from a document once; each part is a secret of its own, and is looked for in answers as one.
pub struct Keys {
    key_id: Arc<Secret>,
    secret_key: Arc<Secret>,
    session_token: Option<Arc<Secret>>,
}

/// With our names, those of the shared credentials file, and those of `credential_process` programs.
#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow, alias = "AccessKeyId", alias = "aws_access_key_id")]
    access_key_id: Cow<'a, str>,
    #[serde(borrow, alias = "SecretAccessKey", alias = "aws_secret_access_key")]
    secret_access_key: Cow<'a, str>,
    #[serde(borrow, alias = "SessionToken", alias = "aws_session_token")]
    session_token: Option<Cow<'a, str>>,
}

impl Keys {
    pub fn read(document: &Secret) -> Result<Self, MintError> {
        let Document { access_key_id, secret_access_key, session_token } =
            serde_json::from_slice(document.expose()).map_err(|_| MintError::Document)?;
        let part = |text: Cow<'_, str>| {
            let text = Zeroizing::new(text.into_owned().into_bytes());
            Secret::take(text).map(Arc::new).map_err(|_| MintError::Document)
        };
        Ok(Self {
            key_id: part(access_key_id)?,
            secret_key: part(secret_access_key)?,
            session_token: session_token.map(part).transpose()?,
        })
    }

    pub fn credentials(&self) -> Credentials<'_> {
        Credentials {
            key_id: &self.key_id,
            secret_key: &self.secret_key,
            session_token: self.session_token.as_deref(),
        }
    }

    /// Everything that must not come back.
    pub fn parts(&self) -> Vec<Arc<Secret>> {
        let session_token = self.session_token.iter();
        [&self.key_id, &self.secret_key].into_iter().chain(session_token).cloned().collect()
    }
}
