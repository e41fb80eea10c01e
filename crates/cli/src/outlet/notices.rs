//! What the person is told about the network, at a moment when it does not spoil anything.

use std::sync::{Arc, Mutex, PoisonError};

use super::line::Teller;

/// When something is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Telling {
    AsTheyHappen,
    /// The command has the terminal; a line in between would spoil its screen.
    AtTheEnd,
}

#[derive(Debug)]
pub struct Notices {
    telling: Telling,
    held_back: Mutex<Vec<String>>,
}

impl Notices {
    pub fn new(telling: Telling) -> Self {
        Self { telling, held_back: Mutex::default() }
    }

    fn tell(&self, line: String) {
        match self.telling {
            Telling::AsTheyHappen => eprintln!("cofferdam: {line}"),
            Telling::AtTheEnd => self.held_back.lock().unwrap_or_else(PoisonError::into_inner).push(line),
        }
    }

    pub fn teller(self: Arc<Self>) -> Teller {
        Arc::new(move |line| self.tell(line))
    }

    /// Tells what was held back while the command had the terminal.
    pub fn tell_rest(&self) {
        let held_back = std::mem::take(&mut *self.held_back.lock().unwrap_or_else(PoisonError::into_inner));
        for line in held_back {
            eprintln!("cofferdam: {line}");
        }
    }
}
