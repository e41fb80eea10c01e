//! The private key that sandboxes hold where a client wants one to sign with.

use std::sync::OnceLock;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

/// Made when it is first wanted, and the same for all sandboxes of a proxy: what is signed with it says nothing about
/// who signed, and is not verified. That is said by the listener it comes from, or by a token beside it.
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

    fn pair(&self) -> Result<&KeyPair, Unspecified> {
        if let Some(pair) = self.0.get() {
            return Ok(pair);
        }
        let pair = KeyPair::generate(KeySize::Rsa2048)?;
        Ok(self.0.get_or_init(|| pair))
    }
}
