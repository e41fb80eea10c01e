//! What the first instructions of the program have begun before the C library, if they are a part of it.
#![expect(
    unsafe_code,
    reason = "descriptors are taken over by their numbers, and a static is known by its name"
)]

use std::os::fd::{FromRawFd, OwnedFd};

use crate::bare::{Found, Left};

/// Written by `freestanding/before.rs`, which knows it by this name.
#[unsafe(no_mangle)]
static cofferdam_left: Left = Left::nothing();

/// A copy of this program in namespaces of its own, seen from either side.
#[derive(Debug)]
pub enum Early {
    Nothing,
    Copied { channel: OwnedFd, process: OwnedFd, pid: i32 },
    Copy { channel: OwnedFd, user: u32, group: u32 },
}

/// What was begun, once.
pub fn take() -> Early {
    // SAFETY: the first instructions have opened what they left and told nobody else; it can be taken once.
    let own = |number| unsafe { OwnedFd::from_raw_fd(number) };
    match cofferdam_left.take() {
        Found::Nothing => Early::Nothing,
        Found::Copied { channel, process, pid } => {
            Early::Copied { channel: own(channel), process: own(process), pid }
        }
        Found::Copy { channel, user, group } => Early::Copy { channel: own(channel), user, group },
    }
}
