//! What a provider is: where its credential is found on the host, where it goes, and what stands in for it.
//!
//! The built-in registry and a user's `[[provider]]` tables have the same fields. Everything is borrowed or
//! owned, so that the built-in ones are static data and cost nothing at start.

use std::borrow::Cow;
use std::time::Duration;

use crate::host::HostPattern;

/// Text that is either part of the program or read from a document.
pub type Text = Cow<'static, str>;
/// A list that is either part of the program or read from a document.
pub type List<T> = Cow<'static, [T]>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// How people name it: lower case, digits and dashes.
    pub name: Text,
    pub kind: Kind,
    /// Host patterns, as in an allow rule.
    pub hosts: List<Text>,
    pub ports: List<u16>,
    /// Variables that hold the credential, in the order in which they are looked for.
    pub variables: List<Text>,
    /// Variables that hold a base URL: not secret, but they move the host.
    pub base_urls: List<Text>,
    /// The places where the credential may stand in a request; never empty.
    pub schemes: List<Scheme>,
    pub token: TokenForm,
    /// Where the value comes from; without one, the first of `variables` that is set.
    pub secret: Option<SecretSource>,
    pub checked: Checked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Answers with a language model. A credential of this kind that no rule covers refuses the start.
    Model,
    Tool,
    Messaging,
    Code,
    /// General cloud credentials: uncovered ones only warn.
    Cloud,
}

/// Where a credential stands in a request, and how it is written there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scheme {
    /// `template` holds `{}` once.
    Header {
        name: Text,
        template: Text,
    },
    Query {
        name: Text,
    },
    Basic {
        part: BasicPart,
    },
    /// A template with `{}` once, such as `/bot{}/`, anchored at the start of the path.
    Path {
        template: Text,
    },
    /// A JSON pointer into the body.
    Json {
        pointer: Text,
    },
    /// A field of a form body.
    Form {
        name: Text,
    },
    Cookie {
        name: Text,
    },
    /// AWS Signature Version 4.
    SigV4,
    /// A bearer token minted from a Google service account.
    GoogleServiceAccount {
        scope: Text,
    },
    /// A bearer token minted by an OAuth 2 grant.
    OAuth2 {
        token_url: Text,
        grant: Grant,
    },
    /// A bearer token minted for an installation of a GitHub App.
    GithubApp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BasicPart {
    User,
    Password,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant {
    ClientCredentials,
    RefreshToken,
}

/// What a stand-in must look like for the provider's own client to accept it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenForm {
    pub prefix: Text,
    /// Characters after the prefix; together with the alphabet at least 128 bits.
    pub length: u16,
    pub alphabet: Alphabet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alphabet {
    Hex,
    UpperAlphanumeric,
    Alphanumeric,
    Base64Url,
}

/// Where a secret value is read. A reference, never a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    Env {
        name: Text,
    },
    Dotenv {
        file: Text,
        key: Text,
    },
    /// The whole file without its last line end, or, with a key, one string of a JSON document.
    File {
        file: Text,
        key: Option<Text>,
    },
    Command {
        argv: List<Text>,
        ttl: Duration,
        timeout: Duration,
    },
    /// One secret of a Bitwarden Secrets Manager, by its id.
    Bitwarden {
        id: Text,
        ttl: Duration,
    },
    /// A secret reference of 1Password: `op://vault/item/field`.
    OnePassword {
        reference: Text,
        ttl: Duration,
    },
    /// A field of a secret in HashiCorp Vault or OpenBao. The path begins with the mount.
    Vault {
        path: Text,
        key: Text,
        ttl: Duration,
    },
    /// The item of the desktop's keyring that has these attributes.
    Keyring {
        attributes: List<(Text, Text)>,
        ttl: Duration,
    },
}

/// How the facts of an entry were checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checked {
    /// Against the provider's own client: its name and version.
    Client(Text),
    /// Not checked, and why.
    Unchecked(Text),
    /// Written by the user.
    Configured,
}

/// What a provider's credential is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One text, which is put into requests as it is.
    Value,
    /// Key id, secret key and perhaps a session token, which sign requests. The provider's variables are these
    /// three, in this order.
    AwsKeys,
    /// The document that Google hands out for an account. The provider's variables name its file.
    GoogleAccount,
    /// Whose access tokens are minted by an OAuth 2 grant.
    OAuthClient,
    /// The key of a GitHub App, and which installation of which app it is for.
    GithubApp,
}

