//! What was asked for and what the kernel really enforces, layer by layer.

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
