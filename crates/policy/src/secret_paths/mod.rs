//! Where secrets lie on a disk: the list that the read guard refuses and the sandbox hides.
//!
//! Three ways to say a place, because they are found in three ways:
//!
//! * below a home directory ([`HOME`]): the sandbox hides the path itself, whether it exists yet or not;
//! * by the name of a file ([`NAMES`]), in the workspace and everywhere else;
//! * at a fixed place of the system ([`SYSTEM`]).
//!
//! Some names say nothing before the file is opened (`server.pem` is a certificate or a key). Those are
//! marked [`Evidence::Content`] and judged by [`kind_of_content`].
//!
//! Where it stops: a secret under a name of the user's own making is found by its content or not at all.
//! That is what the configuration's own list of hidden paths is for.

mod content;
mod list;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

pub use content::{SNIFFED_BYTES, kind_of_content};
pub use list::{HOME, NAMES, SYSTEM};

/// What is kept at a secret place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretKind {
    AgentState,
    BrowserProfile,
    CloudCredentials,
    DatabasePassword,
    Dotenv,
    GitCredentials,
    Keyring,
    Messenger,
    OwnState,
    PasswordStore,
    PrivateKey,
    RegistryCredentials,
    ShellHistory,
    SystemSecret,
}

impl SecretKind {
    /// A stable word for machines.
    pub fn code(self) -> &'static str {
        match self {
            Self::AgentState => "agent-state",
            Self::BrowserProfile => "browser-profile",
            Self::CloudCredentials => "cloud-credentials",
            Self::DatabasePassword => "database-password",
            Self::Dotenv => "dotenv",
            Self::GitCredentials => "git-credentials",
            Self::Keyring => "keyring",
            Self::Messenger => "messenger",
            Self::OwnState => "own-state",
            Self::PasswordStore => "password-store",
            Self::PrivateKey => "private-key",
            Self::RegistryCredentials => "registry-credentials",
            Self::ShellHistory => "shell-history",
            Self::SystemSecret => "system-secret",
        }
    }

    /// What a person calls it, to follow "it holds".
    pub fn description(self) -> &'static str {
        match self {
            Self::AgentState => "the sign-in of an agent",
            Self::BrowserProfile => "a browser's cookies and passwords",
            Self::CloudCredentials => "cloud credentials",
            Self::DatabasePassword => "database passwords",
            Self::Dotenv => "the variables of a dotenv file, which often are keys",
            Self::GitCredentials => "credentials for git",
            Self::Keyring => "a keyring",
            Self::Messenger => "the session of a messenger",
            Self::OwnState => "Cofferdam's own policy or state",
            Self::PasswordStore => "a password store",
            Self::PrivateKey => "a private key",
            Self::RegistryCredentials => "credentials for a package registry",
            Self::ShellHistory => "the history of a shell, with whatever was typed there",
            Self::SystemSecret => "a secret of the system",
        }
    }
}

/// A file, or a directory with everything below it, relative to a home directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HomeSecret {
    pub path: &'static str,
    pub kind: SecretKind,
}

/// The directories that the places of [`HOME`] are relative to.
#[derive(Debug, Clone, Default)]
pub struct Bases {
    pub home: PathBuf,
    /// `$XDG_CONFIG_HOME`, if it is set.
    pub config: Option<PathBuf>,
    /// `$XDG_DATA_HOME`, if it is set.
    pub data: Option<PathBuf>,
    /// `$XDG_STATE_HOME`, if it is set.
    pub state: Option<PathBuf>,
    /// `$XDG_CACHE_HOME`, if it is set.
    pub cache: Option<PathBuf>,
}

impl HomeSecret {
    /// The absolute paths of this place: the usual one and, where a base directory was moved, the moved one
    /// as well, because programs started without the variable still write to the usual one.
    pub fn below(&self, bases: &Bases) -> Vec<PathBuf> {
        let moved = [
            (".config", &bases.config),
            (".local/share", &bases.data),
            (".local/state", &bases.state),
            (".cache", &bases.cache),
        ];
        let mut paths = vec![bases.home.join(self.path)];
        for (usual, base) in moved {
            // Hardly anybody has moved one, and this is asked for every place at every start.
            let Some(base) = base else { continue };
            if let Ok(rest) = Path::new(self.path).strip_prefix(usual) {
                paths.push(base.join(rest));
            }
        }
        paths.dedup();
        paths
    }
}

/// A fixed place of the system: a file, or a directory with everything below it. The last component may
/// hold `*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemSecret {
    pub path: &'static str,
    pub kind: SecretKind,
}

/// Files of this name are secret wherever they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameSecret {
    /// The last component of a path, with `*` for any number of characters; case does not count.
    pub pattern: &'static str,
    /// Names that match and are harmless all the same.
    pub except: &'static [&'static str],
    pub evidence: Evidence,
    pub kind: SecretKind,
}

