//! `[sandbox]`: what a child sees and how much it may use.

use std::time::Duration;

use super::path_text;
use super::reader::{Section, Wrong};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sandbox {
    pub profile: Profile,
    pub isolation: Isolation,
    /// Hidden besides the built-in list; see [`super::locate`].
    pub hide: Vec<String>,
    /// Variables that are passed on, checked before every other rule.
    pub pass: Vec<String>,
    pub limits: SandboxLimits,
}

/// How much of the file system a child sees, the narrowest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Profile {
    Strict,
    #[default]
    Workspace,
    Home,
}

/// What happens when a layer is missing on this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Isolation {
    #[default]
    Required,
    BestEffort,
}

/// Limits of one sandbox; `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SandboxLimits {
    pub memory: Option<u64>,
    pub processes: Option<u32>,
    /// Processor time.
    pub cpu: Option<Duration>,
    pub file_size: Option<u64>,
    /// Time on the wall clock.
    pub wall: Option<Duration>,
}

pub(super) const PROFILES: [(&str, Profile); 3] =
    [("strict", Profile::Strict), ("workspace", Profile::Workspace), ("home", Profile::Home)];

pub(super) fn read(section: &Section<'_>) -> Sandbox {
    section.allow_keys(&["profile", "isolation", "hide", "env", "limits"]);
    let isolation = [("required", Isolation::Required), ("best-effort", Isolation::BestEffort)];
    Sandbox {
        profile: section.choice("profile", &PROFILES).unwrap_or_default(),
        isolation: section.choice("isolation", &isolation).unwrap_or_default(),
        hide: path_text(section, "hide"),
        pass: section.section("env").map(|section| read_env(&section)).unwrap_or_default(),
        limits: section.section("limits").map(|section| read_limits(&section)).unwrap_or_default(),
    }
}

pub(super) fn read_limits(section: &Section<'_>) -> SandboxLimits {
    section.allow_keys(&["memory", "processes", "cpu", "file_size", "wall"]);
    SandboxLimits {
        memory: section.size("memory"),
        processes: section.count("processes"),
        cpu: section.duration("cpu"),
        file_size: section.size("file_size"),
        wall: section.duration("wall"),
    }
}

fn read_env(section: &Section<'_>) -> Vec<String> {
    section.allow_keys(&["pass"]);
    section.list("pass", |text| {
        variable(text).map_err(|(what, _)| (what, Some("name each variable; there are no patterns".into())))
    })
}

/// The name of a variable, as a shell could set it.
pub(super) fn variable(text: &str) -> Result<String, Wrong> {
    let mut bytes = text.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if first && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && text.len() <= 128 {
        Ok(text.to_owned())
    } else {
        Err(("is not the name of a variable".into(), None))
    }
}
