//! The authority as Java reads it, without a Java.
//!
//! The old format of the key store: a number, a version, one trusted certificate with its name, and a digest over a
//! password. The newer one (PKCS #12) would need an attribute of Oracle's own and says nothing more.

use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use cofferdam_policy::environment::JAVA_STORE_PASSWORD;
use rustls::pki_types::CertificateDer;

const MAGIC: u32 = 0xfeed_feed;
const VERSION: u32 = 2;
const TRUSTED_CERTIFICATE: u32 = 2;
/// Part of the format: it stands between the password and what is digested.
const WHITENER: &[u8] = b"Mighty Aphrodite";

/// A Java key store that trusts these authorities alone.
pub fn java_store(authorities: &[CertificateDer<'_>]) -> Vec<u8> {
    let made = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let mut store = Vec::new();
    for number in [MAGIC, VERSION, authorities.len() as u32] {
        store.extend(number.to_be_bytes());
    }
    for (place, authority) in authorities.iter().enumerate() {
        store.extend(TRUSTED_CERTIFICATE.to_be_bytes());
        text(&mut store, &format!("cofferdam-{place}"));
        store.extend(made.to_be_bytes());
        text(&mut store, "X.509");
        store.extend((authority.len() as u32).to_be_bytes());
        store.extend(authority.as_ref());
    }
    let mut digest = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    JAVA_STORE_PASSWORD.encode_utf16().for_each(|unit| digest.update(&unit.to_be_bytes()));
    digest.update(WHITENER);
    digest.update(&store);
    store.extend(digest.finish().as_ref());
    store
}

fn text(store: &mut Vec<u8>, text: &str) {
    store.extend((text.len() as u16).to_be_bytes());
    store.extend(text.as_bytes());
}
