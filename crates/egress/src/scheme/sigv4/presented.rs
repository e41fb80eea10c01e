//! What a signed request says about itself.

use http::request::Parts;

use super::canonical::{Canonical, Payload as Covered};
use super::key::{Scope, SigningKey};
use super::{
    ALGORITHM, ASYMMETRIC, BodyDigest, QUERY_CREDENTIAL, QUERY_SECURITY_TOKEN, QUERY_SIGNATURE,
    QUERY_SIGNED_HEADERS, SignatureError, Verified, only_text, unhex,
};
use crate::scheme::header::after_word;
use crate::scheme::query::{Parameter, parameter, query};

/// A signature, read and not yet believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presented {
    pub(super) form: Form,
    pub(super) key_id: String,
    pub(super) scope: Scope,
    /// Names of the headers that it covers, in lower case and sorted.
    pub(super) signed: Vec<String>,
    pub(super) signature: [u8; 32],
    payload: Payload,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Header,
    /// A presigned address.
    Query,
}

/// How the signature covers the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// The head declares a digest, or that there is none: the body is passed on as it comes.
    Declared,
    /// Signed chunks: the body goes through the [`ChunkResigner`](super::ChunkResigner).
    Chunks,
    /// Signed chunks and a signed trailer.
    ChunksAndTrailer,
    /// The digest of the whole body is needed before the head can be verified.
    Body,
    /// A presigned address of S3, which never covers the body.
    Unsigned,
}

impl Presented {
    pub fn read(parts: &Parts) -> Result<Self, SignatureError> {
        let authorization = only_text(&parts.headers, "authorization")?;
        let in_query = match query(parts).map(|(_, query)| parameter(query, "X-Amz-Algorithm")) {
            None | Some(Parameter::Absent) => None,
            Some(Parameter::One(_, value)) => Some(value),
            Some(Parameter::Several) => return Err(SignatureError::Several),
            Some(Parameter::Malformed) => return Err(SignatureError::Malformed),
        };
        match (authorization, in_query) {
            (Some(_), Some(_)) => Err(SignatureError::Several),
            (None, None) => Err(SignatureError::Absent),
            (Some(value), None) => Self::from_header(parts, value),
            (None, Some(algorithm)) => {
                if *algorithm == *ASYMMETRIC.as_bytes() {
                    return Err(SignatureError::OtherAlgorithm);
                }
                if *algorithm != *ALGORITHM.as_bytes() {
                    return Err(SignatureError::Malformed);
                }
                Self::from_query(parts)
            }
        }
    }

    /// The stand-in's key id: the token.
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    pub fn region(&self) -> &str {
        &self.scope.region
    }

    pub fn service(&self) -> &str {
        &self.scope.service
    }

    /// What must be done with the body; [`Payload::Body`] needs its digest first.
    pub fn payload(&self) -> Payload {
        self.payload
    }

    /// Proves that the request was signed with the stand-in's secret half and not changed since.
    pub fn verify(
        self,
        parts: &Parts,
        stand_in_secret: &[u8],
        body: Option<BodyDigest>,
    ) -> Result<Verified, SignatureError> {
        let key = SigningKey::derive(stand_in_secret, &self.scope);
        let digest = Canonical::of(parts, &self, self.covered(body)?)?.digest();
        if !key.verifies(&self.scope.string_to_sign(&digest), &self.signature) {
            return Err(SignatureError::Invalid);
        }
        Ok(Verified::new(self, key, body))
    }

    /// What the signature would have to be with that secret: for a client of ours that signs, and for tests.
    pub fn signature_with(
        &self,
        parts: &Parts,
        secret: &[u8],
        body: Option<BodyDigest>,
    ) -> Result<String, SignatureError> {
        let digest = Canonical::of(parts, self, self.covered(body)?)?.digest();
        let signature = SigningKey::derive(secret, &self.scope).sign(&self.scope.string_to_sign(&digest));
        Ok(signature.map(char::from).iter().collect())
    }

    pub(super) fn covered(&self, body: Option<BodyDigest>) -> Result<Covered, SignatureError> {
        Ok(match self.payload {
            Payload::Declared | Payload::Chunks | Payload::ChunksAndTrailer => Covered::Declared,
            Payload::Unsigned => Covered::Unsigned,
            Payload::Body => Covered::Digest(body.ok_or(SignatureError::BodyNeeded)?.0),
        })
    }

