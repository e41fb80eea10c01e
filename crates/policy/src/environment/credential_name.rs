//! Names that say "credential" whoever made them up.

use std::fmt;

/// The part of a name that gave it away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamePattern {
    Exactly(&'static str),
    EndsWith(&'static str),
    Contains(&'static str),
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(name) => f.write_str(name),
            Self::EndsWith(tail) => write!(f, "*{tail}"),
            Self::Contains(part) => write!(f, "*{part}*"),
        }
    }
}

const EXACTLY: &[&str] = &[
    "AMQP_URL",
    "APIKEY",
    "API_KEY",
    "AWS_ACCESS_KEY_ID",
    "BW_SESSION",
    "CELERY_BROKER_URL",
    "DATABASE_URI",
    "DATABASE_URL",
    "MONGODB_URI",
    "MONGODB_URL",
    "MONGO_URL",
    "MYSQL_PWD",
    "NETRC",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PGPASSFILE",
    "PGPASSWORD",
    "RABBITMQ_URL",
    "REDIS_URL",
    "SECRET",
    "SQLALCHEMY_DATABASE_URI",
    "SSHPASS",
    "TOKEN",
];

/// Longer ones first, so that the reason is the most telling one.
const TAILS: &[&str] = &[
    "_CONNECTION_STRING",
    "_DATABASE_URL",
    "_CREDENTIALS",
    "_CREDENTIAL",
    "_PASSPHRASE",
    "_PASSWORD",
    "_API_KEY",
    "_COOKIE",
    "_PASSWD",
    "_APIKEY",
    "_SECRET",
    "_TOKEN",
    "_CREDS",
    "_AUTH",
    "_PASS",
    "_CERT_KEY",
    "_DSN",
    "_JWT",
    "_KEY",
    "_PAT",
    "_PIN",
    "_PWD",
    "_SAS",
];

const PARTS: &[&str] = &[
    "ACCESS_KEY",
    "ACCESS_TOKEN",
    "API_KEY",
    "AUTH_TOKEN",
    "CLIENT_SECRET",
    "CREDENTIAL",
    "OP_SESSION_",
    "PASSWORD",
    "PRIVATE_KEY",
    "REFRESH_TOKEN",
    "SECRET_",
    "SIGNING_KEY",
    "WEBHOOK",
];

/// The pattern that a name in capitals fits.
pub(super) fn pattern(name: &[u8]) -> Option<NamePattern> {
    if let Ok(at) = EXACTLY.binary_search_by(|known| known.as_bytes().cmp(name)) {
        return Some(NamePattern::Exactly(EXACTLY[at]));
    }
    if let Some(tail) = TAILS.iter().find(|tail| name.ends_with(tail.as_bytes())) {
        return Some(NamePattern::EndsWith(tail));
    }
    let starts = (0..name.len()).map(|at| &name[at..]);
    let mut parts = starts.flat_map(|rest| PARTS.iter().filter(move |part| begins(rest, part)));
    parts.next().map(|part| NamePattern::Contains(part))
}

/// The first byte decides nearly always, without a call.
fn begins(rest: &[u8], part: &str) -> bool {
    rest.first() == part.as_bytes().first() && rest.starts_with(part.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_names_can_be_searched() {
        assert!(EXACTLY.is_sorted());
    }

    #[test]
    fn names_of_credentials() {
        for name in [
            "ACME_API_KEY",
            "ACME_TOKEN",
            "DB_PASSWORD",
            "DB_PASSWD",
            "SENTRY_DSN",
            "SLACK_WEBHOOK_URL",
            "AWS_SECRET_ACCESS_KEY",
            "PGPASSWORD",
            "DATABASE_URL",
            "AZURE_STORAGE_CONNECTION_STRING",
            "TLS_PRIVATE_KEY_PEM",
            "FOO_CREDENTIALS",
            "OP_SESSION_MY",
            "STAGING_DATABASE_URL",
        ] {
            assert!(pattern(name.as_bytes()).is_some(), "{name}");
        }
    }

    #[test]
    fn names_of_other_things() {
        for name in
            ["PATH", "HOME", "PWD", "OLDPWD", "KEYBOARD", "TOKENIZERS_PARALLELISM", "PASSAGE", "", "_"]
        {
            assert_eq!(pattern(name.as_bytes()), None, "{name}");
        }
    }
}
