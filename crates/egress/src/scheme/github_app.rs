//! A GitHub App: a token signed with its key is exchanged for an installation's access token.

use std::time::Duration;

use cofferdam_secrets::Secret;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::jwt::{SigningKey, pem_in_json};
use super::oauth2::{Body, MintError, Since1970, TokenRequest};

/// GitHub takes ten minutes at most, and refuses what is from the future: the clocks may differ by a minute.
const EARLIER: Duration = Duration::from_secs(60);
const LIFETIME: Duration = Duration::from_secs(9 * 60);

pub struct App {
    key: SigningKey,
    app_id: String,
    installation_id: String,
}

/// Ids are numbers, and people write them with and without quotes.
#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Number(u64),
    Text(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<'a> {
    app_id: Id,
    installation_id: Id,
    #[serde(borrow)]
    private_key: &'a RawValue,
}

impl App {
    /// Reads `{"app_id": …, "installation_id": …, "private_key": "-----BEGIN …"}`: the key alone does not say
    /// whose it is.
    pub fn read(secret: &Secret) -> Result<Self, MintError> {
        let document: Document<'_> =
            serde_json::from_slice(secret.expose()).map_err(|_| MintError::Document)?;
        let text = |id| match id {
            Id::Number(number) => Ok(number.to_string()),
            Id::Text(text) if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.') => {
                Ok(text)
            }
            Id::Text(_) => Err(MintError::Document),
        };
        let (app_id, installation_id) = (text(document.app_id)?, text(document.installation_id)?);
        let key = SigningKey::from_pem(&pem_in_json(document.private_key.get())?)?;
        Ok(Self { key, app_id, installation_id })
    }

    /// What to send to GitHub, and where; its answer is read by
    /// [`oauth2::read_answer`](super::oauth2::read_answer).
    pub fn token_request(&self, now: Since1970) -> Result<TokenRequest, MintError> {
        let header = serde_json::json!({ "alg": "RS256", "typ": "JWT" });
        let claims = serde_json::json!({
            "iat": now.saturating_sub(EARLIER).as_secs(),
            "exp": (now + LIFETIME).as_secs(),
            "iss": self.app_id,
        });
        let token = self.key.sign(&header.to_string(), &claims.to_string())?;
        let url = format!("https://api.github.com/app/installations/{}/access_tokens", self.installation_id);
        TokenRequest::new(&url, Some(("Bearer ", &token)), Body::empty())
    }
}
