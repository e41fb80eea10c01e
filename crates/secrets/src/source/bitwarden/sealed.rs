//! What Bitwarden calls an encrypted string of type 2: `2.IV|DATA|MAC`, AES-256 in CBC mode, then HMAC-SHA256.

use aws_lc_rs::cipher::{AES_256, DecryptionContext, PaddedBlockDecryptingKey, UnboundCipherKey};
use aws_lc_rs::hmac;
use aws_lc_rs::iv::FixedLength;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_PAD_INDIFFERENT;
use zeroize::Zeroizing;

/// Half of it opens, the other half says that nobody changed anything.
pub(super) struct Key(Zeroizing<[u8; 64]>);

impl Key {
    /// The key of an access token, from the 16 bytes at its end: HKDF with Bitwarden's own salt and purpose.
    pub fn derive(seed: &[u8]) -> Self {
        let sign = |key: &[u8], parts: &[&[u8]]| {
            let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
            parts.iter().for_each(|part| context.update(part));
            context.sign()
        };
        let purpose = b"sm-access-token";
        let extracted = sign(b"bitwarden-accesstoken", &[seed]);
        let first = sign(extracted.as_ref(), &[purpose, &[1]]);
        let second = sign(extracted.as_ref(), &[first.as_ref(), purpose, &[2]]);
        let mut key = Zeroizing::new([0; 64]);
        key[..32].copy_from_slice(first.as_ref());
        key[32..].copy_from_slice(second.as_ref());
        Self(key)
    }

    pub fn decode(text: &[u8]) -> Option<Self> {
        let bytes = decoded(text)?;
        let mut key = Zeroizing::new([0; 64]);
        (bytes.len() == 64).then(|| key.copy_from_slice(&bytes))?;
        Some(Self(key))
    }

    pub fn open(&self, sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let mut parts = sealed.strip_prefix(b"2.")?.split(|byte| *byte == b'|');
        let (iv, data, mac) = (decoded(parts.next()?)?, decoded(parts.next()?)?, decoded(parts.next()?)?);
        let covered = Zeroizing::new([iv.as_slice(), &data].concat());
        hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, &self.0[32..]), &covered, &mac).ok()?;
        let iv = FixedLength::<16>::from(<[u8; 16]>::try_from(iv.as_slice()).ok()?);
        let key = UnboundCipherKey::new(&AES_256, &self.0[..32]).ok()?;
        let mut opened = data;
        let plain = PaddedBlockDecryptingKey::cbc_pkcs7(key).ok()?;
        let length = plain.decrypt(&mut opened, DecryptionContext::Iv128(iv)).ok()?.len();
        opened.truncate(length);
        Some(opened)
    }
}

fn decoded(text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(vec![0; text.len()]);
    let length = STANDARD_PAD_INDIFFERENT.decode_slice(text, &mut bytes).ok()?;
    bytes.truncate(length);
    Some(bytes)
}
