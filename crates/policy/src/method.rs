//! Request methods.

use std::fmt;

/// A request method. Methods are compared byte for byte: HTTP knows no `get`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Method(Box<str>);

/// Why something is not a method that a rule may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MethodError {
    NotUpperCase,
    Character,
    /// A tunnel is judged by host and port alone, so that a rule cannot name it.
    Connect,
}

impl fmt::Display for MethodError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::NotUpperCase => "is not in upper case",
            Self::Character => "is not a request method",
            Self::Connect => "is judged by host and port, not by a rule's methods",
        })
    }
}

impl Method {
    pub fn parse(text: &str) -> Result<Self, MethodError> {
        if text.bytes().any(|byte| byte.is_ascii_lowercase()) {
            return Err(MethodError::NotUpperCase);
        }
        if text == "CONNECT" {
            return Err(MethodError::Connect);
        }
        let named = text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-' || byte == b'_');
        if text.is_empty() || text.len() > 32 || !named {
            return Err(MethodError::Character);
        }
        Ok(Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_upper_case_words() {
        assert_eq!(Method::parse("GET").map(|method| method.as_str().to_owned()), Ok("GET".into()));
        assert!(Method::parse("VERSION-CONTROL").is_ok());
        assert_eq!(Method::parse("get"), Err(MethodError::NotUpperCase));
        assert_eq!(Method::parse("CONNECT"), Err(MethodError::Connect));
        for wrong in ["", "G T", "*", "GET\r"] {
            assert_eq!(Method::parse(wrong), Err(MethodError::Character), "{wrong:?}");
        }
    }
}
