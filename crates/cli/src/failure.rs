//! What a person reads when something went wrong: one sentence, and a hint on what to do.

use crate::exit::Exit;

/// A failure that ends the program.
#[derive(Debug)]
pub struct Failure {
    sentence: String,
    hints: Vec<String>,
    exit: Exit,
}

impl Failure {
    pub fn new(exit: Exit, sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), hints: Vec::new(), exit }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Where something outside that failed means that a command was not started.
    #[must_use]
    pub fn of_a_start(mut self) -> Self {
        if self.exit == Exit::Unavailable {
            self.exit = Exit::NotStarted;
        }
        self
    }

    /// The status that the program would end with.
    pub fn status(&self) -> u8 {
        self.exit.status()
    }

    pub fn sentence(&self) -> &str {
        &self.sentence
    }

    /// All hints as one text, if there is one.
    pub fn hints(&self) -> Option<String> {
        (!self.hints.is_empty()).then(|| self.hints.join("; "))
    }

    /// Writes the failure to standard error and gives the status to end with. A closed standard error is
    /// no reason to end differently, so that error is dropped.
    pub fn report(&self) -> Exit {
        use std::io::Write;
        let _ = std::io::stderr().lock().write_all(self.text().as_bytes());
        self.exit
    }

    /// What is written of it.
    pub fn text(&self) -> String {
        let hints = self.hints.iter().map(|hint| format!("hint: {hint}\n"));
        hints.fold(format!("cofferdam: {}\n", self.sentence), |text, hint| text + &hint)
    }
}
