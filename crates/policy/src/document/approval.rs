//! `[approval]` and `[audit]`.

use std::time::Duration;

use super::reader::Section;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Approval {
    pub mode: Mode,
    /// How long a question waits for its answer.
    pub timeout: Duration,
    pub cron: Unattended,
    pub headless: Unattended,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Manual,
    Smart,
    Off,
}

/// What becomes of a question where nobody can be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unattended {
    #[default]
    Deny,
    Allow,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Audit {
    pub on_write_failure: OnWriteFailure,
}

/// What becomes of a decision that cannot be recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnWriteFailure {
    #[default]
    Refuse,
    Continue,
}

impl Default for Approval {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            timeout: Duration::from_secs(300),
            cron: Unattended::default(),
            headless: Unattended::default(),
        }
    }
}

pub(super) fn read(section: &Section<'_>) -> Approval {
    section.allow_keys(&["mode", "timeout", "cron", "headless"]);
    let modes = [("manual", Mode::Manual), ("smart", Mode::Smart), ("off", Mode::Off)];
    let unattended = [("deny", Unattended::Deny), ("allow", Unattended::Allow)];
    Approval {
        mode: section.choice("mode", &modes).unwrap_or_default(),
        timeout: section.duration("timeout").unwrap_or(Approval::default().timeout),
        cron: section.choice("cron", &unattended).unwrap_or_default(),
        headless: section.choice("headless", &unattended).unwrap_or_default(),
    }
}

pub(super) fn read_audit(section: &Section<'_>) -> Audit {
    section.allow_keys(&["on_write_failure"]);
    let choices = [("refuse", OnWriteFailure::Refuse), ("continue", OnWriteFailure::Continue)];
    Audit { on_write_failure: section.choice("on_write_failure", &choices).unwrap_or_default() }
}
