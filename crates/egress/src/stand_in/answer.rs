//! Answers to clients that mint: whoever presents a token of ours, or comes from a listener of ours, gets a token of
//! ours. Nobody else is asked.

use std::borrow::Cow;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cofferdam_audit::event::{EgressReason, EgressRequest, Outcome};
use cofferdam_audit::{HostName, Label, Method, RequestPath};
use cofferdam_policy::provider::{BasicPart, Provider, Scheme};
use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Response, StatusCode};
use http_body::Body;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::locals::{Kind, Local};
use super::metadata::{self, Page};
use crate::body::Answer;
use crate::outgoing::ClientBody;
use crate::policy::Policy;
use crate::scheme::oauth2::stand_in_answer;
use crate::scheme::{self, Found, jwt};
use crate::serve::Inbound;
use crate::target::{Target, agree};
use crate::tokens::Worth;

const BODY_CAP: usize = 64 * 1024;
/// How long a client believes its token to be good; ours is good for as long as its sandbox.
const LIFE: Duration = Duration::from_secs(3600);
/// Fields of a request to a token server in which a client presents what it holds.
const FIELDS: [&str; 3] = ["client_secret", "refresh_token", "assertion"];
const JSON: &str = "application/json; charset=utf-8";

/// Whom a request is for.
pub(crate) enum Asked {
    Us(Result<Response<Answer>, EgressReason>),
    Others(ClientBody),
}

/// Almost no policy has anything of the kind, and its requests are not looked at.
pub(crate) fn is_needed(inbound: &Inbound) -> bool {
    !inbound.client.policy.now().locals.is_empty() && inbound.verdict.violation().is_none()
}

/// Answers a request that is for us.
pub(crate) async fn answer(inbound: &Inbound, parts: &Parts, body: ClientBody) -> Asked {
    let policy = inbound.client.policy.now();
    let Ok(target) = agree(&inbound.arrival, parts) else { return Asked::Others(body) };
    let locals = policy.locals.at(&target, &parts.method, parts.uri.path());
    if locals.is_empty() {
        return Asked::Others(body);
    }
    let answered = match collect(body).await {
        Ok(body) => respond(inbound, &policy, &locals, (parts, &body)),
        Err(reason) => Err(reason),
    };
    Asked::Us(record(inbound, &target, parts, answered))
}

type Answered = (Response<Answer>, Box<str>);

fn respond(
    inbound: &Inbound,
    policy: &Arc<Policy>,
    locals: &[&Local],
    asked: (&Parts, &[u8]),
) -> Result<Answered, EgressReason> {
    let mut refused = EgressReason::TokenMissing;
    for local in locals {
        let provider = policy.provider(local.provider);
        let answer = match &local.kind {
            Kind::TokenServer { .. } => token_server(inbound, provider, asked),
            Kind::Installations => installation(inbound, provider, asked.0),
            Kind::GoogleMetadata => google_metadata(inbound, provider, asked.0),
        };
        match answer {
            Ok(response) => return Ok((response, Box::from(&*provider.name))),
            // Another provider of the same token server may know it.
            Err(reason) if refused == EgressReason::TokenMissing => refused = reason,
            Err(_) => {}
        }
    }
    Err(refused)
}

fn token_server(
    inbound: &Inbound,
    provider: &Provider,
    asked: (&Parts, &[u8]),
) -> Result<Response<Answer>, EgressReason> {
    let mut refused = EgressReason::TokenMissing;
    for presented in presented(asked) {
        let now = Instant::now();
        match inbound.engine.tokens.worth(&presented, inbound.client.id, &provider.name, now) {
            Worth::Good => {
                let token = String::from_utf8_lossy(&presented);
                return Ok(own(StatusCode::OK, JSON, stand_in_answer(&token, LIFE)));
            }
            Worth::Unknown => refused = EgressReason::CredentialForeign,
            Worth::OtherProvider => refused = EgressReason::TokenWrongHost,
            Worth::OtherClient => return Err(EgressReason::TokenWrongClient),
            Worth::Expired => return Err(EgressReason::TokenExpired),
            Worth::Revoked => return Err(EgressReason::TokenRevoked),
        }
    }
    Err(refused)
}

