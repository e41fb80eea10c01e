//! `.cofferdam.toml`: what a project says about itself.
//!
//! It lies in the workspace, so the agent can write it. It may therefore only narrow what the user's own
//! configuration allows; [`crate::layers`] does that. Here, every key with which a project could widen
//! something is a mistake that names the key.

use super::reader::{Section, Source};
use super::sandbox::{self, Profile, SandboxLimits};
use super::{EgressLimits, allow, egress, path_text};
use crate::mistake::Mistake;
use crate::rules::AllowRule;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Project {
    /// `None`: the project says nothing about hosts. An empty list leaves none.
    pub allow: Option<Vec<AllowRule>>,
    pub egress_limits: EgressLimits,
    pub profile: Option<Profile>,
    pub hide: Vec<String>,
    pub sandbox_limits: SandboxLimits,
}

impl Project {
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<Mistake>> {
        let source = Source::new(file, text);
        let project = source.document(|root| {
            only(root, &["egress", "sandbox"]);
            let mut project = Self::default();
            if let Some(egress) = root.section("egress") {
                only(&egress, &["allow", "limits"]);
                project.allow = egress.has("allow").then(|| allow::read_all(&egress));
                let limits = egress.section("limits");
                project.egress_limits = limits
                    .map(|section| egress::read_limits(&section, EgressLimits::default()))
                    .unwrap_or_default();
            }
            if let Some(sandbox) = root.section("sandbox") {
                only(&sandbox, &["profile", "hide", "limits"]);
                project.profile = sandbox.choice("profile", &sandbox::PROFILES);
                project.hide = path_text(&sandbox, "hide");
                let limits = sandbox.section("limits");
                project.sandbox_limits =
                    limits.map(|section| sandbox::read_limits(&section)).unwrap_or_default();
            }
            project
        });
        source.finish(project)
    }
}

fn only(section: &Section<'_>, keys: &[&str]) {
    for key in section.keys().filter(|key| !keys.contains(key)) {
        let name = section.full(key);
        let sentence = format!("a project may not set {}", crate::mistake::quoted(&name));
        let hint =
            "a project file only narrows; move the key to your own config.toml if you want it".to_owned();
        section.wrong_key(key, sentence, Some(hint));
    }
}
