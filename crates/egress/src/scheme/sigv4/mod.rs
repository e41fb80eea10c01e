//! AWS Signature Version 4: the stand-in signature is verified, then the request is signed again.
//!
//! The client in the sandbox signs with a stand-in key, so every AWS client works unchanged. [`Presented`] is
//! what it sent; [`Presented::verify`] proves that whoever sent it holds the stand-in's secret half, and hands
//! out [`Verified`], the only way to [`Verified::resign`]. Between the two the head may be edited: headers that
//! are gone by then are left out of the new signature.
//!
//! Date, region, service and the list of signed headers stay the client's. Bodies are not looked at when the
//! head declares their digest, or that they are unsigned; AWS checks that. Bodies in signed chunks are signed
//! again chunk by chunk ([`ChunkResigner`]). Not covered, and refused: the asymmetric variant (SigV4A), signed
//! event streams, and requests dated by `Date` alone.

mod canonical;
mod chunks;
mod key;
mod keys;
mod presented;
mod resign;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use aws_lc_rs::digest;
use cofferdam_secrets::Secret;
use http::HeaderMap;
use http::request::Parts;

pub use chunks::{CHUNK_CAP, ChunkError, ChunkResigner};
pub use keys::Keys;
pub use presented::{Payload, Presented};
pub use resign::Verified;

use super::header::{Only, after_word, only};
use super::query::{Parameter, parameter, query};
use super::{Holder, Located, Spot};

pub const SECURITY_TOKEN: &str = "x-amz-security-token";
pub const QUERY_SECURITY_TOKEN: &str = "X-Amz-Security-Token";
pub const QUERY_CREDENTIAL: &str = "X-Amz-Credential";
pub const QUERY_SIGNATURE: &str = "X-Amz-Signature";
const QUERY_SIGNED_HEADERS: &str = "X-Amz-SignedHeaders";
const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const ASYMMETRIC: &str = "AWS4-ECDSA-P256-SHA256";

/// The real credentials.
pub struct Credentials<'a> {
    pub key_id: &'a Secret,
    pub secret_key: &'a Secret,
    pub session_token: Option<&'a Secret>,
}

/// The digest of a whole body, for requests that do not declare it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyDigest([u8; 64]);

impl BodyDigest {
    pub fn of(body: &[u8]) -> Self {
        Self(hex(digest::digest(&digest::SHA256, body).as_ref()))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureError {
    /// The request is not signed.
    Absent,
    /// It is signed twice: in the header and in the query, or with a part given twice.
    Several,
    Malformed,
    /// Another algorithm than HMAC with SHA-256.
    OtherAlgorithm,
    /// A kind of body that cannot be signed again.
    OtherPayload,
    /// The digest of the body is needed and was not given.
    BodyNeeded,
    /// It was not made with the stand-in's secret, or something was changed after signing.
    Invalid,
    /// The real credentials hold characters that cannot be sent.
    Unfit,
}

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absent => "the request is not signed",
            Self::Several => "the request is signed more than once",
            Self::Malformed => "the signature of the request cannot be read",
            Self::OtherAlgorithm => "the request is signed with an algorithm other than AWS4-HMAC-SHA256",
            Self::OtherPayload => "the body of the request is signed in a way that is not supported",
            Self::BodyNeeded => "the signature covers the body, which is not at hand",
            Self::Invalid => "the signature of the request is not that of its key",
            Self::Unfit => "the credentials hold characters that cannot be sent",
        })
    }
}

impl std::error::Error for SignatureError {}

/// Where the key id stands: it is the token that says whose request this is.
pub(super) fn locate(parts: &Parts) -> Located<'_> {
    let in_query = match query(parts) {
        Some((start, query)) => match parameter(query, QUERY_CREDENTIAL) {
            Parameter::One(span, value) => Some((start + span.start, &query[span], value)),
            Parameter::Absent => None,
            Parameter::Several => return Located::Several,
            Parameter::Malformed => return Located::Malformed,
        },
        None => None,
    };
    let in_header = match only(parts, "authorization") {
        Only::Several => return Located::Several,
        Only::One(name, value) => after_word(value, ALGORITHM).map(|start| (name, value, start)),
        Only::Absent => None,
    };
    match (in_header, in_query) {
        (None, None) => Located::Absent,
        (Some(_), Some(_)) => Located::Several,
        (Some((name, value, start)), None) => {
            let Some(at) = memchr::memmem::find(&value[start..], b"Credential=") else {
                return Located::Malformed;
            };
            let at = start + at + b"Credential=".len();
            let length = value[at..].iter().take_while(|byte| **byte != b'/').count();
            let there = Cow::Borrowed(&value[at..at + length]);
            Located::One(Spot { holder: Holder::Header(name, 0), span: at..at + length, value: there })
        }
        (None, Some((at, written, value))) => {
            let key = value.split(|byte| *byte == b'/').next().unwrap_or_default();
            // A key id has no character that needs an escape; written with one, its span would be another.
            if !written.starts_with(key) {
                return Located::Malformed;
            }
            let span = at..at + key.len();
            Located::One(Spot { holder: Holder::Target, span, value: Cow::Owned(key.to_vec()) })
        }
    }
}

/// The only value of a header, as text.
fn only_text<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, SignatureError> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(_), Some(_)) => Err(SignatureError::Several),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| SignatureError::Malformed),
    }
}

fn hex<const N: usize>(bytes: &[u8]) -> [u8; N] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [b'0'; N];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    text
}

fn unhex(text: &[u8]) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        let digit = |digit: u8| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}
