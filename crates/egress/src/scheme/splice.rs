//! Writing a secret into its span.
//!
//! The new bytes are put together in one buffer of exactly their size, because a buffer that grows leaves its
//! old contents behind. The header value or target made of it owns the buffer, so that it is wiped when the
//! last one that refers to it is gone.

use bytes::Bytes;
use cofferdam_policy::provider::Scheme;
use cofferdam_secrets::Secret;
use http::header::{Entry, HeaderValue};
use http::request::Parts;
use http::uri::PathAndQuery;
use zeroize::Zeroizing;

use super::{Holder, InjectError, Spot, basic, cookie, percent, target};

/// The whole new text of what holds the span.
pub(super) fn replacement(
    parts: &Parts,
    scheme: &Scheme,
    spot: &Spot<'_>,
    secret: &Secret,
) -> Result<Zeroizing<Vec<u8>>, InjectError> {
    let whole = match &spot.holder {
        Holder::Header(name, index) => {
            parts.headers.get_all(name).iter().nth(*index).ok_or(InjectError::Absent)?.as_bytes()
        }
        Holder::Target => target(parts).ok_or(InjectError::Absent)?.as_bytes(),
    };
    let (before, there, after) =
        (&whole[..spot.span.start], &whole[spot.span.clone()], &whole[spot.span.end..]);
    let secret = secret.expose();
    match scheme {
        Scheme::Basic { part } => Ok(joined(before, &basic::written(there, *part, secret)?, after)),
        Scheme::Query { .. } => Ok(encoded(before, secret, after, percent::unreserved)),
        Scheme::Path { .. } => Ok(encoded(before, secret, after, percent::in_segment)),
        Scheme::Cookie { .. } if !cookie::fits(secret) => Err(InjectError::Unfit),
        _ => Ok(joined(before, secret, after)),
    }
}

pub(super) fn joined(before: &[u8], middle: &[u8], after: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut text = Zeroizing::new(Vec::with_capacity(before.len() + middle.len() + after.len()));
    text.extend_from_slice(before);
    text.extend_from_slice(middle);
    text.extend_from_slice(after);
    text
}

pub(super) fn encoded(
    before: &[u8],
    middle: &[u8],
    after: &[u8],
    kept: fn(u8) -> bool,
) -> Zeroizing<Vec<u8>> {
    let length = before.len() + percent::encoded_length(middle, kept) + after.len();
    let mut text = Zeroizing::new(Vec::with_capacity(length));
    text.extend_from_slice(before);
    percent::encode(middle, kept, &mut text);
    text.extend_from_slice(after);
    text
}

pub(super) fn store(parts: &mut Parts, holder: Holder, text: Zeroizing<Vec<u8>>) -> Result<(), InjectError> {
    match holder {
        Holder::Header(name, index) => {
            let value = sensitive(text)?;
            let Entry::Occupied(mut entry) = parts.headers.entry(name) else {
                return Err(InjectError::Absent);
            };
            let held = entry.iter_mut().nth(index).ok_or(InjectError::Absent)?;
            *held = value;
            Ok(())
        }
        Holder::Target => set_target(parts, text),
    }
}

/// A header value that is wiped when it is dropped, and that HTTP/2 never puts into a compression table.
pub(super) fn sensitive(text: Zeroizing<Vec<u8>>) -> Result<HeaderValue, InjectError> {
    let mut value =
        HeaderValue::from_maybe_shared(Bytes::from_owner(text)).map_err(|_| InjectError::Unfit)?;
    value.set_sensitive(true);
    Ok(value)
}

pub(super) fn set_target(parts: &mut Parts, text: Zeroizing<Vec<u8>>) -> Result<(), InjectError> {
    // The longest target that the http crate takes.
    if text.len() > usize::from(u16::MAX) - 1 {
        return Err(InjectError::TooLong);
    }
    let length = text.len();
    let target = PathAndQuery::from_maybe_shared(Bytes::from_owner(text)).map_err(|_| InjectError::Unfit)?;
    if target.as_str().len() != length {
        return Err(InjectError::Unfit);
    }
    let mut uri = parts.uri.clone().into_parts();
    uri.path_and_query = Some(target);
    parts.uri = http::Uri::from_parts(uri).map_err(|_| InjectError::Unfit)?;
    Ok(())
}
