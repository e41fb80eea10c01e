//! What the rules choose from.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// The environment of the launcher. It has no `Debug`: it is full of credentials.
pub struct HostEnvironment {
    variables: BTreeMap<OsString, OsString>,
}

impl HostEnvironment {
    /// Of two entries with one name the first counts, as for `getenv`; the second could otherwise carry past the
    /// rules what a program that reads the list itself would find.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut unique = BTreeMap::new();
        for (name, value) in variables {
            unique.entry(name).or_insert(value);
        }
        Self { variables: unique }
    }

    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.variables.get(name.as_ref()).map(OsString::as_os_str)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &OsStr> {
        self.variables.keys().map(OsString::as_os_str)
    }
}
