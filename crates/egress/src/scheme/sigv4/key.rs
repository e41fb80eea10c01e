//! The scope of a signature, and the key that is derived for it.

use aws_lc_rs::hmac;
use zeroize::Zeroizing;

use super::{ALGORITHM, hex};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scope {
    /// `20130524T000000Z`
    pub(super) timestamp: String,
    pub(super) region: String,
    pub(super) service: String,
}

impl Scope {
    /// The key id and the scope of `KEYID/20130524/us-east-1/s3/aws4_request`.
    pub(super) fn read(credential: &str, timestamp: &str) -> Option<(String, Self)> {
        let mut fields = credential.split('/');
        let (key_id, date) = (fields.next()?, fields.next()?);
        let (region, service) = (fields.next()?, fields.next()?);
        if fields.next()? != "aws4_request" || fields.next().is_some() {
            return None;
        }
        let clock = timestamp.strip_prefix(date)?.strip_prefix('T')?.strip_suffix('Z')?;
        let digits = |text: &str, length| text.len() == length && text.bytes().all(|b| b.is_ascii_digit());
        let name = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        let key = !key_id.is_empty() && key_id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !digits(date, 8) || !digits(clock, 6) || !key || !name(region) || !name(service) {
            return None;
        }
        let scope =
            Self { timestamp: timestamp.to_owned(), region: region.to_owned(), service: service.to_owned() };
        Some((key_id.to_owned(), scope))
    }

    /// Whether paths are signed as they are written: every other service signs them encoded once more.
    pub(super) fn is_s3(&self) -> bool {
        matches!(self.service.as_str(), "s3" | "s3express" | "s3-object-lambda" | "s3-outposts")
    }

    pub(super) fn date(&self) -> &str {
        self.timestamp.get(..8).unwrap_or_default()
    }

    pub(super) fn text(&self) -> String {
        format!("{}/{}/{}/aws4_request", self.date(), self.region, self.service)
    }

    pub(super) fn string_to_sign(&self, digest: &[u8; 64]) -> Vec<u8> {
        let head = format!("{ALGORITHM}\n{}\n{}\n", self.timestamp, self.text());
        [head.as_bytes(), digest].concat()
    }
}

/// Good for one day, region and service.
pub(super) struct SigningKey(hmac::Key);

impl SigningKey {
    pub(super) fn derive(secret: &[u8], scope: &Scope) -> Self {
        let mut first = Zeroizing::new(Vec::with_capacity(4 + secret.len()));
        first.extend_from_slice(b"AWS4");
        first.extend_from_slice(secret);
        let mut key = hmac::Key::new(hmac::HMAC_SHA256, &first);
        for field in [scope.date(), &scope.region, &scope.service, "aws4_request"] {
            let mut next = Zeroizing::new([0; 32]);
            hmac::sign_to_buffer(&key, field.as_bytes(), next.as_mut_slice())
                .expect("the buffer has the length of a tag");
            key = hmac::Key::new(hmac::HMAC_SHA256, next.as_slice());
        }
        Self(key)
    }

    pub(super) fn sign(&self, text: &[u8]) -> [u8; 64] {
        hex(hmac::sign(&self.0, text).as_ref())
    }

    /// Compares in constant time.
    pub(super) fn verifies(&self, text: &[u8], signature: &[u8; 32]) -> bool {
        hmac::verify(&self.0, text, signature).is_ok()
    }
}
