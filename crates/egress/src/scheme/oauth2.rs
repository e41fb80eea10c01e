//! Requests to a token server, and its answers, as data. Sending them is not done here.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cofferdam_policy::provider::Grant;
use cofferdam_secrets::Secret;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, USER_AGENT};
use http::{HeaderMap, Uri};
use serde::Deserialize;
use zeroize::Zeroizing;

use super::{percent, splice};

/// A moment, as the time since the first of January 1970: the clock is the caller's.
pub type Since1970 = Duration;

/// Why there is no access token. Never holds anything that a source or a server said, but for the codes that
/// RFC 6749 defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MintError {
    /// The secret is not the document that the scheme needs.
    Document,
    /// The private key in it cannot be used.
    Key,
    /// The token server refused.
    Refused(Refusal),
    /// The token server's answer cannot be read.
    Answer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    InvalidRequest,
    InvalidClient,
    InvalidGrant,
    UnauthorizedClient,
    UnsupportedGrantType,
    InvalidScope,
    Other(u16),
}

impl fmt::Display for MintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Document => f.write_str("the secret is not the JSON document that this scheme needs"),
            Self::Key => f.write_str("the private key in the secret cannot be used"),
            Self::Answer => f.write_str("the answer of the token server cannot be read"),
            Self::Refused(refusal) => write!(f, "the token server refused: {refusal}"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant => "invalid_grant",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::InvalidScope => "invalid_scope",
            Self::Other(status) => return write!(f, "status {status}"),
        })
    }
}

impl std::error::Error for MintError {}

/// A `POST` to a token server.
pub struct TokenRequest {
    pub url: Uri,
    pub headers: HeaderMap,
    pub body: Zeroizing<Vec<u8>>,
}

/// What is posted.
pub(super) struct Body {
    content_type: Option<&'static str>,
    bytes: Zeroizing<Vec<u8>>,
}

impl Body {
    pub(super) fn empty() -> Self {
        Self { content_type: None, bytes: Zeroizing::default() }
    }

    pub(super) fn form(fields: &[(&str, &[u8])]) -> Self {
        let length = |(name, value): &(&str, &[u8])| {
            name.len() + 2 + percent::encoded_length(value, percent::unreserved)
        };
        let mut bytes = Zeroizing::new(Vec::with_capacity(fields.iter().map(length).sum()));
        for (index, (name, value)) in fields.iter().enumerate() {
            if index > 0 {
                bytes.push(b'&');
            }
            bytes.extend_from_slice(name.as_bytes());
            bytes.push(b'=');
            percent::encode(value, percent::unreserved, &mut bytes);
        }
        Self { content_type: Some("application/x-www-form-urlencoded"), bytes }
    }
}

impl TokenRequest {
    /// `authorization` is a scheme word with its space, and what follows it.
    pub(super) fn new(
        url: &str,
        authorization: Option<(&str, &[u8])>,
        body: Body,
    ) -> Result<Self, MintError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static("cofferdam"));
        if let Some(kind) = body.content_type {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        if let Some((word, value)) = authorization {
            let text = splice::joined(word.as_bytes(), value, b"");
            headers.insert(AUTHORIZATION, splice::sensitive(text).map_err(|_| MintError::Document)?);
        }
        let url = url.parse().map_err(|_| MintError::Document)?;
        Ok(Self { url, headers, body: body.bytes })
    }
}

/// `{"client_id": …, "client_secret": …, "refresh_token": …, "scope": …}`: a client's secret alone does not
/// say whose it is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Client<'a> {
    #[serde(borrow)]
    client_id: Cow<'a, str>,
    #[serde(borrow)]
    client_secret: Option<Cow<'a, str>>,
    #[serde(borrow)]
    refresh_token: Option<Cow<'a, str>>,
    #[serde(borrow)]
    scope: Option<Cow<'a, str>>,
}

/// The request for an access token. A client with a secret is authenticated in the header, which RFC 6749
/// makes every server take; one without is named in the body.
///
/// A refresh token may be given that the server sent in place of the one in the document.
pub fn token_request(
    secret: &Secret,
    token_url: &str,
    (grant, newer): (Grant, Option<&Secret>),
) -> Result<TokenRequest, MintError> {
    let client: Client<'_> = serde_json::from_slice(secret.expose()).map_err(|_| MintError::Document)?;
    let mut fields: Vec<(&str, &[u8])> = Vec::new();
    match grant {
        Grant::ClientCredentials => fields.push(("grant_type", b"client_credentials")),
        Grant::RefreshToken => {
            let stored = client.refresh_token.as_deref().ok_or(MintError::Document)?;
            let token = newer.map_or(stored.as_bytes(), Secret::expose);
            fields.extend([("grant_type", &b"refresh_token"[..]), ("refresh_token", token)]);
        }
    }
    if let Some(scope) = &client.scope {
        fields.push(("scope", scope.as_bytes()));
    }
    match (&client.client_secret, grant) {
        (Some(secret), _) => {
            let pair = basic(client.client_id.as_bytes(), secret.as_bytes());
            TokenRequest::new(token_url, Some(("Basic ", &pair)), Body::form(&fields))
        }
        (None, Grant::RefreshToken) => {
            fields.push(("client_id", client.client_id.as_bytes()));
            TokenRequest::new(token_url, None, Body::form(&fields))
        }
        (None, Grant::ClientCredentials) => Err(MintError::Document),
    }
}

