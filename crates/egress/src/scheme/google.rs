//! A Google account: what Google handed out for it is exchanged for an access token.

use std::borrow::Cow;
use std::time::Duration;

use cofferdam_secrets::Secret;
use serde::Deserialize;
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use super::jwt::{SigningKey, pem_in_json};
use super::oauth2::{Body, MintError, Since1970, TokenRequest};

pub const TOKEN_HOST: &str = "oauth2.googleapis.com";
pub const TOKEN_PATH: &str = "/token";
const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";
/// How long an assertion is good for; Google takes no longer.
const LIFETIME: Duration = Duration::from_secs(3600);

/// What an access token is minted from.
pub enum Account<'s> {
    /// An assertion signed with the account's key.
    Service(Service),
    /// The refresh token of a person, as `gcloud auth application-default login` leaves it.
    User(User<'s>),
}

pub struct Service {
    key: SigningKey,
    key_id: Option<String>,
    email: String,
    token_url: String,
}

#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(rename = "type")]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Document<'a> {
    client_email: String,
    #[serde(borrow)]
    private_key: &'a RawValue,
    private_key_id: Option<String>,
    token_uri: Option<String>,
}

#[derive(Deserialize)]
pub struct User<'a> {
    #[serde(borrow)]
    client_id: Cow<'a, str>,
    #[serde(borrow)]
    client_secret: Cow<'a, str>,
    #[serde(borrow)]
    refresh_token: Cow<'a, str>,
}

impl<'s> Account<'s> {
    /// Reads the JSON document that Google hands out.
    pub fn read(secret: &'s Secret) -> Result<Self, MintError> {
        let kind: Kind<'_> = from_json(secret)?;
        match kind.kind.as_ref() {
            "service_account" => Service::read(from_json(secret)?).map(Self::Service),
            "authorized_user" => from_json(secret).map(Self::User),
            _ => Err(MintError::Document),
        }
    }

    /// What to send to the token server, and where; its answer is read by
    /// [`oauth2::read_answer`](super::oauth2::read_answer). What a person may do was settled when they logged in.
    pub fn token_request(&self, scope: &str, now: Since1970) -> Result<TokenRequest, MintError> {
        match self {
            Self::Service(service) => service.token_request(scope, now),
            Self::User(user) => {
                let body = Body::form(&[
                    ("grant_type", b"refresh_token"),
                    ("client_id", user.client_id.as_bytes()),
                    ("client_secret", user.client_secret.as_bytes()),
                    ("refresh_token", user.refresh_token.as_bytes()),
                ]);
                TokenRequest::new(TOKEN_URL, None, body)
            }
        }
    }
}

/// A service account for a sandbox. The key id is the token: clients send it along with whatever they sign, so that
/// an assertion says whose it is. The email is nobody's.
pub fn stand_in_account(token: &str, key: &str) -> Zeroizing<String> {
    let account = serde_json::json!({
        "type": "service_account",
        "project_id": "cofferdam",
        "private_key_id": token,
        "private_key": key,
        "client_email": "stand-in@cofferdam.iam.gserviceaccount.com",
        "client_id": "0",
        "auth_uri": "https://accounts.google.com/o/oauth2/auth",
        "token_uri": TOKEN_URL,
        "universe_domain": "googleapis.com",
    });
    Zeroizing::new(account.to_string())
}

impl Service {
    fn read(document: Document<'_>) -> Result<Self, MintError> {
        let token_url = document.token_uri.unwrap_or_else(|| TOKEN_URL.into());
        if !token_url.starts_with("https://") {
            return Err(MintError::Document);
        }
        let key = SigningKey::from_pem(&pem_in_json(document.private_key.get())?)?;
        Ok(Self { key, key_id: document.private_key_id, email: document.client_email, token_url })
    }

    fn token_request(&self, scope: &str, now: Since1970) -> Result<TokenRequest, MintError> {
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

fn from_json<'s, T: Deserialize<'s>>(secret: &'s Secret) -> Result<T, MintError> {
    serde_json::from_slice(secret.expose()).map_err(|_| MintError::Document)
}
