//! Signing again with the real credentials.

use http::HeaderName;
use http::header::{AUTHORIZATION, HeaderValue};
use http::request::Parts;
use zeroize::Zeroizing;

use super::canonical::Canonical;
use super::key::SigningKey;
use super::presented::{Form, Payload};
use super::{
    ALGORITHM, BodyDigest, ChunkResigner, Credentials, Presented, QUERY_CREDENTIAL, QUERY_SECURITY_TOKEN,
    QUERY_SIGNATURE, QUERY_SIGNED_HEADERS, SECURITY_TOKEN, SignatureError, hex,
};
use crate::scheme::percent::{self, Plus};
use crate::scheme::query::{Pair, Pairs, Parameter, parameter, query};
use crate::scheme::{splice, target};

const SECURITY_TOKEN_NAME: HeaderName = HeaderName::from_static(SECURITY_TOKEN);

/// A request whose stand-in signature was found right. Made by [`Presented::verify`] alone.
pub struct Verified {
    presented: Presented,
    stand_in: SigningKey,
    body: Option<BodyDigest>,
}

impl Verified {
    pub(super) fn new(presented: Presented, stand_in: SigningKey, body: Option<BodyDigest>) -> Self {
        Self { presented, stand_in, body }
    }

    /// Replaces key id, session token and signature. A session token of the client's is taken out whether there
    /// is a real one or not. With a body in signed chunks, what it must pass through is returned.
    pub fn resign(
        mut self,
        parts: &mut Parts,
        credentials: &Credentials<'_>,
    ) -> Result<Option<ChunkResigner>, SignatureError> {
        if !credentials.key_id.expose().iter().all(u8::is_ascii_alphanumeric) {
            return Err(SignatureError::Unfit);
        }
        let key = SigningKey::derive(credentials.secret_key.expose(), &self.presented.scope);
        parts.headers.remove(SECURITY_TOKEN_NAME);
        self.presented.signed.retain(|name| name == "host" || parts.headers.contains_key(name));
        let signature = match self.presented.form {
            Form::Header => self.sign_header(parts, credentials, &key)?,
            Form::Query => self.sign_query(parts, credentials, &key)?,
        };
        let trailer = match self.presented.payload() {
            Payload::Chunks => false,
            Payload::ChunksAndTrailer => true,
            Payload::Declared | Payload::Body | Payload::Unsigned => return Ok(None),
        };
        let seeds = [hex(&self.presented.signature), signature];
        Ok(Some(ChunkResigner::new(self.presented.scope, [self.stand_in, key], seeds, trailer)))
    }

    fn signature(&self, parts: &Parts, key: &SigningKey) -> Result<[u8; 64], SignatureError> {
        let covered = self.presented.covered(self.body)?;
        let digest = Canonical::of(parts, &self.presented, covered)?.digest();
        Ok(key.sign(&self.presented.scope.string_to_sign(&digest)))
    }

    fn sign_header(
        &mut self,
        parts: &mut Parts,
        credentials: &Credentials<'_>,
        key: &SigningKey,
    ) -> Result<[u8; 64], SignatureError> {
        if let Some(token) = credentials.session_token {
            let value = sensitive(splice::joined(b"", token.expose(), b""))?;
            parts.headers.insert(SECURITY_TOKEN_NAME, value);
            let signed = &mut self.presented.signed;
            let at = signed.partition_point(|name| name.as_str() < SECURITY_TOKEN);
            signed.insert(at, SECURITY_TOKEN.to_owned());
        }
        let signature = self.signature(parts, key)?;
        let before = format!("{ALGORITHM} Credential=");
        let scope = self.presented.scope.text();
        let names = self.presented.signed.join(";");
        let after = format!("/{scope}, SignedHeaders={names}, Signature=");
        let after = [after.as_bytes(), &signature].concat();
        let value = sensitive(splice::joined(before.as_bytes(), credentials.key_id.expose(), &after))?;
        parts.headers.insert(AUTHORIZATION, value);
        Ok(signature)
    }

