//! Where a credential stands in a request, and how a token there becomes the credential.
//!
//! Pure functions over a request's head and the bytes of its body: no I/O, no clock, no runtime. Every scheme
//! is a span of bytes and a way of writing there. [`find`] reads what stands in the span; [`inject`] finds the
//! span again, wants exactly the given token in it, and replaces it. What is outside the span is copied as it
//! is, never parsed and written again: signatures and caches upstream depend on order, case and encoding.
//!
//! A place that is there twice is refused instead of taking the first: which one an upstream reads is not
//! known, so one of them could carry what was never looked at.
//!
//! Signatures ([`sigv4`]) and credentials that are minted first ([`google`], [`github_app`], [`oauth2`]) have
//! their own modules; a minted access token is put in place by [`inject`] like any bearer token.

mod anchors;
mod basic;
mod body;
mod cookie;
mod elsewhere;
mod encoded;
pub mod github_app;
pub mod google;
mod header;
mod json;
pub mod jwt;
pub mod oauth2;
mod path;
mod percent;
mod places;
mod query;
mod shapes;
pub mod sigv4;
mod splice;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use cofferdam_policy::provider::Scheme;
use cofferdam_secrets::Secret;
use http::HeaderName;
use http::header::AUTHORIZATION;
use http::request::Parts;

pub use body::{BODY_CAP, announce_length, find_in_body, inject_into_body, is_encoded, is_in_body};
pub use elsewhere::{body_contains_token, contains_token};
pub use places::{CredentialPlace, Where, credential_places};
pub use shapes::TokenShapes;

/// What stands at the place that a scheme declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found<'a> {
    Absent,
    /// The decoded bytes there, whether they are one of our tokens or not.
    At(Cow<'a, [u8]>),
    /// The place is there more than once.
    Several,
    /// The place is there and cannot be read: bad base64, a broken escape, an encoded body.
    Malformed,
}

/// Why a credential was not put in its place. The request is left as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectError {
    Absent,
    Several,
    Malformed,
    /// Something else than the token stands there.
    OtherValue,
    /// The credential holds bytes that cannot be written at this place.
    Unfit,
    /// The body is larger than [`BODY_CAP`], or the request's target would be larger than one may be.
    TooLong,
    /// The place is in the body: [`inject_into_body`].
    InBody,
    /// The request must be signed instead: [`sigv4`].
    Signature,
}

impl fmt::Display for InjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absent => "there is no token at the declared place",
            Self::Several => "the declared place of the token is there more than once",
            Self::Malformed => "the declared place of the token cannot be read",
            Self::OtherValue => "something other than the token stands at its declared place",
            Self::Unfit => "the credential holds characters that cannot stand at its declared place",
            Self::TooLong => "the request would become too long",
            Self::InBody => "the declared place of the token is in the body",
            Self::Signature => "the request must be signed",
        })
    }
}

impl std::error::Error for InjectError {}

/// Reads what stands at the declared place in a head. Places in a body are [`find_in_body`]'s.
pub fn find<'a>(parts: &'a Parts, scheme: &Scheme) -> Found<'a> {
    match locate(parts, scheme) {
        Located::Absent => Found::Absent,
        Located::One(spot) => Found::At(spot.value),
        Located::Several => Found::Several,
        Located::Malformed => Found::Malformed,
    }
}

/// Replaces the token at the declared place by the secret. The place is read again and must hold exactly the
/// token: what was authorised earlier is not taken on trust.
pub fn inject(parts: &mut Parts, scheme: &Scheme, token: &[u8], secret: &Secret) -> Result<(), InjectError> {
    let spot = match locate(parts, scheme) {
        Located::Absent if is_in_body(scheme) => return Err(InjectError::InBody),
        Located::Absent => return Err(InjectError::Absent),
        Located::Several => return Err(InjectError::Several),
        Located::Malformed => return Err(InjectError::Malformed),
        Located::One(_) if matches!(scheme, Scheme::SigV4) => return Err(InjectError::Signature),
        Located::One(spot) => spot,
    };
    if *spot.value != *token {
        return Err(InjectError::OtherValue);
    }
    let replacement = splice::replacement(parts, scheme, &spot, secret)?;
    let Spot { holder, .. } = spot;
    splice::store(parts, holder, replacement)
}

/// The one place of a scheme in a head.
enum Located<'a> {
    Absent,
    One(Spot<'a>),
    Several,
    Malformed,
}

struct Spot<'a> {
    holder: Holder,
    /// What is replaced, in the bytes of the holder.
    span: Range<usize>,
    /// What stands there, decoded.
    value: Cow<'a, [u8]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Holder {
    /// One of the values of a header: its name, and which of them.
    Header(HeaderName, usize),
    /// The path and query.
    Target,
}

fn locate<'a>(parts: &'a Parts, scheme: &Scheme) -> Located<'a> {
    match scheme {
        Scheme::Header { name, template } => header::locate(parts, name, &[template.as_ref()]),
        Scheme::Query { name } => query::locate(parts, name),
        Scheme::Basic { part } => basic::locate(parts, *part),
        Scheme::Path { template } => path::locate(parts, template),
        Scheme::Cookie { name } => cookie::locate(parts, name),
        Scheme::SigV4 => sigv4::locate(parts),
        Scheme::OAuth2 { .. } => header::locate(parts, AUTHORIZATION.as_str(), &["Bearer {}"]),
        // Some of Google's clients send an assertion of their own as the bearer token, without asking for another.
        Scheme::GoogleServiceAccount { .. } => {
            match header::locate(parts, AUTHORIZATION.as_str(), &["Bearer {}"]) {
                Located::One(spot) => match jwt::key_id(&spot.value) {
                    Some(key_id) => Located::One(Spot { value: Cow::Owned(key_id), ..spot }),
                    None => Located::One(spot),
                },
                other => other,
            }
        }
        // GitHub's own clients write either word.
        Scheme::GithubApp => header::locate(parts, AUTHORIZATION.as_str(), &["Bearer {}", "token {}"]),
        Scheme::Json { .. } | Scheme::Form { .. } => Located::Absent,
    }
}

/// The bytes in which a target's spans are counted.
fn target(parts: &Parts) -> Option<&str> {
    parts.uri.path_and_query().map(http::uri::PathAndQuery::as_str)
}
