//! Why a task ended early.

use std::fmt::Display;
use std::path::Path;

/// One sentence, what was found in detail, and what to do about it.
#[derive(Debug)]
pub struct Failure {
    sentence: String,
    findings: Vec<String>,
    hint: Option<String>,
}

pub type Done = Result<(), Failure>;

impl Failure {
    pub fn new(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), findings: Vec::new(), hint: None }
    }

    /// What went wrong with a file.
    pub fn at(path: &Path, error: impl Display) -> Self {
        Self::new(format!("{}: {error}", path.display()))
    }

    #[must_use]
    pub fn findings(mut self, findings: Vec<String>) -> Self {
        self.findings = findings;
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn report(&self) {
        for finding in &self.findings {
            eprintln!("  {finding}");
        }
        eprintln!("xtask: {}", self.sentence);
        if let Some(hint) = &self.hint {
            eprintln!("hint: {hint}");
        }
    }
}

/// Ends a check: all findings at once, or none.
pub fn none_of(findings: Vec<String>, sentence: &str) -> Done {
    if findings.is_empty() { Ok(()) } else { Err(Failure::new(sentence).findings(findings)) }
}
