//! The environment that the launcher was started with.
//!
//! The block of the process that the kernel filled at its start holds the values for as long as the process
//! lives. A short-lived launcher leaves them there: it is not dumpable (see `linux_sys::hardening`), and no
//! child inherits them. A daemon takes them out with [`HostVariables::taken_from_this_process`]. A rotated
//! value is seen after a restart only, as with any environment.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStringExt;

use cofferdam_linux_sys::own_environment::{Erased, erase};
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

    /// Takes these variables out of the environment of this process: they are then nowhere but in the value
    /// that is returned, not even in `/proc/self/environ`. The second value lists those that could only be
    /// copied, because there were other threads already.
    pub fn taken_from_this_process<'a>(names: impl IntoIterator<Item = &'a str>) -> (Self, Vec<&'a str>) {
        let process = Self::of_this_process();
        let mut taken = BTreeMap::new();
        let mut copied = Vec::new();
        for name in names {
            let Some(value) = process.read(name) else { continue };
            taken.insert(name.to_owned(), value);
            if erase(name.as_ref()) == Erased::OtherThreads {
                copied.push(name);
            }
        }
        (Self { variables: Variables::Given(taken) }, copied)
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

    pub fn is_set(&self, name: &str) -> bool {
        self.read(name).is_some()
    }

    /// The first of these that is set.
    pub(crate) fn first_set<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        names.into_iter().find(|name| self.is_set(name))
    }
}
