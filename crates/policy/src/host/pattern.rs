//! Which hosts a rule or a provider means.

use std::fmt;

use super::{Host, HostError, HostName};

/// One host, or all names below one.
///
/// `*.example.com` means one or more labels below `example.com`: `a.example.com` and `a.b.example.com`, but
/// not `example.com` itself, which has to be named when it is meant. A star anywhere else is refused, and so
/// is `*` alone: there is no pattern for every host.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HostPattern {
    Exactly(Host),
    Below(HostName),
}

/// Why something is not a host pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternError {
    Host(HostError),
    /// `*`
    Everything,
    /// `a.*.b`, `a*.b`
    Star,
    /// `https://…`
    Url,
    /// `*.192.0.2.1`
    BelowAddress,
}

impl fmt::Display for PatternError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(error) => error.fmt(out),
            Self::Everything => out.write_str("means every host"),
            Self::Star => out.write_str("has a star elsewhere than in front, as *.name"),
            Self::Url => out.write_str("is a URL, not a host"),
            Self::BelowAddress => out.write_str("has names below an address"),
        }
    }
}

impl HostPattern {
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        if text == "*" || text == "*." {
            return Err(PatternError::Everything);
        }
        if text.contains("://") {
            return Err(PatternError::Url);
        }
        let (below, name) = match text.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, text),
        };
        if name.contains('*') {
            return Err(PatternError::Star);
        }
        match (below, Host::parse(name).map_err(PatternError::Host)?) {
            (false, host) => Ok(Self::Exactly(host)),
            (true, Host::Name(name)) => Ok(Self::Below(name)),
            (true, Host::Address(_)) => Err(PatternError::BelowAddress),
        }
    }

    /// Reads `pattern` or `pattern:port`.
    pub fn parse_with_port(text: &str) -> Result<(Self, Option<u16>), PatternError> {
        if text.contains("://") {
            return Err(PatternError::Url);
        }
        let (pattern, port) = super::split_port(text).map_err(PatternError::Host)?;
        Ok((Self::parse(pattern)?, port))
    }

    pub fn matches(&self, host: &Host) -> bool {
        match self {
            Self::Exactly(exact) => exact == host,
            Self::Below(parent) => {
                host.name().is_some_and(|name| name.parents().any(|above| above == parent.as_str()))
            }
        }
    }

    /// Whether some host is meant by both.
    pub fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exactly(host), pattern) | (pattern, Self::Exactly(host)) => pattern.matches(host),
            (Self::Below(left), Self::Below(right)) => {
                left == right
                    || left.parents().any(|above| above == right.as_str())
                    || right.parents().any(|above| above == left.as_str())
            }
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(host) => host.fmt(out),
            Self::Below(name) => write!(out, "*.{}", name.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, host: &str) -> bool {
        HostPattern::parse(pattern).unwrap().matches(&Host::parse(host).unwrap())
    }

    #[test]
    fn a_star_means_names_below_and_not_the_name_itself() {
        assert!(matches("*.example.com", "a.example.com"));
        assert!(matches("*.Example.com.", "a.b.EXAMPLE.com."));
        assert!(!matches("*.example.com", "example.com"));
        assert!(!matches("*.example.com", "badexample.com"));
        assert!(!matches("*.example.com", "example.com.evil.test"));
        assert!(!matches("example.com", "a.example.com"));
        assert!(matches("*.bücher.example", "a.xn--bcher-kva.example"));
    }

    #[test]
    fn addresses_match_as_addresses() {
        assert!(matches("[2001:db8::1]", "2001:0db8:0:0::1"));
        assert!(!matches("127.0.0.1", "[::ffff:127.0.0.1]"));
    }

    #[test]
    fn other_stars_are_refused() {
        for (text, error) in [
            ("*", PatternError::Everything),
            ("*.", PatternError::Everything),
            ("a.*.b", PatternError::Star),
            ("a*.b", PatternError::Star),
            ("*a.b", PatternError::Star),
            ("*.*.b", PatternError::Star),
            ("*.10.0.0.1", PatternError::BelowAddress),
            ("https://a.b/", PatternError::Url),
            ("a.b/c", PatternError::Host(HostError::Character)),
        ] {
            assert_eq!(HostPattern::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn overlap_is_symmetric_and_seen_between_stars() {
        let overlap = |a: &str, b: &str| {
            let (a, b) = (HostPattern::parse(a).unwrap(), HostPattern::parse(b).unwrap());
            assert_eq!(a.overlaps(&b), b.overlaps(&a));
            a.overlaps(&b)
        };
        assert!(overlap("*.example.com", "a.example.com"));
        assert!(overlap("*.example.com", "*.a.example.com"));
        assert!(!overlap("*.example.com", "example.com"));
        assert!(!overlap("a.example.com", "b.example.com"));
    }
}
