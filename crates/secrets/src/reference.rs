//! What may be said about a secret: whose it is and where it is kept.

use std::fmt;
use std::path::PathBuf;

/// Names a secret without being one; free to be printed, logged and recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretRef {
    pub provider: String,
    pub origin: Origin,
}

/// Where a value is, or was, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Environment {
        name: String,
    },
    Dotenv {
        file: PathBuf,
        key: String,
    },
    File {
        file: PathBuf,
        key: Option<String>,
    },
    /// The program alone: its arguments may say more than they should.
    Command {
        program: String,
    },
    Bitwarden {
        id: String,
    },
    OnePassword {
        reference: String,
    },
    Vault {
        path: String,
        key: String,
    },
    Keyring {
        attributes: Vec<String>,
    },
    /// No source is configured and none of the provider's variables is set.
    Nowhere {
        variables: Vec<String>,
    },
}

impl Origin {
    /// One word for the kind of source.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Environment { .. } => "environment",
            Self::Dotenv { .. } => "dotenv",
            Self::File { .. } => "file",
            Self::Command { .. } => "command",
            Self::Bitwarden { .. } => "bitwarden",
            Self::OnePassword { .. } => "onepassword",
            Self::Vault { .. } => "vault",
            Self::Keyring { .. } => "keyring",
            Self::Nowhere { .. } => "none",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment { name } => write!(f, "variable {name}"),
            Self::Dotenv { file, key } => write!(f, "{key} in {}", file.display()),
            Self::File { file, key: None } => write!(f, "file {}", file.display()),
            Self::File { file, key: Some(key) } => write!(f, "{key} in file {}", file.display()),
            Self::Command { program } => write!(f, "command {program}"),
            Self::Bitwarden { id } => write!(f, "Bitwarden secret {id}"),
            Self::OnePassword { reference } => write!(f, "1Password {reference}"),
            Self::Vault { path, key } => write!(f, "{key} in Vault {path}"),
            Self::Keyring { attributes } => write!(f, "keyring item {}", attributes.join(" ")),
            Self::Nowhere { .. } => write!(f, "no source"),
        }
    }
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.provider, self.origin)
    }
}
