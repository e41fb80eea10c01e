//! What was asked for and what the kernel really enforces, layer by layer.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::plan::{Identity, Limits};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub layers: Vec<Layer>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    pub name: LayerName,
    pub enforced: bool,
    pub detail: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayerName {
    Namespaces,
    Files,
    Network,
    Capabilities,
    Landlock,
    Seccomp,
    Keyring,
    Limits,
    LateSecrets,
}

impl Report {
    pub fn enforced(&mut self, name: LayerName, detail: impl Into<String>) {
        self.layers.push(Layer { name, enforced: true, detail: detail.into() });
    }

    /// Says which limits hold for the sandbox as a whole, and which only for each of its processes. `held` are those
    /// that a control group holds.
    pub fn limits(&mut self, limits: &Limits, identity: Identity, held: &[&str]) {
        let mut weaker = Vec::new();
        if limits.memory.is_some() && !held.contains(&"memory") {
            weaker.push("memory: for each process only, because no control group with it is handed to you");
        }
        if limits.processes.is_some() && !held.contains(&"processes") && identity.user == 0 {
            weaker.push(
                "processes: root has no limit of its own; the numbers of the sandbox's processes are limited",
            );
        }
        if weaker.is_empty() {
            let detail = match held {
                [] => "for each process".to_owned(),
                held => format!("for the whole sandbox: {}", held.join(", ")),
            };
            self.enforced(LayerName::Limits, detail);
        } else {
            self.missing(LayerName::Limits, weaker.join("; "));
        }
    }

    /// The layers without which it is less than a sandbox.
    pub fn lacking(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter().filter(|layer| !layer.enforced && !layer.name.is_optional())
    }

    pub fn missing(&mut self, name: LayerName, detail: impl Into<String>) {
        self.layers.push(Layer { name, enforced: false, detail: detail.into() });
    }
}

impl LayerName {
    /// Whether a sandbox is a sandbox without it: control groups are not everybody's to use, and the limits of
    /// single processes hold all the same; secrets that were there before are hidden without a watch.
    pub fn is_optional(self) -> bool {
        matches!(self, Self::Limits | Self::LateSecrets)
    }
}

impl fmt::Display for LayerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Namespaces => "namespaces",
            Self::Files => "files",
            Self::Network => "network",
            Self::Capabilities => "capabilities",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Keyring => "keyring",
            Self::Limits => "limits",
            Self::LateSecrets => "late-secrets",
        })
    }
}
