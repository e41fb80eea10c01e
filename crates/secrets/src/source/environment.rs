//! The environment that the launcher was started with.
//!
//! A value is copied out once and kept; the block of the process that the kernel filled at its start still
//! holds it. Nobody else can read that block: the launcher is not dumpable (see `linux_sys::hardening`), and
//! no child inherits it. A rotated value is seen after a restart only, as with any environment.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStringExt;

use zeroize::Zeroizing;

/// Where variables are looked up. No `Debug`: they hold credentials.
pub struct HostVariables {
    variables: Variables,
}

enum Variables {
    OfThisProcess,
    Given(BTreeMap<String, Zeroizing<Vec<u8>>>),
}

impl HostVariables {
    /// That of this process, read variable by variable and never as a whole.
    pub fn of_this_process() -> Self {
        Self { variables: Variables::OfThisProcess }
    }

    /// These variables and no others: for a launcher that was handed an environment, and for tests.
    pub fn given(variables: impl IntoIterator<Item = (String, Zeroizing<Vec<u8>>)>) -> Self {
        Self { variables: Variables::Given(variables.into_iter().collect()) }
    }

    /// The value; one that is set to nothing counts as not set, as it does for the providers' own clients.
    pub(crate) fn read(&self, name: &str) -> Option<Zeroizing<Vec<u8>>> {
        match &self.variables {
            Variables::OfThisProcess => std::env::var_os(name).map(|value| Zeroizing::new(value.into_vec())),
            Variables::Given(variables) => variables.get(name).cloned(),
        }
        .filter(|value| !value.is_empty())
    }

    /// The first of these that is set.
    pub(crate) fn first_set<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        names.into_iter().find(|name| self.read(name).is_some())
    }
}
