//! Which paths a rule means.

use std::fmt;

use super::request::{PathError, RequestPath, canonical, check_segment};

/// A pattern for paths, such as `/acme/**` or `/repos/*/issues`.
///
/// `*` stands for characters within one segment: alone for at least one, beside other characters for any
/// number. `**` is a whole segment and stands for any number of segments; at the end for at least one, which
/// may be empty: `/acme/**` means `/acme/` and everything below, not `/acme`.
///
/// Because no star stands for an empty segment, a path that matches still matches after a server has merged
/// its double slashes. Besides one at the end, a pattern has at most one `**`, so that the work of a match
/// cannot grow with a power of the path's length.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PathPattern(Box<[Segment]>);

/// One part of a pattern between two slashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Segment {
    Literal(Box<str>),
    /// `*`
    Any,
    /// `acme-*`: the text before the first star, between stars and after the last one; two or more pieces.
    Glob(Box<[Box<str>]>),
    /// `**`
    Deep,
}

/// Why something is not a path pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathPatternError {
    Path(PathError),
    /// `/a//b`
    EmptySegment,
    /// `/a**`
    DeepWithinSegment,
    TooManyDeep,
    TooManySegments,
}

impl fmt::Display for PathPatternError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(error) => error.fmt(out),
            Self::EmptySegment => out.write_str("has two slashes in a row"),
            Self::DeepWithinSegment => out.write_str("has ** beside other characters of a segment"),
            Self::TooManyDeep => out.write_str("has more than one ** before its end"),
            Self::TooManySegments => out.write_str("has more than 64 segments"),
        }
    }
}

impl PathPattern {
    /// Reads a pattern. Characters beyond ASCII are escaped as a client would.
    pub fn parse(text: &str) -> Result<Self, PathPatternError> {
        let escaped = escape_unicode(text);
        let below = escaped.strip_prefix('/').ok_or(PathPatternError::Path(PathError::NotAbsolute))?;
        if escaped.len() > RequestPath::LONGEST {
            return Err(PathPatternError::Path(PathError::TooLong));
        }
        let below = canonical(below).map_err(PathPatternError::Path)?;
        let segments: Vec<Segment> = below.split('/').map(segment).collect::<Result<_, _>>()?;
        let (last, before) = segments.split_last().ok_or(PathPatternError::EmptySegment)?;
        if before.iter().any(|segment| *segment == Segment::Literal("".into())) {
            return Err(PathPatternError::EmptySegment);
        }
        let deep = before.iter().filter(|segment| **segment == Segment::Deep).count();
        // `/a/**/**` is the same as `/a/**`; written so, it is a slip.
        if deep > 1 || (deep == 1 && before.last() == Some(&Segment::Deep) && *last == Segment::Deep) {
            return Err(PathPatternError::TooManyDeep);
        }
        if segments.len() > 64 {
            return Err(PathPatternError::TooManySegments);
        }
        Ok(Self(segments.into()))
    }

    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Whether it means every path.
    pub fn is_everything(&self) -> bool {
        *self.0 == [Segment::Deep]
    }
}

impl Segment {
    /// Whether one segment of a path fits; `**` is not asked.
    pub fn matches(&self, segment: &str) -> bool {
        match self {
            Self::Literal(literal) => **literal == *segment,
            Self::Any => !segment.is_empty(),
            Self::Glob(pieces) => glob(pieces, segment),
            Self::Deep => false,
        }
    }
}

fn segment(text: &str) -> Result<Segment, PathPatternError> {
    match text {
        "*" => return Ok(Segment::Any),
        "**" => return Ok(Segment::Deep),
        _ if text.contains("**") => return Err(PathPatternError::DeepWithinSegment),
        _ => check_segment(text).map_err(PathPatternError::Path)?,
    }
    let pieces: Box<[Box<str>]> = text.split('*').map(Box::from).collect();
    Ok(if pieces.len() == 1 { Segment::Literal(text.into()) } else { Segment::Glob(pieces) })
}

/// Takes each inner piece at its first place: with nothing but stars between them, no later place can help.
fn glob(pieces: &[Box<str>], segment: &str) -> bool {
    let [first, inner @ .., last] = pieces else { return false };
    let Some(mut rest) = segment.strip_prefix(&**first).and_then(|rest| rest.strip_suffix(&**last)) else {
        return false;
    };
    for piece in inner {
        let Some(at) = rest.find(&**piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    true
}

fn escape_unicode(text: &str) -> String {
    use fmt::Write;
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii() {
            out.push(character);
        } else {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a string cannot fail.
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

impl fmt::Display for PathPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.0 {
            match segment {
                Segment::Literal(literal) => write!(out, "/{literal}")?,
                Segment::Any => out.write_str("/*")?,
                Segment::Glob(pieces) => write!(out, "/{}", pieces.join("*"))?,
                Segment::Deep => out.write_str("/**")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_print_as_they_are_written() {
        for text in ["/", "/**", "/acme/**", "/a/*/b-*-c/", "/**/info/refs", "/x/**/y/**"] {
            assert_eq!(PathPattern::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(PathPattern::parse("/café%41").unwrap().to_string(), "/caf%C3%A9A");
    }

    #[test]
    fn patterns_that_could_not_mean_one_thing_are_refused() {
        use PathPatternError::*;
        for (text, error) in [
            ("acme/**", Path(PathError::NotAbsolute)),
            ("/a//b", EmptySegment),
            ("/a**", DeepWithinSegment),
            ("/a/***", DeepWithinSegment),
            ("/**/a/**/b", TooManyDeep),
            ("/**/**", TooManyDeep),
            ("/a/../b", Path(PathError::DotSegment)),
            ("/a%2fb", Path(PathError::EscapedSlash)),
            ("/a?b", Path(PathError::Character)),
            ("/a\\b", Path(PathError::Backslash)),
        ] {
            assert_eq!(PathPattern::parse(text), Err(error), "{text}");
        }
        assert_eq!(PathPattern::parse(&"/a".repeat(65)), Err(TooManySegments));
    }

    #[test]
    fn stars_within_a_segment() {
        let matches = |pattern: &str, text: &str| segment(pattern).unwrap().matches(text);
        assert!(matches("acme-*", "acme-"));
        assert!(matches("*.tar.gz", "a.tar.gz"));
        assert!(matches("a*b*c", "aXbXbXc"));
        assert!(!matches("a*a", "a"));
        assert!(!matches("ab*ba", "aba"));
        assert!(!matches("*", ""));
    }
}
