//! What became of a variable, and by which rule. Nothing here can hold a value.

use std::ffi::OsString;
use std::fmt;

use super::credential_name::NamePattern;
use super::credential_value::ValueShape;
use super::operational::Purpose;
use super::request::Origin;
use super::takeover::Takeover;

/// One variable and its fate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub name: OsString,
    pub rule: Rule,
    /// Whether the host's variable is, or looks like, a credential; also where a wish lets it pass.
    pub credential: bool,
}

impl Decision {
    pub fn verdict(&self) -> Verdict {
        self.rule.verdict()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    Dropped,
}

/// Every rule there is, in the order in which they are tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    SetByCofferdam,
    SetByUser(Origin),
    PassedByUser(Origin),
    /// The user wished for the host's variable, and the host has none.
    WishedButNotSet(Origin),
    /// The call site hands out the credentials of this provider.
    InheritedCredential(String),
    /// The base URL of a provider that this child works for.
    BaseUrl(String),
    /// The registry says that this provider's credential is in it.
    ProviderCredential(String),
    CredentialName(NamePattern),
    CredentialValue(ValueShape),
    Takeover(Takeover),
    /// The base URL of a provider that this child does not work for.
    OtherBaseUrl(String),
    Operational(Purpose),
    /// On the allowlist, but not for this kind of child.
    NotForThisChild(Purpose),
    /// On the allowlist, with a value that such a variable does not have.
    UnfitValue(Purpose),
    NotOnAllowlist,
    /// Set so that programs speak UTF-8.
    Utf8,
}

impl Rule {
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::SetByCofferdam
            | Self::SetByUser(_)
            | Self::PassedByUser(_)
            | Self::InheritedCredential(_)
            | Self::BaseUrl(_)
            | Self::Operational(_)
            | Self::Utf8 => Verdict::Passed,
            Self::WishedButNotSet(_)
            | Self::ProviderCredential(_)
            | Self::CredentialName(_)
            | Self::CredentialValue(_)
            | Self::Takeover(_)
            | Self::OtherBaseUrl(_)
            | Self::NotForThisChild(_)
            | Self::UnfitValue(_)
            | Self::NotOnAllowlist => Verdict::Dropped,
        }
    }

    /// Whether the child's value is another one than the host's.
    pub(super) fn has_own_value(&self) -> bool {
        matches!(self, Self::SetByCofferdam | Self::SetByUser(_))
    }

    /// A name that does not change, for machines.
    pub fn code(&self) -> &'static str {
        match self {
            Self::SetByCofferdam => "set-by-cofferdam",
            Self::SetByUser(_) => "set-by-user",
            Self::PassedByUser(_) => "passed-by-user",
            Self::WishedButNotSet(_) => "wished-but-not-set",
            Self::InheritedCredential(_) => "inherited-credential",
            Self::BaseUrl(_) => "base-url",
            Self::ProviderCredential(_) => "provider-credential",
            Self::CredentialName(_) => "credential-name",
            Self::CredentialValue(_) => "credential-value",
            Self::Takeover(_) => "takeover",
            Self::OtherBaseUrl(_) => "other-base-url",
            Self::Operational(_) => "operational",
            Self::NotForThisChild(_) => "not-for-this-child",
            Self::UnfitValue(_) => "unfit-value",
            Self::NotOnAllowlist => "not-on-allowlist",
            Self::Utf8 => "utf-8",
        }
    }
}

/// The rule as the end of a sentence about the variable.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetByCofferdam => f.write_str("set by Cofferdam"),
            Self::SetByUser(origin) => write!(f, "set by {}", source(*origin)),
            Self::PassedByUser(origin) => write!(f, "passed on by {}", source(*origin)),
            Self::WishedButNotSet(origin) => write!(f, "asked for by {}, but not set here", source(*origin)),
            Self::InheritedCredential(provider) => {
                write!(f, "the credential of {provider}, handed over on request")
            }
            Self::BaseUrl(provider) => write!(f, "the base URL of {provider}"),
            Self::ProviderCredential(provider) => write!(f, "holds the credential of {provider}"),
            Self::CredentialName(pattern) => write!(f, "named like a credential ({pattern})"),
            Self::CredentialValue(shape) => write!(f, "its value looks like a credential ({shape})"),
            Self::Takeover(takeover) => takeover.fmt(f),
            Self::OtherBaseUrl(provider) => {
                write!(f, "the base URL of {provider}, which this child does not work for")
            }
            Self::Operational(purpose) => write!(f, "on the allowlist ({purpose})"),
            Self::NotForThisChild(purpose) => {
                write!(f, "on the allowlist ({purpose}), but not for this kind of child")
            }
            Self::UnfitValue(purpose) => {
                write!(f, "on the allowlist ({purpose}), but its value is not fit for it")
            }
            Self::NotOnAllowlist => f.write_str("not on the allowlist"),
            Self::Utf8 => f.write_str("set so that programs speak UTF-8"),
        }
    }
}

fn source(origin: Origin) -> &'static str {
    match origin {
        Origin::Configuration => "pass in [sandbox.env]",
        Origin::CommandLine => "--env",
    }
}
