//! The path of a request as a rule may see it.
//!
//! A rule that looks at a path is worth something only if the server behind it sees the same path. So what
//! servers are known to read in different ways is refused here, not repaired: dot segments, escaped dots,
//! slashes and backslashes, escapes of escapes, control characters, broken escapes, overlong UTF-8, and path
//! parameters on segments that vanish with them (`..;`). Only escapes of unreserved characters are undone,
//! which RFC 3986 calls equivalent, and only for matching: what is forwarded is what the client sent.
//!
//! Empty segments (`//`) are left in. Some servers merge them; patterns are made so that a path which
//! matches still matches after merging, see [`super::PathPattern`].

use std::borrow::Cow;
use std::fmt;

/// A path that every server reads in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPath<'p>(Cow<'p, str>);

/// Why a path cannot be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathError {
    /// It does not begin with a slash.
    NotAbsolute,
    TooLong,
    DotSegment,
    /// `%2e`
    EscapedDot,
    /// `%2f`
    EscapedSlash,
    /// `\` or `%5c`
    Backslash,
    /// `%252e` and its like
    DoubleEscape,
    /// A control character or a blank, plain or escaped.
    Control,
    /// A byte that must be escaped and is not, or `?` and `#`, which end a path.
    Character,
    BrokenEscape,
    NotUtf8,
    /// `;x`: a segment that is nothing but a parameter.
    EmptyParameter,
}

impl fmt::Display for PathError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::NotAbsolute => "does not begin with a slash",
            Self::TooLong => "is too long",
            Self::DotSegment => "has a \u{201c}.\u{201d} or \u{201c}..\u{201d} segment",
            Self::EscapedDot => "has an escaped dot (%2e)",
            Self::EscapedSlash => "has an escaped slash (%2f)",
            Self::Backslash => "has a backslash",
            Self::DoubleEscape => "has an escape inside an escape (%25)",
            Self::Control => "has a blank or a control character",
            Self::Character => "has a character that a path cannot have",
            Self::BrokenEscape => "has a % without two hexadecimal digits",
            Self::NotUtf8 => "has escapes that are not UTF-8",
            Self::EmptyParameter => "has a segment that is only a parameter (;)",
        })
    }
}

impl<'p> RequestPath<'p> {
    /// The longest path that is judged; servers commonly stop there as well.
    pub const LONGEST: usize = 8192;

    /// Reads a path without its query.
    pub fn parse(text: &'p str) -> Result<Self, PathError> {
        if !text.starts_with('/') {
            return Err(PathError::NotAbsolute);
        }
        if text.len() > Self::LONGEST {
            return Err(PathError::TooLong);
        }
        let canonical = canonical(text)?;
        canonical.split('/').try_for_each(check_segment)?;
        Ok(Self(canonical))
    }

