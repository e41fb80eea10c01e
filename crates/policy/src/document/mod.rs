//! The configuration document: TOML in, plain values or a list of all mistakes out.
//!
//! The reader is written by hand, because a derived one stops at the first mistake and cannot say what a
//! key was renamed to. Paths stay text here; [`locate`] says where they lead.

mod allow;
mod approval;
mod approvals;
mod egress;
mod project;
mod provider;
mod reader;
mod renamed;
mod sandbox;
mod source;
mod stores;
mod tool;

pub use approval::{Approval, Audit, Mode, OnWriteFailure, Unattended};
pub use approvals::{Allowance, Covers, Prohibited, Prohibition, ScriptDigest, SessionKind, StoredApprovals};
pub use egress::{Egress, EgressLimits, ForeignCredentials, Resolve};
pub use project::Project;
pub use sandbox::{Isolation, Profile, Sandbox, SandboxLimits};
pub use stores::{Bitwarden, Keyring, OnePassword, SecretStores, Vault};

pub use tool::{Runs, Tool, ToolTrust};

use std::path::{Path, PathBuf};

use crate::mistake::Mistake;
use crate::provider::Provider;
use reader::{Section, Source};

/// Everything that a user's configuration says, with the defaults for what it does not say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    pub egress: Egress,
    /// The user's own providers, besides the registry.
    pub providers: Vec<Provider>,
    /// How the stores are reached that providers' secrets are kept in.
    pub secrets: SecretStores,
    pub sandbox: Sandbox,
    pub approval: Approval,
    pub audit: Audit,
    /// Tools that a script may be granted besides the built-in ones.
    pub tools: Vec<Tool>,
}

impl Config {
    /// Reads the user's configuration. `file` is the name to show in mistakes.
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<Mistake>> {
        let source = Source::new(file, text);
        let config = source.document(|root| {
            root.allow_keys(&["egress", "provider", "secrets", "sandbox", "approval", "audit", "tool"]);
            Self {
                egress: root.section("egress").map(|section| egress::read(&section)).unwrap_or_default(),
                providers: provider::read_all(root, provider::Dialect::Configuration),
                secrets: root.section("secrets").map(|section| stores::read(&section)).unwrap_or_default(),
                sandbox: root.section("sandbox").map(|section| sandbox::read(&section)).unwrap_or_default(),
                approval: root
                    .section("approval")
                    .map(|section| approval::read(&section))
                    .unwrap_or_default(),
                audit: root
                    .section("audit")
                    .map(|section| approval::read_audit(&section))
                    .unwrap_or_default(),
                tools: tool::read_all(root),
            }
        });
        source.finish(config)
    }
}

/// Reads a file of the built-in registry.
pub fn parse_registry(file: &str, text: &str) -> Result<Vec<Provider>, Vec<Mistake>> {
    let source = Source::new(file, text);
    let providers = source.document(|root| {
        root.allow_keys(&["provider"]);
        provider::read_all(root, provider::Dialect::Registry)
    });
    source.finish(providers)
}

/// Where a path in a document leads: `~/` is the home, and anything relative lies beside the document.
/// `None` when `~` is meant and there is no home.
pub fn locate(text: &str, directory: &Path, home: Option<&Path>) -> Option<PathBuf> {
    match text.strip_prefix('~') {
        Some("") => home.map(Path::to_owned),
        Some(rest) if rest.starts_with('/') => home.map(|home| home.join(rest.trim_start_matches('/'))),
        _ => Some(directory.join(text)),
    }
}

/// A path as text: not empty, without NUL, and not another user's home, which is nobody's to guess.
fn path_text(section: &Section<'_>, key: &str) -> Vec<String> {
    section.list(key, |text| match text {
        "" => Err(("is empty".into(), None)),
        _ if text.contains('\0') => Err(("has a NUL character".into(), None)),
        _ if text.starts_with('~') && text != "~" && !text.starts_with("~/") => {
            Err(("names another user's home".into(), Some("write the path from / on".into())))
        }
        _ => Ok(text.to_owned()),
    })
}

#[cfg(test)]
mod tests;
