//! Bytes that are words.

/// A name that one file can have and a person can read: no slash, no dot at its start, printable.
pub fn file_name(bytes: &[u8]) -> Option<&str> {
    let fine = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'+');
    let name = core::str::from_utf8(bytes).ok()?;
    (!name.is_empty() && !name.starts_with('.') && name.len() <= 128 && bytes.iter().all(fine))
        .then_some(name)
}

/// A decimal number, and nothing else around it.
pub fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// The lines of a file that are text; one that is not is left out.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = &str> {
    bytes.split(|byte| *byte == b'\n').filter_map(|line| core::str::from_utf8(line).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_directory() {
        assert_eq!(file_name(b"hermes-agent_2.1"), Some("hermes-agent_2.1"));
        for wrong in [&b""[..], b".", b"..", b".x", b"a/b", b"a b", b"a\n", b"\xff", b"a\0"] {
            assert_eq!(file_name(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_number_is_digits() {
        assert_eq!(number("1000"), Some(1000));
        for wrong in ["", "-1", "+1", "1 ", "4294967296", "0x10"] {
            assert_eq!(number(wrong), None, "{wrong:?}");
        }
    }
}
