//! `[approval]` and `[audit]`.

use std::time::Duration;

use super::reader::Section;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    pub mode: Mode,
    /// How long a question waits for its answer.
    pub timeout: Duration,
    pub cron: Unattended,
    pub headless: Unattended,
    /// A program that is told of every question and may answer it; empty: none.
    pub notify: Vec<String>,
    /// An address that is told of every question and may answer it.
    pub webhook: Option<String>,
    /// A program that looks at every question before a person does, in mode `smart`; empty: none.
    pub second_opinion: Vec<String>,
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
            notify: Vec::new(),
            webhook: None,
            second_opinion: Vec::new(),
        }
    }
}

pub(super) fn read(section: &Section<'_>) -> Approval {
    section.allow_keys(&["mode", "timeout", "cron", "headless", "notify", "webhook", "second_opinion"]);
    let modes = [("manual", Mode::Manual), ("smart", Mode::Smart), ("off", Mode::Off)];
    let unattended = [("deny", Unattended::Deny), ("allow", Unattended::Allow)];
    Approval {
        mode: section.choice("mode", &modes).unwrap_or_default(),
        timeout: section.duration("timeout").unwrap_or(Approval::default().timeout),
        cron: section.choice("cron", &unattended).unwrap_or_default(),
        headless: section.choice("headless", &unattended).unwrap_or_default(),
        notify: program(section, "notify"),
        webhook: webhook(section),
        second_opinion: program(section, "second_opinion"),
    }
}

/// Whoever could read a question on the way could read commands; so it goes encrypted, or nowhere but this machine.
fn webhook(section: &Section<'_>) -> Option<String> {
    let address = section.text("webhook")?;
    let local = ["http://127.0.0.1", "http://localhost", "http://[::1]"];
    if address.starts_with("https://") || local.iter().any(|start| address.starts_with(start)) {
        if section.has("notify") {
            section.wrong(
                "webhook",
                "approval.webhook cannot be set beside approval.notify: one of them asks",
                None,
            );
        }
        return Some(address.to_owned());
    }
    section.wrong(
        "webhook",
        "approval.webhook is no address that a question may go to",
        Some("use https://".to_owned()),
    );
    None
}

fn program(section: &Section<'_>, key: &str) -> Vec<String> {
    if section.has(key) {
        section.needs(key, "needs the program, and its arguments if it has any");
    }
    section.list(key, |text| match text {
        _ if text.contains('\0') => Err(("has a NUL character".into(), None)),
        _ => Ok(text.to_owned()),
    })
}

pub(super) fn read_audit(section: &Section<'_>) -> Audit {
    section.allow_keys(&["on_write_failure"]);
    let choices = [("refuse", OnWriteFailure::Refuse), ("continue", OnWriteFailure::Continue)];
    Audit { on_write_failure: section.choice("on_write_failure", &choices).unwrap_or_default() }
}