/// Where a credential stands, without how it is written there. What is minted or signed ends in the same
/// header as a bearer token.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// The header's name in lower case.
    Header(String),
    Query(Text),
    Path(Text),
    Json(Text),
    Form(Text),
    Cookie(Text),
}

impl Scheme {
    /// What the credential must be made of.
    pub fn shape(&self) -> Shape {
        match self {
            Self::SigV4 => Shape::AwsKeys,
            Self::GoogleServiceAccount { .. } => Shape::GoogleAccount,
            Self::OAuth2 { .. } => Shape::OAuthClient,
            Self::GithubApp => Shape::GithubApp,
            Self::Header { .. }
            | Self::Query { .. }
            | Self::Basic { .. }
            | Self::Path { .. }
            | Self::Json { .. }
            | Self::Form { .. }
            | Self::Cookie { .. } => Shape::Value,
        }
    }

    pub fn place(&self) -> Place {
        match self {
            Self::Header { name, .. } => Place::Header(name.to_ascii_lowercase()),
            Self::Query { name } => Place::Query(name.clone()),
            Self::Path { template } => Place::Path(template.clone()),
            Self::Json { pointer } => Place::Json(pointer.clone()),
            Self::Form { name } => Place::Form(name.clone()),
            Self::Cookie { name } => Place::Cookie(name.clone()),
            Self::Basic { .. }
            | Self::SigV4
            | Self::GoogleServiceAccount { .. }
            | Self::OAuth2 { .. }
            | Self::GithubApp => Place::Header("authorization".to_owned()),
        }
    }
}

impl Provider {
    /// The host patterns, ready to match. They were checked when the provider was read.
    pub fn host_patterns(&self) -> impl Iterator<Item = HostPattern> {
        self.hosts.iter().filter_map(|host| HostPattern::parse(host).ok())
    }

    /// What the credential is made of: a scheme that signs or mints is the only one of its provider.
    pub fn shape(&self) -> Shape {
        self.schemes.first().map_or(Shape::Value, Scheme::shape)
    }

    /// Whether a request could be meant for both: they share a host, a port and a place.
    pub fn collides(&self, other: &Self) -> bool {
        let ports = self.ports.iter().any(|port| other.ports.contains(port));
        let hosts = || self.host_patterns().any(|host| other.host_patterns().any(|its| host.overlaps(&its)));
        let place = |scheme: &Scheme| other.schemes.iter().any(|its| its.place() == scheme.place());
        ports && self.schemes.iter().any(place) && hosts()
    }
}

impl TokenForm {
    pub const LEAST_BITS: u32 = 128;

    /// For a provider of the user's that says nothing about it.
    pub const STANDARD: Self =
        Self { prefix: Cow::Borrowed("cfd_"), length: 40, alphabet: Alphabet::Alphanumeric };

    /// How many bits of randomness fit, rounded down.
    pub fn bits(&self) -> u32 {
        u32::from(self.length) * self.alphabet.millibits() / 1000
    }
}

impl Alphabet {
    pub fn characters(self) -> &'static str {
        match self {
            Self::Hex => "0123456789abcdef",
            Self::UpperAlphanumeric => "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
            Self::Alphanumeric => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
            Self::Base64Url => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
        }
    }

    /// The fewest characters that hold 128 bits.
    pub fn least_length(self) -> u32 {
        (TokenForm::LEAST_BITS * 1000).div_ceil(self.millibits())
    }

    /// Thousandths of a bit in one character, rounded down.
    fn millibits(self) -> u32 {
        match self {
            Self::Hex => 4000,
            Self::UpperAlphanumeric => 5169,
            Self::Alphanumeric => 5954,
            Self::Base64Url => 6000,
        }
    }
}

impl SecretSource {
    /// How long the output of a command is used when the document does not say.
    pub const TTL: Duration = Duration::from_secs(300);
    /// How long a command may take when the document does not say.
    pub const TIMEOUT: Duration = Duration::from_secs(10);
}
