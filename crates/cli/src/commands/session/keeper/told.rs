//! What there is to say about a session, until there is somebody to say it to: whoever's command ends next.

use std::sync::{Arc, Mutex, PoisonError};

use crate::outlet::line::Teller;

/// Lines that wait; more are not worth reading.
const MOST: usize = 50;

#[derive(Debug, Default, Clone)]
pub struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    pub fn teller(&self) -> Teller {
        let told = self.clone();
        Arc::new(move |line| told.add(line))
    }

    pub fn add(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() < MOST {
            lines.push(line);
        }
    }

    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
