//! A Google service account: an assertion signed with its key is exchanged for an access token.

use std::time::Duration;

use cofferdam_secrets::Secret;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::jwt::{SigningKey, pem_in_json};
use super::oauth2::{Body, MintError, Since1970, TokenRequest};

/// How long an assertion is good for; Google takes no longer.
const LIFETIME: Duration = Duration::from_secs(3600);

pub struct ServiceAccount {
    key: SigningKey,
    key_id: Option<String>,
    email: String,
    token_url: String,
}

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(rename = "type")]
    kind: String,
    client_email: String,
    #[serde(borrow)]
    private_key: &'a RawValue,
    private_key_id: Option<String>,
    token_uri: Option<String>,
}

impl ServiceAccount {
    /// Reads the JSON document that Google hands out.
    pub fn read(secret: &Secret) -> Result<Self, MintError> {
        let document: Document<'_> =
            serde_json::from_slice(secret.expose()).map_err(|_| MintError::Document)?;
        let token_url = document.token_uri.unwrap_or_else(|| "https://oauth2.googleapis.com/token".into());
        if document.kind != "service_account" || !token_url.starts_with("https://") {
            return Err(MintError::Document);
        }
        let key = SigningKey::from_pem(&pem_in_json(document.private_key.get())?)?;
        Ok(Self { key, key_id: document.private_key_id, email: document.client_email, token_url })
    }

    /// What to send to the token server, and where; its answer is read by
    /// [`oauth2::read_answer`](super::oauth2::read_answer).
    pub fn token_request(&self, scope: &str, now: Since1970) -> Result<TokenRequest, MintError> {
        let mut header = serde_json::json!({ "alg": "RS256", "typ": "JWT" });
        if let Some(key_id) = &self.key_id {
            header["kid"] = key_id.as_str().into();
        }
        let claims = serde_json::json!({
            "iss": self.email,
            "scope": scope,
            "aud": self.token_url,
            "iat": now.as_secs(),
            "exp": (now + LIFETIME).as_secs(),
        });
        let assertion = self.key.sign(&header.to_string(), &claims.to_string())?;
        let body = Body::form(&[
            ("grant_type", b"urn:ietf:params:oauth:grant-type:jwt-bearer"),
            ("assertion", &assertion),
        ]);
        TokenRequest::new(&self.token_url, None, body)
    }
}
