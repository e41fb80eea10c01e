//! What a file holds, by how it begins.

use super::SecretKind;

/// How much of the beginning is looked at.
pub const SNIFFED_BYTES: usize = 4096;

/// What a file that begins like this holds. Only a file that *is* a key counts, not one that mentions one:
/// source code and documents quote the armour of a key all the time, though never as their first line.
pub fn kind_of_content(beginning: &[u8]) -> Option<SecretKind> {
    let beginning = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning).trim_ascii_start();
    if is_private_key(beginning) {
        return Some(SecretKind::PrivateKey);
    }
    is_service_account(beginning).then_some(SecretKind::CloudCredentials)
}

fn is_private_key(beginning: &[u8]) -> bool {
    let line = beginning.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    let armoured = line.starts_with(b"-----BEGIN ")
        && (line.ends_with(b"PRIVATE KEY-----") || line.ends_with(b"PRIVATE KEY BLOCK-----"));
    armoured || line.starts_with(b"PuTTY-User-Key-File-") || line.starts_with(b"AGE-SECRET-KEY-")
}

/// A JSON object that says it is a service account and holds a key; the order of its members is not fixed.
fn is_service_account(beginning: &[u8]) -> bool {
    beginning.starts_with(b"{")
        && has(beginning, b"\"service_account\"")
        && has(beginning, b"\"private_key\"")
}

fn has(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