/// Both halves are encoded as in a form first (RFC 6749, 2.3.1), so that a colon in one cannot end it.
fn basic(id: &[u8], secret: &[u8]) -> Zeroizing<Vec<u8>> {
    let room = 3 * (id.len() + secret.len()) + 1;
    let mut pair = Zeroizing::new(Vec::with_capacity(room));
    percent::encode(id, percent::unreserved, &mut pair);
    pair.push(b':');
    percent::encode(secret, percent::unreserved, &mut pair);
    let mut text = Zeroizing::new(vec![0; pair.len().div_ceil(3) * 4]);
    let length = STANDARD.encode_slice(pair.as_slice(), &mut text).unwrap_or_default();
    text.truncate(length);
    text
}

/// An access token, and until when it is good.
pub struct Minted {
    pub token: Secret,
    pub expires: Option<Since1970>,
    /// A new refresh token, which replaces the one that was sent.
    pub refresh_token: Option<Secret>,
}

/// What the server says; GitHub has names of its own.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow, alias = "token")]
    access_token: Option<Cow<'a, str>>,
    expires_in: Option<u64>,
    expires_at: Option<String>,
    #[serde(borrow)]
    refresh_token: Option<Cow<'a, str>>,
    error: Option<serde_json::Value>,
}

/// Reads the answer of a token server.
pub fn read_answer(status: u16, body: &[u8], now: Since1970) -> Result<Minted, MintError> {
    let answer = serde_json::from_slice::<Answer<'_>>(body);
    if !(200..300).contains(&status) {
        let code = answer.ok().and_then(|answer| answer.error);
        return Err(MintError::Refused(refusal(status, code.as_ref().and_then(|code| code.as_str()))));
    }
    let answer = answer.map_err(|_| MintError::Answer)?;
    let secret =
        |text: &str| Secret::take(Zeroizing::new(text.as_bytes().to_vec())).map_err(|_| MintError::Answer);
    let expires_at = match &answer.expires_at {
        Some(text) => Some(utc(text).ok_or(MintError::Answer)?),
        None => None,
    };
    Ok(Minted {
        token: secret(&answer.access_token.ok_or(MintError::Answer)?)?,
        expires: answer
            .expires_in
            .and_then(|seconds| now.checked_add(Duration::from_secs(seconds)))
            .or(expires_at),
        refresh_token: answer.refresh_token.as_deref().map(secret).transpose()?,
    })
}

/// What a token server would answer, with a stand-in: for a client in the sandbox that mints for itself. The
/// same text is what a metadata server answers.
pub fn stand_in_answer(token: &str, lifetime: Duration) -> String {
    let answer = serde_json::json!({
        "access_token": token,
        "expires_in": lifetime.as_secs(),
        "token_type": "Bearer",
    });
    answer.to_string()
}

fn refusal(status: u16, code: Option<&str>) -> Refusal {
    match code {
        Some("invalid_request") => Refusal::InvalidRequest,
        Some("invalid_client") => Refusal::InvalidClient,
        Some("invalid_grant") => Refusal::InvalidGrant,
        Some("unauthorized_client") => Refusal::UnauthorizedClient,
        Some("unsupported_grant_type") => Refusal::UnsupportedGrantType,
        Some("invalid_scope") => Refusal::InvalidScope,
        _ => Refusal::Other(status),
    }
}

/// `2026-11-15T23:50:00Z`
fn utc(text: &str) -> Option<Since1970> {
    let (date, clock) = text.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, by: char| -> Option<[u64; 3]> {
        let mut fields = text.split(by).map(|field| field.parse::<u64>().ok());
        let three = [fields.next()??, fields.next()??, fields.next()??];
        fields.next().is_none().then_some(three)
    };
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(clock.split('.').next()?, ':')?;
    let in_range = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !in_range || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Years that begin in March have the leap day at their end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some(Duration::from_secs(((days * 24 + hour) * 60 + minute) * 60 + second))
}
