//! Basic authentication: decoded, one half replaced, encoded again.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_PAD_INDIFFERENT};
use cofferdam_policy::provider::BasicPart;
use http::header::AUTHORIZATION;
use http::request::Parts;
use zeroize::Zeroizing;

use super::header::{Only, after_word, only};
use super::{Holder, InjectError, Located, Spot};

pub(super) fn locate(parts: &Parts, part: BasicPart) -> Located<'_> {
    let (name, value) = match only(parts, AUTHORIZATION.as_str()) {
        Only::Absent => return Located::Absent,
        Only::Several => return Located::Several,
        Only::One(name, value) => (name, value),
    };
    let Some(start) = after_word(value, "Basic") else { return Located::Absent };
    let Some((user, password)) = halves(&value[start..]) else { return Located::Malformed };
    let there = match part {
        BasicPart::User => user,
        BasicPart::Password => password,
    };
    if there.is_empty() {
        return Located::Absent;
    }
    Located::One(Spot { holder: Holder::Header(name, 0), span: start..value.len(), value: Cow::Owned(there) })
}

/// User and password. Bits after the last byte are refused: they are a place where something can hide.
pub(super) fn halves(encoded: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let both = STANDARD_PAD_INDIFFERENT.decode(encoded).ok()?;
    let colon = memchr::memchr(b':', &both)?;
    Some((both[..colon].to_vec(), both[colon + 1..].to_vec()))
}

/// The encoded pair with one half replaced by the secret.
pub(super) fn written(
    encoded: &[u8],
    part: BasicPart,
    secret: &[u8],
) -> Result<Zeroizing<Vec<u8>>, InjectError> {
    let (user, password) = halves(encoded).ok_or(InjectError::Malformed)?;
    let (user, password) = match part {
        // A colon would end the user's name, and the rest of the secret would become the password.
        BasicPart::User if secret.contains(&b':') => return Err(InjectError::Unfit),
        BasicPart::User => (secret, password.as_slice()),
        BasicPart::Password => (user.as_slice(), secret),
    };
    let mut pair = Zeroizing::new(Vec::with_capacity(user.len() + 1 + password.len()));
    pair.extend_from_slice(user);
    pair.push(b':');
    pair.extend_from_slice(password);
    let mut text = Zeroizing::new(vec![0; pair.len().div_ceil(3) * 4]);
    let length = STANDARD.encode_slice(pair.as_slice(), &mut text).map_err(|_| InjectError::TooLong)?;
    text.truncate(length);
    Ok(text)
}
