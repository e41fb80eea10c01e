//! What a call site asks for: whom the child is, what the user wished, what the product itself sets.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;

/// Everything about one child that the rules need to know.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub trust: Trust<'a>,
    pub credentials: Credentials<'a>,
    /// The user's own words; of two wishes for one name the later counts.
    pub wishes: &'a [Wish],
    /// What the product sets itself (proxy, certificates, stand-ins). It beats a wish; who calls must refuse a
    /// wish that would have undone it, if that is to be said.
    pub fixed: &'a [Fixed],
}

impl<'a> Request<'a> {
    /// A child that gets what its kind gets, and nothing else.
    pub fn plain(trust: Trust<'a>) -> Self {
        Self { trust, credentials: Credentials::Strip, wishes: &[], fixed: &[] }
    }
}

/// Kinds of children, from the one that is ours to the one nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust<'a> {
    /// A part of this program, or a small program that it uses.
    Helper,
    /// Works for one provider, and is told nothing of any other.
    Executor { provider: &'a str },
    /// A program of somebody else that the user configured.
    Tool,
    /// Whatever an agent thought of.
    Unknown,
}

/// Whether real credentials are handed to the child. Search for `Credentials::Inherit` to find every place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credentials<'a> {
    Strip,
    /// Those of these providers, as far as the kind of child permits.
    Inherit(&'a [&'a str]),
}

/// Who wished for a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// `pass` in `[sandbox.env]`.
    Configuration,
    /// `--env`.
    CommandLine,
}

/// A variable that the user wants in the child: the host's, or with a value of its own.
#[derive(Clone)]
pub struct Wish {
    name: OsString,
    value: Option<OsString>,
    origin: Origin,
}

impl Wish {
    pub fn pass(name: impl Into<OsString>, origin: Origin) -> Result<Self, BadName> {
        Ok(Self { name: checked_name(name.into())?, value: None, origin })
    }

    pub fn set(
        name: impl Into<OsString>,
        value: impl Into<OsString>,
        origin: Origin,
    ) -> Result<Self, BadName> {
        let value = checked_value(value.into())?;
        Ok(Self { name: checked_name(name.into())?, value: Some(value), origin })
    }

    /// `NAME` or `NAME=VALUE`, as it is typed.
    pub fn parse(typed: &OsStr, origin: Origin) -> Result<Self, BadName> {
        let bytes = typed.as_bytes();
        match bytes.iter().position(|&byte| byte == b'=') {
            Some(at) => {
                Self::set(OsStr::from_bytes(&bytes[..at]), OsStr::from_bytes(&bytes[at + 1..]), origin)
            }
            None => Self::pass(typed, origin),
        }
    }

    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// The value that it is to have, if that is not the host's.
    pub fn value(&self) -> Option<&OsStr> {
        self.value.as_deref()
    }

    pub(super) fn origin(&self) -> Origin {
        self.origin
    }
}

/// A variable that the product sets.
pub struct Fixed {
    name: OsString,
    value: OsString,
}

impl Fixed {
    pub fn new(name: impl Into<OsString>, value: impl Into<OsString>) -> Result<Self, BadName> {
        Ok(Self { name: checked_name(name.into())?, value: checked_value(value.into())? })
    }

    pub fn name(&self) -> &OsStr {
        &self.name
    }

    pub fn value(&self) -> &OsStr {
        &self.value
    }
}

/// Why a name (or its value) cannot stand in an environment. It never says the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadName {
    Empty,
    EqualsSign,
    Nul,
}

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the name of a variable is empty",
            Self::EqualsSign => "the name of a variable contains \u{201c}=\u{201d}",
            Self::Nul => "a variable contains a NUL byte",
        })
    }
}

impl std::error::Error for BadName {}

fn checked_name(name: OsString) -> Result<OsString, BadName> {
    if name.is_empty() {
        return Err(BadName::Empty);
    }
    if name.as_bytes().contains(&b'=') {
        return Err(BadName::EqualsSign);
    }
    checked_value(name)
}

fn checked_value(value: OsString) -> Result<OsString, BadName> {
    if value.as_bytes().contains(&0) { Err(BadName::Nul) } else { Ok(value) }
}
