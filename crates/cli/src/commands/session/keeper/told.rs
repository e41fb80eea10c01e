//! What there is to say about a session, until there is somebody to say it to: whoever's command ends next.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::EventfdFlags;

use crate::outlet::line::Teller;

/// Lines that wait; more are not worth reading.
const MOST: usize = 50;

#[derive(Debug, Clone)]
pub struct Told(Arc<Lines>);

#[derive(Debug)]
struct Lines {
    waiting: Mutex<Vec<String>>,
    /// Can be read while there are some.
    raised: OwnedFd,
}

impl Told {
    pub fn new() -> io::Result<Self> {
        let raised = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(Lines { waiting: Mutex::default(), raised })))
    }

    pub fn teller(&self) -> Teller {
        let told = self.clone();
        Arc::new(move |line| told.add(line))
    }

    pub fn add(&self, line: String) {
        let mut lines = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() < MOST {
            lines.push(line);
            // Whatever it is at already, it can be read.
            let _ = rustix::io::write(&self.0.raised, &1_u64.to_ne_bytes());
        }
    }

    pub fn take(&self) -> Vec<String> {
        let mut lines = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if !lines.is_empty() {
            let _ = rustix::io::read(&self.0.raised, &mut [0; 8]);
        }
        std::mem::take(&mut *lines)
    }
}

impl AsFd for Told {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.raised.as_fd()
    }
}
