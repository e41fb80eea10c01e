//! Places in a body: a field of a form, or a string of a JSON document. The whole body is at hand.

use std::borrow::Cow;
use std::ops::Range;

use cofferdam_policy::provider::Scheme;
use cofferdam_secrets::Secret;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderValue, TRANSFER_ENCODING};
use http::request::Parts;
use zeroize::Zeroizing;

use super::query::{Parameter, parameter};
use super::{Found, InjectError, json, percent, splice};

/// The largest body in which a place is looked for. A larger one is refused, never shortened and never passed
/// on with its token.
pub const BODY_CAP: usize = 8 * 1024 * 1024;

/// Whether the place is in the body, so that the body must be collected before anything is sent.
pub fn is_in_body(scheme: &Scheme) -> bool {
    matches!(scheme, Scheme::Json { .. } | Scheme::Form { .. })
}

/// Whether the head says that the body is compressed, so that no place can be found in it.
pub fn is_encoded(parts: &Parts) -> bool {
    let encoded = |value: &HeaderValue| !value.as_bytes().eq_ignore_ascii_case(b"identity");
    parts.headers.get_all(CONTENT_ENCODING).iter().any(encoded)
}

/// Reads what stands at the declared place of a body.
pub fn find_in_body<'a>(parts: &Parts, body: &'a [u8], scheme: &Scheme) -> Found<'a> {
    match locate(parts, body, scheme) {
        Slot::Absent => Found::Absent,
        Slot::One(_, value) => Found::At(value),
        Slot::Several => Found::Several,
        Slot::Malformed => Found::Malformed,
    }
}

/// The body with the token at the declared place replaced by the secret, and every other byte as it was.
/// [`announce_length`] makes the head fit.
pub fn inject_into_body(
    parts: &Parts,
    body: &[u8],
    scheme: &Scheme,
    (token, secret): (&[u8], &Secret),
) -> Result<Zeroizing<Vec<u8>>, InjectError> {
    if body.len() > BODY_CAP {
        return Err(InjectError::TooLong);
    }
    let (span, value) = match locate(parts, body, scheme) {
        Slot::Absent => return Err(InjectError::Absent),
        Slot::Several => return Err(InjectError::Several),
        Slot::Malformed => return Err(InjectError::Malformed),
        Slot::One(span, value) => (span, value),
    };
    if *value != *token {
        return Err(InjectError::OtherValue);
    }
    let (before, after) = (&body[..span.start], &body[span.end..]);
    match scheme {
        Scheme::Json { .. } => Ok(splice::joined(before, &json::written(secret.expose())?, after)),
        _ => Ok(splice::encoded(before, secret.expose(), after, percent::unreserved)),
    }
}

/// Puts the length of a rewritten body into the head that announced another one. A chunked body needs none.
pub fn announce_length(parts: &mut Parts, length: usize) {
    if !parts.headers.contains_key(TRANSFER_ENCODING) {
        parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
}

/// The one place of a scheme in a body.
pub(super) enum Slot<'a> {
    Absent,
    One(Range<usize>, Cow<'a, [u8]>),
    Several,
    Malformed,
}

pub(super) fn locate<'a>(parts: &Parts, body: &'a [u8], scheme: &Scheme) -> Slot<'a> {
    // A compressed body is not looked into: what cannot be read is refused instead of sent with its token.
    if is_in_body(scheme) && is_encoded(parts) {
        return Slot::Malformed;
    }
    match scheme {
        Scheme::Json { pointer } => json::locate(body, pointer),
        Scheme::Form { name } => match parameter(body, name) {
            Parameter::Absent => Slot::Absent,
            Parameter::One(span, value) => Slot::One(span, value),
            Parameter::Several => Slot::Several,
            Parameter::Malformed => Slot::Malformed,
        },
        _ => Slot::Absent,
    }
}
