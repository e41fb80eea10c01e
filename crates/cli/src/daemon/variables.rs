//! Values of the person's environment on their way to the daemon: only those that a source of the configuration
//! reads, only over a channel, and in memory that is wiped.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;

use cofferdam_control::channel;
use cofferdam_policy::document::Config;
use cofferdam_policy::provider::SecretSource;
use cofferdam_policy::registry::Registry;
use cofferdam_secrets::source::HostVariables;
use zeroize::Zeroizing;

/// `NAME=VALUE`, each with a zero byte at its end. No `Debug`: it holds credentials.
pub struct Variables(Zeroizing<Vec<u8>>);

impl Variables {
    /// Of the environment of this process: what providers read by themselves, and what sources name.
    pub fn needed_by(config: &Config, registry: &Registry) -> Self {
        let mut names: BTreeSet<&str> = config.secrets.variables().chain(cofferdam_secrets::BESIDE).collect();
        for provider in registry.iter() {
            names.extend(provider.variables.iter().map(|name| &**name));
            match &provider.secret {
                Some(SecretSource::Env { name }) => drop(names.insert(name)),
                Some(SecretSource::Keyring { .. }) => names.extend(cofferdam_secrets::DESKTOP),
                _ => {}
            }
        }
        let mut bytes = Zeroizing::new(Vec::new());
        for name in names {
            let Some(value) = std::env::var_os(name) else { continue };
            let value = Zeroizing::new(value.into_vec());
            // Grown by hand, so that no copy of what is in it is left behind unwiped.
            let mut longer = Zeroizing::new(Vec::with_capacity(bytes.len() + name.len() + value.len() + 2));
            for part in [&bytes, name.as_bytes(), b"=", &value, b"\0"] {
                longer.extend_from_slice(part);
            }
            bytes = longer;
        }
        Self(bytes)
    }

    pub fn to_file(&self) -> io::Result<OwnedFd> {
        channel::memory_file(&self.0)
    }

    pub fn from_file(file: OwnedFd) -> io::Result<Self> {
        Ok(Self(Zeroizing::new(channel::read_memory_file(file)?)))
    }

    /// As what sources are read from.
    pub fn to_host(&self) -> HostVariables {
        HostVariables::given(self.0.split(|byte| *byte == 0).filter_map(|entry| {
            let end = entry.iter().position(|byte| *byte == b'=')?;
            let name = std::str::from_utf8(&entry[..end]).ok()?.to_owned();
            Some((name, Zeroizing::new(entry[end + 1..].to_vec())))
        }))
    }
}