/// Everything that a client may present as its credential.
fn presented<'a>((parts, body): (&'a Parts, &'a [u8])) -> Vec<Cow<'a, [u8]>> {
    let mut found = Vec::new();
    if let Found::At(secret) = scheme::find(parts, &Scheme::Basic { part: BasicPart::Password }) {
        found.push(secret);
    }
    for name in FIELDS {
        let schemes =
            [Scheme::Form { name: name.into() }, Scheme::Json { pointer: format!("/{name}").into() }];
        for scheme in schemes {
            if let Found::At(value) = scheme::find_in_body(parts, body, &scheme) {
                let key_id = jwt::key_id(&value).map(Cow::Owned);
                found.push(key_id.unwrap_or(value));
            }
        }
    }
    found
}

/// An app's own token says nothing about who sends it that the listener does not say. It is not passed on, so that it
/// makes no difference who signed it.
fn installation(
    inbound: &Inbound,
    provider: &Provider,
    parts: &Parts,
) -> Result<Response<Answer>, EgressReason> {
    let bearer = Scheme::Header { name: AUTHORIZATION.as_str().into(), template: "Bearer {}".into() };
    let Found::At(token) = scheme::find(parts, &bearer) else { return Err(EgressReason::TokenMissing) };
    if token.iter().filter(|byte| **byte == b'.').count() != 2 {
        return Err(EgressReason::CredentialForeign);
    }
    let (token, left) = issue(inbound, provider)?;
    let expires =
        (OffsetDateTime::now_utc() + left).replace_nanosecond(0).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let answer = serde_json::json!({
        "token": token.as_str(),
        "expires_at": expires.format(&Rfc3339).unwrap_or_default(),
        "permissions": {},
        "repository_selection": "all",
    });
    Ok(own(StatusCode::CREATED, JSON, answer.to_string()))
}

fn google_metadata(
    inbound: &Inbound,
    provider: &Provider,
    parts: &Parts,
) -> Result<Response<Answer>, EgressReason> {
    let mut response = match metadata::page(parts.uri.path(), parts.uri.query(), &parts.headers) {
        Page::Text(text) => own(StatusCode::OK, "application/text", text),
        Page::Json(text) => own(StatusCode::OK, "application/json", text),
        Page::Nothing(status) => own(status, "text/plain", String::new()),
        Page::Token => {
            let (token, left) = issue(inbound, provider)?;
            own(StatusCode::OK, "application/json", metadata::token(&token, left))
        }
    };
    let flavor = HeaderName::from_static(metadata::FLAVOR);
    response.headers_mut().insert(flavor, HeaderValue::from_static("Google"));
    Ok(response)
}

fn issue(
    inbound: &Inbound,
    provider: &Provider,
) -> Result<(zeroize::Zeroizing<String>, Duration), EgressReason> {
    inbound.engine.tokens.issue(inbound.client.id, provider).map_err(|_| EgressReason::MintFailed)
}

fn own(status: StatusCode, content_type: &'static str, body: String) -> Response<Answer> {
    let mut response = Response::new(Answer::own(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn record(
    inbound: &Inbound,
    target: &Target,
    parts: &Parts,
    answered: Result<Answered, EgressReason>,
) -> Result<Response<Answer>, EgressReason> {
    let outcome = match &answered {
        Ok(_) => Outcome::Allowed,
        Err(reason) => Outcome::Refused { reason: *reason },
    };
    let path = parts.uri.path();
    let event = EgressRequest {
        outcome,
        host: HostName::new(target.host().to_string()),
        port: target.port(),
        method: Method::new(parts.method.as_str()),
        path: RequestPath::new(path, &inbound.engine.tokens.places_in(path)),
        rule: Some(Label::new("stand-in")),
        provider: answered.as_ref().ok().map(|(_, provider)| Label::new(&**provider)),
    };
    inbound.engine.record(&inbound.client, event)?;
    answered.map(|(response, _)| response)
}

async fn collect(mut body: ClientBody) -> Result<Vec<u8>, EgressReason> {
    let mut whole = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let Ok(data) = frame.map_err(|_| EgressReason::ClientClosed)?.into_data() else { continue };
        if whole.len() + data.len() > BODY_CAP {
            return Err(EgressReason::BodyTooLarge);
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole)
}
