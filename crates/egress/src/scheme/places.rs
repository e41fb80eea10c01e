//! Every place of a head that could carry a credential, ours or not.

use std::borrow::Cow;
use std::ops::Range;

use cofferdam_policy::provider::Scheme;
use http::HeaderName;
use http::header::{AUTHORIZATION, COOKIE};
use http::request::Parts;

use super::percent::{self, Plus};
use super::query::{Pairs, query};
use super::{cookie, sigv4};

/// A place that is filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialPlace<'a> {
    pub at: Where<'a>,
    /// What stands there, decoded; a header's whole value, scheme word included.
    pub value: Cow<'a, [u8]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Where<'a> {
    Header(&'a HeaderName),
    /// The decoded name of a parameter of the query.
    Query(Cow<'a, [u8]>),
    Cookie(&'a [u8]),
    /// `user:password@` before the host.
    UserInfo,
}

impl Where<'_> {
    /// Whether this is where the scheme puts its credential, so that what stands here is judged by
    /// [`find`](super::find) and not as a foreign one.
    pub fn belongs_to(&self, scheme: &Scheme) -> bool {
        match (self, scheme) {
            (Self::Header(name), Scheme::Header { name: declared, .. }) => {
                name.as_str().eq_ignore_ascii_case(declared)
            }
            (
                Self::Header(name),
                Scheme::Basic { .. }
                | Scheme::GoogleServiceAccount { .. }
                | Scheme::OAuth2 { .. }
                | Scheme::GithubApp,
            ) => **name == AUTHORIZATION,
            (Self::Header(name), Scheme::SigV4) => {
                **name == AUTHORIZATION || name.as_str() == sigv4::SECURITY_TOKEN
            }
            (Self::Query(name), Scheme::Query { name: declared }) => **name == *declared.as_bytes(),
            (Self::Query(name), Scheme::SigV4) => {
                let signed = [sigv4::QUERY_CREDENTIAL, sigv4::QUERY_SIGNATURE, sigv4::QUERY_SECURITY_TOKEN];
                signed.iter().any(|signed| **name == *signed.as_bytes())
            }
            (Self::Cookie(name), Scheme::Cookie { name: declared }) => *name == declared.as_bytes(),
            _ => false,
        }
    }
}

/// Every filled place whose name says credential. Names are matched by their words, because a list of known
/// ones is a list of the ones that can be avoided. Anti-forgery tokens, and tokens that say where a listing goes
/// on, are the exception: clients send them beside the credential.
pub fn credential_places(parts: &Parts) -> Vec<CredentialPlace<'_>> {
    let mut places = Vec::new();
    for (name, value) in &parts.headers {
        if *name == COOKIE {
            let filled = cookie::cookies(value.as_bytes())
                .filter(|(name, span)| !span.is_empty() && cookie_names_credential(name));
            places.extend(filled.map(|(name, span)| CredentialPlace {
                at: Where::Cookie(name),
                value: Cow::Borrowed(&value.as_bytes()[span]),
            }));
        } else if !value.is_empty() && header_names_credential(name.as_str().as_bytes()) {
            places.push(CredentialPlace { at: Where::Header(name), value: Cow::Borrowed(value.as_bytes()) });
        }
    }
    if let Some((_, query)) = query(parts) {
        places.extend(parameters(query));
    }
    if let Some((user, _)) = parts.uri.authority().and_then(|authority| authority.as_str().rsplit_once('@')) {
        let value = Cow::Borrowed(user.as_bytes());
        places.push(CredentialPlace { at: Where::UserInfo, value });
    }
    places
}

fn parameters(query: &[u8]) -> impl Iterator<Item = CredentialPlace<'_>> {
    Pairs::of(query).filter(|pair| !pair.value.is_empty()).filter_map(|pair| {
        let decoded = |span: Range<usize>| {
            let text = &query[span];
            let lenient = || Cow::Owned(percent::decode_leniently(text, Plus::Space));
            percent::decode(text, Plus::Space).unwrap_or_else(lenient)
        };
        let name = decoded(pair.name);
        parameter_names_credential(&name)
            .then(|| CredentialPlace { at: Where::Query(name), value: decoded(pair.value) })
    })
}

/// One of these at the end of a word names a credential anywhere.
const WORDS: &[&str] = &[
    "authorization",
    "auth",
    "token",
    "apikey",
    "secret",
    "password",
    "passwd",
    "credential",
    "credentials",
    "signature",
    "jwt",
    "bearer",
];
/// Words before `key` that make it one, as in `x-auth-key`; `idempotency-key` and `partition-key` are none.
const KEYS: &[&str] = &[
    "api",
    "auth",
    "access",
    "application",
    "app",
    "private",
    "secret",
    "subscription",
    "account",
    "master",
];
/// Words before `token` that make it none: where a listing goes on, or what makes a retry safe.
const NO_TOKENS: &[&str] = &[
    "csrf",
    "xsrf",
    "next",
    "page",
    "continuation",
    "pagination",
    "sync",
    "skip",
    "client",
    "request",
    "idempotency",
];
/// Too common in headers; as the whole name of a parameter they tell.
const PARAMETERS: &[&str] = &["key", "sig", "sign", "pwd", "pass"];
const COOKIES: &[&str] = &["session", "sessionid", "sess", "sid", "key", "login"];

fn header_names_credential(name: &[u8]) -> bool {
    let mut before: &[u8] = b"";
    name.split(|byte| !byte.is_ascii_alphanumeric()).any(|word| {
        let previous = std::mem::replace(&mut before, word);
        if let Some(stem) = without_end(word, "token") {
            let stem = if stem.is_empty() { previous } else { stem };
            return !NO_TOKENS.iter().any(|known| without_end(stem, known).is_some());
        }
        let key = word.eq_ignore_ascii_case(b"key") && is_one_of(previous, KEYS);
        key || WORDS.iter().any(|known| without_end(word, known).is_some())
    })
}

fn parameter_names_credential(name: &[u8]) -> bool {
    is_one_of(name, PARAMETERS) || header_names_credential(name)
}

fn cookie_names_credential(name: &[u8]) -> bool {
    name.split(|byte| !byte.is_ascii_alphanumeric()).any(|word| is_one_of(word, COOKIES))
        || header_names_credential(name)
}

fn is_one_of(word: &[u8], known: &[&str]) -> bool {
    known.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

/// What stands before an end, whatever its case.
fn without_end<'w>(word: &'w [u8], end: &str) -> Option<&'w [u8]> {
    let (stem, last) = word.split_at(word.len().checked_sub(end.len())?);
    last.eq_ignore_ascii_case(end.as_bytes()).then_some(stem)
}
