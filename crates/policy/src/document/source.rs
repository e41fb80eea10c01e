//! `secret = { … }`: where one value is read.

use super::provider::required;
use super::reader::{Section, Wrong};
use super::sandbox::variable;
use crate::provider::{SecretSource, Text};

/// The kinds of sources, by the key that names them, and what else may stand beside it.
const KINDS: [(&str, &[&str]); 8] = [
    ("env", &["env"]),
    ("dotenv", &["dotenv", "key"]),
    ("file", &["file", "key"]),
    ("command", &["command", "ttl", "timeout"]),
    ("bitwarden", &["bitwarden", "ttl"]),
    ("onepassword", &["onepassword", "ttl"]),
    ("vault", &["vault", "key", "ttl"]),
    ("keyring", &["keyring", "ttl"]),
];
/// Those that need no other credential.
const PLAIN: usize = 4;

/// Which kinds may be named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kinds {
    All,
    /// For the credential of a store itself.
    WithoutStores,
}

/// Reads the source at `key`. The value of a wrong key may be the secret itself, so none of these mistakes shows a
/// value.
pub(super) fn read(parent: &Section<'_>, key: &str, kinds: Kinds) -> Option<SecretSource> {
    let section = parent.section(key)?;
    let kinds = if kinds == Kinds::All { &KINDS[..] } else { &KINDS[..PLAIN] };
    let mut found = kinds.iter().filter(|(kind, _)| section.has(kind));
    let (Some((kind, keys)), None) = (found.next(), found.next()) else {
        let names: Vec<_> = kinds.iter().map(|(kind, _)| *kind).collect();
        let hint = format!("write one of {}, such as {{ env = \u{2026} }}", names.join(", "));
        section.wrong_key("", "a secret must have one source", Some(hint));
        return None;
    };
    section.allow_keys(keys);
    let text = |key| required(&section, key).map(|text| Text::from(text.to_owned()));
    let ttl = section.duration("ttl").unwrap_or(SecretSource::TTL);
    match *kind {
        "env" => {
            let name = text("env")?;
            if variable(&name).is_err() {
                let hint = "write the name of the variable, not its value".to_owned();
                section.wrong("env", "what is given is not the name of a variable", Some(hint));
            }
            Some(SecretSource::Env { name })
        }
        "dotenv" => {
            let (file, key) = (text("dotenv"), text("key"));
            Some(SecretSource::Dotenv { file: file?, key: key? })
        }
        "file" => Some(SecretSource::File {
            file: text("file")?,
            key: section.text("key").map(|key| key.to_owned().into()),
        }),
        "command" => {
            section.needs("command", "must name a program");
            Some(SecretSource::Command {
                argv: section.list("command", |text| Ok(text.to_owned().into())).into(),
                ttl,
                timeout: section.duration("timeout").unwrap_or(SecretSource::TIMEOUT),
            })
        }
        "bitwarden" => Some(SecretSource::Bitwarden { id: unshown(&section, "bitwarden", id)?, ttl }),
        "onepassword" => {
            Some(SecretSource::OnePassword { reference: unshown(&section, "onepassword", reference)?, ttl })
        }
        "vault" => Some(SecretSource::Vault {
            path: unshown(&section, "vault", vault_path)?,
            key: section.text("key").unwrap_or("value").to_owned().into(),
            ttl,
        }),
        _ => keyring(&section).map(|attributes| SecretSource::Keyring { attributes: attributes.into(), ttl }),
    }
}

/// Like `parsed`, without showing what is written there.
fn unshown(section: &Section<'_>, key: &str, parse: fn(&str) -> Result<Text, Wrong>) -> Option<Text> {
    match parse(required(section, key)?) {
        Ok(text) => Some(text),
        Err((what, hint)) => {
            section.wrong(key, format!("what is given {what}"), hint);
            None
        }
    }
}

fn id(text: &str) -> Result<Text, Wrong> {
    let parts: Vec<usize> = text.split('-').map(str::len).collect();
    let digits = text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    match digits && parts == [8, 4, 4, 4, 12] {
        true => Ok(text.to_ascii_lowercase().into()),
        false => Err((
            "is not the id of a secret".into(),
            Some("copy the secret's id, not its name or value".into()),
        )),
    }
}

fn reference(text: &str) -> Result<Text, Wrong> {
    let parts = text.strip_prefix("op://").map(|rest| rest.split('/').collect::<Vec<_>>());
    let whole =
        |parts: Vec<&str>| (3..=4).contains(&parts.len()) && !parts.iter().any(|part| part.is_empty());
    match parts.is_some_and(whole) && !text.chars().any(char::is_control) {
        true => Ok(text.to_owned().into()),
        false => Err(("is not a secret reference".into(), Some("such as \"op://vault/item/field\"".into()))),
    }
}

/// The mount, a slash, and the path below it.
fn vault_path(text: &str) -> Result<Text, Wrong> {
    let plain = |part: &str| {
        let characters = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte));
        characters && !part.is_empty() && part != "." && part != ".."
    };
    match text.contains('/') && text.split('/').all(plain) {
        true => Ok(text.to_owned().into()),
        false => {
            let hint = "write the mount and the path, such as \"secret/acme\"".to_owned();
            Err(("is not the path of a secret".into(), Some(hint)))
        }
    }
}

fn keyring(section: &Section<'_>) -> Option<Vec<(Text, Text)>> {
    let attributes = section.section("keyring")?;
    let names: Vec<_> = attributes.keys().collect();
    if names.is_empty() {
        let hint = "such as keyring = { service = \"acme\", account = \"me\" }".to_owned();
        section.wrong("keyring", "an item of the keyring needs at least one attribute", Some(hint));
    }
    let plain =
        |text: &str| !text.is_empty() && !text.starts_with('-') && !text.chars().any(char::is_control);
    let mut read = Vec::new();
    for name in names {
        let value = attributes.text(name)?;
        if !plain(name) || !plain(value) {
            attributes.wrong(name, "this cannot be an attribute of an item", None);
        }
        read.push((name.to_owned().into(), value.to_owned().into()));
    }
    Some(read)
}
