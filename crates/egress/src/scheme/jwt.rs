//! Assertions signed with an RSA key (RS256), for those who mint an access token from one.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_PAD_INDIFFERENT, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

use super::oauth2::MintError;

/// A private key, read from PEM: `PRIVATE KEY` (PKCS #8) or `RSA PRIVATE KEY` (PKCS #1).
pub struct SigningKey(KeyPair);

impl SigningKey {
    pub fn from_pem(pem: &[u8]) -> Result<Self, MintError> {
        let pkcs8 = between(pem, "PRIVATE KEY");
        let inner = pkcs8.or_else(|| between(pem, "RSA PRIVATE KEY")).ok_or(MintError::Key)?;
        let mut text = Zeroizing::new(Vec::with_capacity(inner.len()));
        text.extend(inner.iter().filter(|byte| !byte.is_ascii_whitespace()));
        let mut der = Zeroizing::new(vec![0; text.len()]);
        let length =
            STANDARD_PAD_INDIFFERENT.decode_slice(text.as_slice(), &mut der).map_err(|_| MintError::Key)?;
        let read = if pkcs8.is_some() { KeyPair::from_pkcs8 } else { KeyPair::from_der };
        read(&der[..length]).map(Self).map_err(|_| MintError::Key)
    }

    /// `header.claims.signature`. It is as good as the key for as long as it lives, and is wiped like it.
    pub fn sign(&self, header: &str, claims: &str) -> Result<Zeroizing<Vec<u8>>, MintError> {
        let signature_length = self.0.public_modulus_len();
        let room = (header.len() + claims.len() + signature_length).div_ceil(3) * 4 + 16;
        let mut text = Zeroizing::new(Vec::with_capacity(room));
        push_encoded(header.as_bytes(), &mut text);
        text.push(b'.');
        push_encoded(claims.as_bytes(), &mut text);
        let mut signature = vec![0; signature_length];
        self.0
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), &text, &mut signature)
            .map_err(|_| MintError::Key)?;
        text.push(b'.');
        push_encoded(&signature, &mut text);
        Ok(text)
    }
}

/// The key id in the header of a token, if this is one. Nothing is verified: a stand-in's key id is itself the token
/// that says who sent it.
pub fn key_id(token: &[u8]) -> Option<Vec<u8>> {
    #[derive(serde::Deserialize)]
    struct Header {
        kid: String,
    }
    let mut parts = token.split(|byte| *byte == b'.');
    let header = parts.next()?;
    if parts.by_ref().take(2).count() != 2 || parts.next().is_some() {
        return None;
    }
    let header = URL_SAFE_NO_PAD.decode(header).ok()?;
    serde_json::from_slice::<Header>(&header).ok().map(|header| header.kid.into_bytes())
}

fn push_encoded(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(URL_SAFE_NO_PAD.encode(bytes).as_bytes());
}

/// What stands between the two lines of a PEM block.
fn between<'p>(pem: &'p [u8], label: &str) -> Option<&'p [u8]> {
    let (first, last) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
    let start = memchr::memmem::find(pem, first.as_bytes())? + first.len();
    let length = memchr::memmem::find(&pem[start..], last.as_bytes())?;
    Some(&pem[start..start + length])
}

/// A PEM block out of a JSON string, without an unwiped copy in between: what a PEM block needs escaped is the
/// line end, and no other escape is taken.
pub(super) fn pem_in_json(raw: &str) -> Result<Zeroizing<Vec<u8>>, MintError> {
    let inner = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).ok_or(MintError::Document)?;
    let mut pem = Zeroizing::new(Vec::with_capacity(inner.len()));
    let mut bytes = inner.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => match bytes.next() {
                Some(b'n' | b'r') => pem.push(b'\n'),
                Some(b'/') => pem.push(b'/'),
                _ => return Err(MintError::Document),
            },
            other => pem.push(other),
        }
    }
    Ok(pem)
}
