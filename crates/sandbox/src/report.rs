//! What was asked for and what the kernel really enforces, layer by layer.

use std::fmt;

use serde::{Deserialize, Serialize};

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
}

impl Report {
    pub fn enforced(&mut self, name: LayerName, detail: impl Into<String>) {
        self.layers.push(Layer { name, enforced: true, detail: detail.into() });
    }

    pub fn missing(&mut self, name: LayerName, detail: impl Into<String>) {
        self.layers.push(Layer { name, enforced: false, detail: detail.into() });
    }
}

impl LayerName {
    /// Whether a sandbox is a sandbox without it: control groups are not everybody's to use, and the limits of
    /// single processes hold all the same.
    pub fn is_optional(self) -> bool {
        self == Self::Limits
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
        })
    }
}