    fn from_header(parts: &Parts, value: &str) -> Result<Self, SignatureError> {
        if after_word(value.as_bytes(), ASYMMETRIC).is_some() {
            return Err(SignatureError::OtherAlgorithm);
        }
        let start = after_word(value.as_bytes(), ALGORITHM).ok_or(SignatureError::Absent)?;
        let (mut credential, mut signed, mut signature) = (None, None, None);
        for field in value[start..].split(',') {
            let (name, value) = field.trim().split_once('=').ok_or(SignatureError::Malformed)?;
            let slot = match name {
                "Credential" => &mut credential,
                "SignedHeaders" => &mut signed,
                "Signature" => &mut signature,
                _ => return Err(SignatureError::Malformed),
            };
            if slot.replace(value).is_some() {
                return Err(SignatureError::Several);
            }
        }
        let (Some(credential), Some(signed), Some(signature)) = (credential, signed, signature) else {
            return Err(SignatureError::Malformed);
        };
        // In the query these would be signed along as if they were the request's own.
        let (_, query) = query(parts).unwrap_or_default();
        for name in [QUERY_CREDENTIAL, QUERY_SIGNATURE, QUERY_SECURITY_TOKEN] {
            if !matches!(parameter(query, name), Parameter::Absent) {
                return Err(SignatureError::Several);
            }
        }
        let timestamp = only_text(&parts.headers, "x-amz-date")?.ok_or(SignatureError::Malformed)?;
        Self::assemble(parts, Form::Header, [credential, timestamp, signed, signature])
    }

    fn from_query(parts: &Parts) -> Result<Self, SignatureError> {
        let (_, query) = query(parts).ok_or(SignatureError::Absent)?;
        let one = |name| match parameter(query, name) {
            Parameter::One(_, value) => {
                String::from_utf8(value.into_owned()).map_err(|_| SignatureError::Malformed)
            }
            Parameter::Several => Err(SignatureError::Several),
            Parameter::Absent | Parameter::Malformed => Err(SignatureError::Malformed),
        };
        if matches!(parameter(query, QUERY_SECURITY_TOKEN), Parameter::Several) {
            return Err(SignatureError::Several);
        }
        let (credential, timestamp) = (one(QUERY_CREDENTIAL)?, one("X-Amz-Date")?);
        let (signed, signature) = (one(QUERY_SIGNED_HEADERS)?, one(QUERY_SIGNATURE)?);
        Self::assemble(parts, Form::Query, [&credential, &timestamp, &signed, &signature])
    }

    fn assemble(
        parts: &Parts,
        form: Form,
        [credential, timestamp, signed, signature]: [&str; 4],
    ) -> Result<Self, SignatureError> {
        let (key_id, scope) = Scope::read(credential, timestamp).ok_or(SignatureError::Malformed)?;
        let signed: Vec<String> = signed.split(';').map(str::to_owned).collect();
        let plain = |name: &String| !name.is_empty() && !name.bytes().any(|byte| byte.is_ascii_uppercase());
        if !signed.iter().all(plain) || !signed.is_sorted_by(|one, next| one < next) {
            return Err(SignatureError::Malformed);
        }
        // Without the host, the signature could be carried to another one.
        if !signed.iter().any(|name| name == "host") {
            return Err(SignatureError::Malformed);
        }
        let signature = unhex(signature.as_bytes()).ok_or(SignatureError::Malformed)?;
        let payload = payload(parts, form, &scope)?;
        Ok(Self { form, key_id, scope, signed, signature, payload })
    }
}

fn payload(parts: &Parts, form: Form, scope: &Scope) -> Result<Payload, SignatureError> {
    match only_text(&parts.headers, "x-amz-content-sha256")? {
        Some("UNSIGNED-PAYLOAD" | "STREAMING-UNSIGNED-PAYLOAD-TRAILER") => Ok(Payload::Declared),
        Some("STREAMING-AWS4-HMAC-SHA256-PAYLOAD") => Ok(Payload::Chunks),
        Some("STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER") => Ok(Payload::ChunksAndTrailer),
        Some(digest) if unhex(digest.as_bytes()).is_some() => Ok(Payload::Declared),
        Some(_) => Err(SignatureError::OtherPayload),
        None if form == Form::Query && scope.is_s3() => Ok(Payload::Unsigned),
        None => Ok(Payload::Body),
    }
}
