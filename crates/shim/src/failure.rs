//! What a person reads when the tool was not started: one sentence, a remedy, and the status.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::ffi::CStr;

use cofferdam_linux_sys::bare::{Errno, write_all};

/// Not executable, or privileges could not be dropped.
const NOT_DROPPED: i32 = 126;
const NOT_FOUND: i32 = 127;

#[derive(Debug)]
pub struct Failure {
    sentence: String,
    remedy: String,
    status: i32,
}

impl Failure {
    pub fn new(sentence: &str, remedy: &str) -> Self {
        Self { sentence: sentence.to_owned(), remedy: remedy.to_owned(), status: NOT_DROPPED }
    }

    /// The kernel did not do what it was asked for.
    pub fn kernel(what: &str, error: Errno) -> Self {
        Self::new(
            &["it could not ", what, ": ", error.words()].concat(),
            "run the container with a kernel and a seccomp profile that allow it",
        )
    }

    pub fn not_started(target: &CStr, error: Errno) -> Self {
        let failure = Self::new(
            &[&target.to_string_lossy(), " could not be started: ", error.words()].concat(),
            "look whether the file is there, may be executed by the user, and has its interpreter in the image",
        );
        let status = if error == Errno::NOT_FOUND { NOT_FOUND } else { NOT_DROPPED };
        Self { status, ..failure }
    }

    pub fn status(&self) -> i32 {
        self.status
    }

    pub fn report(&self) {
        let text = ["cofferdam: ", &self.sentence, "\nhint: ", &self.remedy, "\n"].concat();
        write_all(2, text.as_bytes());
    }
}