/// What it takes to call a file of a listed name secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// The name is enough.
    Name,
    /// The beginning of the file decides; the name only says that it is worth a look.
    Content,
}

/// What a file at this path holds, by its path alone.
///
/// `path` must be absolute and free of links and dot segments: the path that a descriptor was resolved to.
/// Places below a home are recognised below any directory, so that another user's home and a copy of a home
/// in a backup are covered and nothing depends on a variable.
pub fn kind_of_path(path: &Path) -> Option<SecretKind> {
    let components: Vec<&OsStr> = path
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
        })
        .collect();
    SYSTEM
        .iter()
        .find(|secret| starts_with(&components, secret.path))
        .map(|secret| secret.kind)
        .or_else(|| HOME.iter().find(|secret| contains(&components, secret.path)).map(|secret| secret.kind))
        .or_else(|| components.last().and_then(|name| kind_of_name(name)))
}

/// Whether `name` in this directory is one of the places of [`HOME`] itself. What is in such a place is not asked here:
/// whoever goes through a tree does not get there.
pub fn is_home_place(directory: &Path, name: &OsStr) -> bool {
    HOME.iter().any(|secret| {
        let (above, last) = secret.path.rsplit_once('/').unwrap_or(("", secret.path));
        is(last, name)
            && (above.is_empty() || {
                let mut parts = directory.iter().rev();
                above.rsplit('/').all(|place| parts.next().is_some_and(|part| is(place, part)))
            })
    })
}

/// What it takes to call a file of this name secret; nothing does if its name is not listed.
pub fn evidence_of_name(name: &OsStr) -> Option<Evidence> {
    let name = folded(name);
    let listed = NAMES.iter().filter(|secret| is_listed(secret, &name)).map(|secret| secret.evidence);
    listed.min_by_key(|evidence| *evidence == Evidence::Content)
}

/// What a file of this name holds, where the name alone is enough.
pub fn kind_of_name(name: &OsStr) -> Option<SecretKind> {
    let name = folded(name);
    let mut enough = NAMES.iter().filter(|secret| secret.evidence == Evidence::Name);
    enough.find(|secret| is_listed(secret, &name)).map(|secret| secret.kind)
}

fn is_listed(secret: &NameSecret, folded: &[u8]) -> bool {
    matches(secret.pattern, folded) && !secret.except.iter().any(|except| matches(except, folded))
}

fn starts_with(components: &[&OsStr], place: &str) -> bool {
    // Most differ in the first character already, and every place is asked about at every component.
    let letter = place.bytes().find(|byte| *byte != b'/').filter(|byte| *byte != b'*');
    let begins = components.first().and_then(|name| name.as_encoded_bytes().first());
    if letter.zip(begins).is_some_and(|(letter, begins)| !letter.eq_ignore_ascii_case(begins)) {
        return false;
    }
    let mut rest = components.iter();
    place.split('/').filter(|part| !part.is_empty()).all(|part| {
        rest.next().is_some_and(|component| is(part, component) || matches(part, &folded(component)))
    })
}

fn contains(components: &[&OsStr], place: &str) -> bool {
    (0..components.len()).any(|start| starts_with(&components[start..], place))
}

/// ASCII case does not count: on a filesystem that folds case, `.ENV` is `.env`.
fn is(name: &str, other: &OsStr) -> bool {
    name.as_bytes().eq_ignore_ascii_case(other.as_encoded_bytes())
}

/// A name as [`matches()`] takes it.
fn folded(name: &OsStr) -> Cow<'_, [u8]> {
    let name = name.as_encoded_bytes();
    if name.iter().any(u8::is_ascii_uppercase) { name.to_ascii_lowercase().into() } else { name.into() }
}

/// Whether a name, in lower case, is what a pattern says: `*` stands for any number of characters.
fn matches(pattern: &str, name: &[u8]) -> bool {
    let pattern = pattern.as_bytes();
    // Most names differ at one end already, and all names of a workspace are asked about.
    let differs = |pattern: Option<&u8>, name: Option<&u8>| pattern != Some(&b'*') && pattern != name;
    if differs(pattern.first(), name.first()) || differs(pattern.last(), name.last()) {
        return false;
    }
    let mut pieces = pattern.split(|byte| *byte == b'*');
    let (Some(head), last) = (pieces.next(), pieces.next_back()) else { return false };
    let Some(last) = last else { return head == name };
    let Some(mut rest) = name.strip_prefix(head) else { return false };
    // Each middle piece at its first place leaves the most for what follows.
    for piece in pieces.filter(|piece| !piece.is_empty()) {
        let Some(at) = rest.windows(piece.len()).position(|window| window == piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests;
