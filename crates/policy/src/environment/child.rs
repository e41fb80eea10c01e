//! The proof that an environment was built by the rules.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// The whole environment of a child. Only [`super`] makes one, and a process cannot be started without one,
/// so nothing is ever inherited by accident.
///
/// It has no `Debug`: with an explicit wish it may hold a credential.
pub struct ChildEnvironment {
    variables: BTreeMap<OsString, OsString>,
}

impl ChildEnvironment {
    /// Nothing at all: what a helper that needs no environment gets.
    pub fn empty() -> Self {
        Self { variables: BTreeMap::new() }
    }

    pub(super) fn of(variables: BTreeMap<OsString, OsString>) -> Self {
        Self { variables }
    }

    /// The same with one more variable. Search for this to find every credential that is handed to a program: those of
    /// password managers, which open their store with it.
    #[must_use]
    pub fn with(&self, name: &str, value: &OsStr) -> Self {
        let mut variables = self.variables.clone();
        variables.insert(name.into(), value.to_owned());
        Self { variables }
    }

    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.variables.get(name.as_ref()).map(OsString::as_os_str)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}