    /// Every other parameter stays where and as it is.
    fn sign_query(
        &self,
        parts: &mut Parts,
        credentials: &Credentials<'_>,
        key: &SigningKey,
    ) -> Result<[u8; 64], SignatureError> {
        let rewritten = rewritten(parts, &self.presented, credentials)?;
        set_target(parts, rewritten)?;
        let signature = self.signature(parts, key)?;
        let whole = target(parts).ok_or(SignatureError::Malformed)?.as_bytes();
        let (start, query) = query(parts).ok_or(SignatureError::Malformed)?;
        let Parameter::One(span, _) = parameter(query, QUERY_SIGNATURE) else {
            return Err(SignatureError::Malformed);
        };
        let span = start + span.start..start + span.end;
        set_target(parts, splice::joined(&whole[..span.start], &signature, &whole[span.end..]))?;
        Ok(signature)
    }
}

/// The target with the real key id and session token, and the list of signed headers as it is now.
fn rewritten(
    parts: &Parts,
    presented: &Presented,
    credentials: &Credentials<'_>,
) -> Result<Zeroizing<Vec<u8>>, SignatureError> {
    let whole = target(parts).ok_or(SignatureError::Malformed)?;
    let (path, query) = whole.split_once('?').ok_or(SignatureError::Malformed)?;
    let token = credentials.session_token.map_or(&b""[..], |token| token.expose());
    let names = presented.signed.join(";");
    let room = whole.len() + credentials.key_id.expose().len() + 3 * (token.len() + names.len()) + 256;
    let mut text = Zeroizing::new(Vec::with_capacity(room));
    text.extend_from_slice(path.as_bytes());
    let named = |pair: &Pair| percent::decode_leniently(&query.as_bytes()[pair.name.clone()], Plus::Space);
    let is = |name: &[u8], known: &str| name == known.as_bytes();
    let carried = Pairs::of(query.as_bytes()).any(|pair| is(&named(&pair), QUERY_SECURITY_TOKEN));
    let mut separator = b'?';
    for pair in Pairs::of(query.as_bytes()) {
        let (name, value) = (named(&pair), &query[pair.value.clone()]);
        // A session token takes the place of the client's; where there was none, it goes before the signature.
        let replaced = is(&name, QUERY_SECURITY_TOKEN) || (is(&name, QUERY_SIGNATURE) && !carried);
        if replaced && !token.is_empty() {
            text.push(separator);
            separator = b'&';
            text.extend_from_slice(b"X-Amz-Security-Token=");
            percent::encode(token, percent::unreserved, &mut text);
        }
        if is(&name, QUERY_SECURITY_TOKEN) {
            continue;
        }
        text.push(separator);
        separator = b'&';
        text.extend_from_slice(&query.as_bytes()[pair.name.start..pair.value.start]);
        if is(&name, QUERY_CREDENTIAL) {
            let scope = value.strip_prefix(&presented.key_id).ok_or(SignatureError::Malformed)?;
            text.extend_from_slice(credentials.key_id.expose());
            text.extend_from_slice(scope.as_bytes());
        } else if is(&name, QUERY_SIGNED_HEADERS) && names_differ(value, &names) {
            percent::encode(names.as_bytes(), percent::unreserved, &mut text);
        } else {
            text.extend_from_slice(value.as_bytes());
        }
    }
    Ok(text)
}

fn names_differ(written: &str, names: &str) -> bool {
    percent::decode(written.as_bytes(), Plus::Space).is_none_or(|decoded| *decoded != *names.as_bytes())
}

fn sensitive(text: Zeroizing<Vec<u8>>) -> Result<HeaderValue, SignatureError> {
    splice::sensitive(text).map_err(|_| SignatureError::Unfit)
}

fn set_target(parts: &mut Parts, text: Zeroizing<Vec<u8>>) -> Result<(), SignatureError> {
    splice::set_target(parts, text).map_err(|_| SignatureError::Unfit)
}
