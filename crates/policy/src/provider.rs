//! What a provider is: where its credential is found on the host, where it goes, and what stands in for it.
//!
//! The built-in registry and a user's `[[provider]]` tables have the same fields. Everything is borrowed or
//! owned, so that the built-in ones are static data and cost nothing at start.

use std::borrow::Cow;
use std::time::Duration;

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
