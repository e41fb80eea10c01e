//! Values that are credentials whatever the variable is called.
//!
//! This is a second net under the names. It looks for keys of known forms where a word begins, for URLs with a
//! user or a password in them, for JSON Web Tokens and for private keys. It cannot see a password that is a plain
//! word; the allowlist keeps that out, not this.

use std::fmt;

/// What gave a value away. Never a part of the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueShape {
    /// A key with this well-known beginning.
    Key(&'static str),
    WebToken,
    PrivateKey,
    UrlWithUserinfo,
}

impl fmt::Display for ValueShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(prefix) => write!(f, "a key that begins with {prefix}"),
            Self::WebToken => f.write_str("a JSON Web Token"),
            Self::PrivateKey => f.write_str("a private key"),
            Self::UrlWithUserinfo => f.write_str("a URL with a user or password in it"),
        }
    }
}

/// Beginnings of keys, and how many letters, digits, `-` and `_` must follow at least.
const KEYS: &[(&str, usize)] = &[
    ("A3T", 16),
    ("ABIA", 16),
    ("ACCA", 16),
    ("AGE-SECRET-KEY-1", 40),
    ("AIza", 30),
    ("AKIA", 16),
    ("ASIA", 16),
    ("ATATT", 20),
    ("AccountKey=", 20),
    ("EAA", 60),
    ("SG.", 20),
    ("SharedAccessKey=", 20),
    ("bb_live_", 16),
    ("csk-", 20),
    ("dapi", 32),
    ("dop_v1_", 32),
    ("dtn_", 32),
    ("fc-", 32),
    ("figd_", 20),
    ("fw_", 20),
    ("gho_", 20),
    ("ghp_", 20),
    ("ghr_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("github_pat_", 20),
    ("gldt-", 16),
    ("glpat-", 16),
    ("gsk_", 20),
    ("hf_", 20),
    ("hvb.", 20),
    ("hvs.", 20),
    ("lin_api_", 20),
    ("npm_", 30),
    ("ntn_", 30),
    ("nvapi-", 20),
    ("pplx-", 20),
    ("pypi-", 40),
    ("r8_", 30),
    ("rk_live_", 16),
    ("rk_test_", 16),
    ("secret_", 30),
    ("shpat_", 20),
    ("sk-", 20),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("sntrys_", 20),
    ("sntryu_", 20),
    ("tgp_v1_", 20),
    ("tvly-", 16),
    ("vck_", 20),
    ("whsec_", 16),
    ("xai-", 20),
    ("xapp-", 20),
    ("xoxa-", 16),
    ("xoxb-", 16),
    ("xoxe-", 16),
    ("xoxe.", 16),
    ("xoxp-", 16),
    ("xoxr-", 16),
    ("xoxs-", 16),
    ("ya29.", 20),
];

/// Where in [`KEYS`] those with a certain first byte begin and end, so that most words cost one look.
const BY_FIRST: [(usize, usize); 256] = {
    let mut by_first = [(0, 0); 256];
    let mut at = 0;
    while at < KEYS.len() {
        let first = KEYS[at].0.as_bytes()[0] as usize;
        let (start, end) = by_first[first];
        by_first[first] = (if end == 0 { at } else { start }, at + 1);
        at += 1;
    }
    by_first
};

/// The first shape that is found in a value, in one pass over it.
pub(super) fn shape(value: &[u8]) -> Option<ValueShape> {
    // A key needs room; most values are shorter than any.
    if value.len() < 8 {
        return None;
    }
    let mut word = false;
    for (at, &byte) in value.iter().enumerate() {
        let found = match byte {
            b':' => userinfo(&value[at..]),
            b'-' if !word => private_key(&value[at..]),
            b'e' if !word => web_token(&value[at..]),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
        if !word {
            let (rest, (start, end)) = (&value[at..], BY_FIRST[usize::from(byte)]);
            let key = KEYS[start..end].iter().find(|(prefix, tail)| is_key(rest, prefix, *tail));
            if let Some((prefix, _)) = key {
                return Some(ValueShape::Key(prefix));
            }
        }
        word = in_key(byte);
    }
    None
}

/// Whether a run of letters and digits is so long and so mixed that nobody chose it: 24 or more with both cases
/// and digits, or 32 or more hexadecimal ones.
pub(super) fn has_random_run(value: &[u8]) -> bool {
    value.split(|&byte| !in_key(byte)).any(|run| {
        let digits = run.iter().filter(|byte| byte.is_ascii_digit()).count();
        let mixed = run.iter().any(u8::is_ascii_lowercase) && run.iter().any(u8::is_ascii_uppercase);
        run.len() >= 24 && digits >= 2 && mixed
            || run.len() >= 32 && digits >= 4 && run.iter().all(u8::is_ascii_hexdigit)
    })
}

fn in_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// A digit must be among what follows: `sk-` also begins names of directories.
fn is_key(rest: &[u8], prefix: &str, tail: usize) -> bool {
    // Nearly all differ here already, which is cheaper to see than to call for a comparison.
    if rest.get(1) != prefix.as_bytes().get(1) {
        return false;
    }
    let Some(after) = rest.strip_prefix(prefix.as_bytes()) else {
        return false;
    };
    let length = after.iter().take_while(|&&byte| in_key(byte)).count();
    length >= tail && after[..length].iter().any(u8::is_ascii_digit)
}

fn private_key(rest: &[u8]) -> Option<ValueShape> {
    let title = rest.strip_prefix(b"-----BEGIN ")?;
    let end = title.iter().position(|&byte| byte == b'-')?;
    title[..end].ends_with(b"PRIVATE KEY").then_some(ValueShape::PrivateKey)
}

/// Three parts in base64, the first of which begins with `{"`.
fn web_token(rest: &[u8]) -> Option<ValueShape> {
    if !rest.starts_with(b"eyJ") {
        return None;
    }
    let mut parts = rest.splitn(3, |&byte| byte == b'.');
    let solid = |part: Option<&[u8]>| {
        part.is_some_and(|part| part.len() >= 4 && part.iter().all(|&byte| in_key(byte)))
    };
    (solid(parts.next()) && solid(parts.next()) && parts.next().is_some()).then_some(ValueShape::WebToken)
}

/// `://something@host`: the `@` before the next slash, question mark, hash, quote or blank.
fn userinfo(rest: &[u8]) -> Option<ValueShape> {
    let authority = rest.strip_prefix(b"://")?;
    let end = authority.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#' | b' ' | b'"' | b'\''));
    authority[..end.unwrap_or(authority.len())].contains(&b'@').then_some(ValueShape::UrlWithUserinfo)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_with_one_first_byte_stand_together() {
        assert!(KEYS.is_sorted_by_key(|(prefix, _)| prefix.as_bytes()[0]));
        for (prefix, tail) in KEYS {
            let value = format!("{prefix}{}", "7".repeat(*tail));
            assert!(matches!(shape(value.as_bytes()), Some(ValueShape::Key(_))), "{prefix}");
        }
    }

    #[test]
    fn credentials_are_seen_wherever_they_stand() {
        for value in [
            "sk-proj-abcdefghijklmnop1234567890",
            "Authorization: Bearer ghp_0123456789abcdefghijABCDEFGHIJ",
            "--key=AKIAIOSFODNN7EXAMPLE",
            "postgres://app:hunter2@db/x",
            "https://token@git.example/x.git",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl",
            "key:\n-----BEGIN PRIVATE KEY-----",
            "first;xoxb-123456789012-abcdef",
        ] {
            assert!(shape(value.as_bytes()).is_some(), "{value}");
        }
    }

    #[test]
    fn ordinary_values_are_not() {
        for value in [
            "",
            "/usr/bin:/opt/sk-tools/bin",
            "/nix/store/0c8j0kdkv0ax1sl6qs2wy5nmn8n2i0hq-bash-5.2/bin",
            "https://user.example/path@2",
            "https://registry.example/a/@scope/pkg",
            "en_US.UTF-8",
            "desk-top-abcdefghijklmnopqrstuvwxyz1",
            "eyJ",
            "-----BEGIN CERTIFICATE-----",
        ] {
            assert_eq!(shape(value.as_bytes()), None, "{value}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_do_no_harm() {
        assert_eq!(shape(&[0xff; 64]), None);
        assert!(!has_random_run(&[0xff; 64]));
    }
}
