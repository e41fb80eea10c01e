//! The private key that sandboxes hold where a client wants one to sign with.

use std::sync::OnceLock;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

/// Made when it is first wanted, and the same for all sandboxes of a proxy: what is signed with it says that a client
/// works as its author meant it to, not who it is. That is said by the listener it comes from.
#[derive(Default)]
pub(crate) struct StandInKey(OnceLock<KeyPair>);

impl StandInKey {
    /// As PKCS #8 in PEM form.
    pub fn pem(&self) -> Result<Zeroizing<String>, Unspecified> {
        let der: Pkcs8V1Der<'_> = self.pair()?.as_der()?;
        let text = Zeroizing::new(STANDARD.encode(der.as_ref()));
        let mut pem = Zeroizing::new(String::with_capacity(text.len() + text.len() / 64 + 64));
        pem.push_str("-----BEGIN PRIVATE KEY-----\n");
        for line in text.as_bytes().chunks(64) {
            pem.push_str(std::str::from_utf8(line).unwrap_or_default());
            pem.push('\n');
        }
        pem.push_str("-----END PRIVATE KEY-----\n");
        Ok(pem)
    }

    /// Whether a token (`header.claims.signature`) was signed with it.
    pub fn signed(&self, token: &[u8]) -> bool {
        let Some(dot) = memchr::memrchr(b'.', token) else { return false };
        let (Some(pair), Ok(signature)) = (self.0.get(), URL_SAFE_NO_PAD.decode(&token[dot + 1..])) else {
            return false;
        };
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key().as_ref());
        public.verify(&token[..dot], &signature).is_ok()
    }

    fn pair(&self) -> Result<&KeyPair, Unspecified> {
        if let Some(pair) = self.0.get() {
            return Ok(pair);
        }
        let pair = KeyPair::generate(KeySize::Rsa2048)?;
        Ok(self.0.get_or_init(|| pair))
    }
}