    /// The form that is compared: unreserved escapes undone, the others in upper case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Undoes escapes of unreserved characters and checks all others. Borrows when there is nothing to undo.
pub(super) fn canonical(text: &str) -> Result<Cow<'_, str>, PathError> {
    text.bytes().try_for_each(check_byte)?;
    if !text.contains('%') {
        return Ok(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len());
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        decoded.extend_from_slice(&rest.as_bytes()[..at]);
        let byte = escape(&rest.as_bytes()[at..])?;
        decoded.push(byte);
        rest = &rest[at + 3..];
        check_escaped(byte)?;
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            use fmt::Write;
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out.push_str(rest);
    decoded.extend_from_slice(rest.as_bytes());
    std::str::from_utf8(&decoded).map_err(|_| PathError::NotUtf8)?;
    check_twice_escaped(&out)?;
    Ok(Cow::Owned(out))
}

/// Looks at the finished form: the digits behind an escaped `%` may have been escaped themselves (`%25%32e`).
fn check_twice_escaped(canonical: &str) -> Result<(), PathError> {
    let hidden =
        |after: &str| ["2e", "2f", "5c", "25", "00", "3b"].iter().any(|digits| starts_with(after, digits));
    match canonical.split("%25").skip(1).any(hidden) {
        true => Err(PathError::DoubleEscape),
        false => Ok(()),
    }
}

fn starts_with(text: &str, lower: &str) -> bool {
    text.get(..lower.len()).is_some_and(|start| start.eq_ignore_ascii_case(lower))
}

fn check_byte(byte: u8) -> Result<(), PathError> {
    match byte {
        b'\\' => Err(PathError::Backslash),
        0..=b' ' | 0x7f => Err(PathError::Control),
        b'?' | b'#' | b'"' | b'<' | b'>' | b'`' | b'{' | b'}' | b'|' | b'^' | 0x80.. => {
            Err(PathError::Character)
        }
        _ => Ok(()),
    }
}

fn escape(text: &[u8]) -> Result<u8, PathError> {
    let digit = |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    match (digit(1), digit(2)) {
        (Some(high), Some(low)) => Ok((high * 16 + low) as u8),
        _ => Err(PathError::BrokenEscape),
    }
}

fn check_escaped(byte: u8) -> Result<(), PathError> {
    match byte {
        b'.' => Err(PathError::EscapedDot),
        b'/' => Err(PathError::EscapedSlash),
        b'\\' => Err(PathError::Backslash),
        0..0x20 | 0x7f => Err(PathError::Control),
        _ => Ok(()),
    }
}

/// Some servers cut `;parameter` off a segment before they look at it.
pub(super) fn check_segment(segment: &str) -> Result<(), PathError> {
    let end = segment.find(';').or_else(|| segment.find("%3B"));
    match &segment[..end.unwrap_or(segment.len())] {
        "." | ".." => Err(PathError::DotSegment),
        "" if end.is_some() => Err(PathError::EmptyParameter),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equivalent_spellings_are_one() {
        let seen = |text| RequestPath::parse(text).map(|path| path.as_str().to_owned());
        assert_eq!(seen("/a%41%2d%7E"), Ok("/aA-~".into()));
        assert_eq!(seen("/a%3ab"), Ok("/a%3Ab".into()));
        assert_eq!(seen("/caf%c3%a9"), Ok("/caf%C3%A9".into()));
        assert_eq!(seen("/a//b/"), Ok("/a//b/".into()));
        assert_eq!(seen("/a.b/...;x/.git"), Ok("/a.b/...;x/.git".into()));
        assert_eq!(seen("/100%25"), Ok("/100%25".into()));
        assert!(matches!(RequestPath::parse("/plain"), Ok(RequestPath(Cow::Borrowed(_)))));
    }

    #[test]
    fn what_servers_read_differently_is_refused() {
        use PathError::*;
        for (text, error) in [
            ("", NotAbsolute),
            ("*", NotAbsolute),
            ("a/b", NotAbsolute),
            ("/a/../b", DotSegment),
            ("/..", DotSegment),
            ("/a/./b", DotSegment),
            ("/a/.", DotSegment),
            ("/a/..;/b", DotSegment),
            ("/a/..;x=1/b", DotSegment),
            ("/a/.%3b/b", DotSegment),
            ("/;x/a", EmptyParameter),
            ("/%2e%2e/a", EscapedDot),
            ("/.%2E/a", EscapedDot),
            ("/a%2fb", EscapedSlash),
            ("/a%2Fb", EscapedSlash),
            ("/a\\b", Backslash),
            ("/a%5cb", Backslash),
            ("/a%5C..%5Cb", Backslash),
            ("/%252e%252e/a", DoubleEscape),
            ("/a%252fb", DoubleEscape),
            ("/a%25%32%66b", DoubleEscape),
            ("/a%25%33B", DoubleEscape),
            ("/a%25%32e", DoubleEscape),
            ("/a%255cb", DoubleEscape),
            ("/a%25252fb", DoubleEscape),
            ("/a\0b", Control),
            ("/a%00b", Control),
            ("/a%0d%0ab", Control),
            ("/a b", Control),
            ("/a\tb", Control),
            ("/a?b", Character),
            ("/a#b", Character),
            ("/café", Character),
            ("/a%", BrokenEscape),
            ("/a%2", BrokenEscape),
            ("/a%zz", BrokenEscape),
            ("/a%u002e", BrokenEscape),
            ("/%c0%ae%c0%ae/a", NotUtf8),
            ("/a%c0%afb", NotUtf8),
            ("/a%e0%80%afb", NotUtf8),
        ] {
            assert_eq!(RequestPath::parse(text), Err(error), "{text:?}");
        }
        assert_eq!(RequestPath::parse(&format!("/{}", "a".repeat(8192))), Err(TooLong));
    }

    proptest! {
        /// Decoding what was let through, however often, never makes a new segment or a dot segment.
        #[test]
        fn decoding_again_reveals_nothing(text in "/([a.;/]|%2[5eEfF]|%5[cC]|25|2e|2f|%41|%3b){0,12}") {
            if let Ok(path) = RequestPath::parse(&text) {
                let slashes = path.as_str().matches('/').count();
                let mut seen = path.as_str().to_owned();
                for _ in 0..4 {
                    seen = decode_once(&seen);
                    prop_assert_eq!(seen.matches('/').count(), slashes, "{}", &seen);
                    prop_assert!(!seen.contains('\\'));
                    prop_assert!(seen.split('/').all(|s| !matches!(s.split(';').next(), Some("." | ".."))), "{}", &seen);
                }
            }
        }
    }

    fn decode_once(text: &str) -> String {
        let mut out = Vec::new();
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            match escape(&bytes[at..]) {
                Ok(byte) if bytes[at] == b'%' => {
                    out.push(byte);
                    at += 3;
                }
                _ => {
                    out.push(bytes[at]);
                    at += 1;
                }
            }
        }
        String::from_utf8_lossy(&out).into_owned()
    }
}
