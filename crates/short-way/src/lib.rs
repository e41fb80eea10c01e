//! `session exec NAME -- CMD` and `session exec NAME -c TEXT` by the short way: before the C library begins.
//!
//! A C library asks the processor some seventy questions about itself before it calls `main`, and every one of them is
//! answered slowly in a virtual machine: to begin takes as long as to run a small command. So the most frequent call of
//! all is looked at first. The arguments go to the session's keeper as the kernel has laid them; the keeper asks the
//! gate, in a process that is warm, and starts the command. Here is only the waiting.
//!
//! Whatever is not as simple as that (an option, a place that cannot be told at once, a question for a person, a
//! session that is not there) is left to the long way, which begins as if nothing had happened: nothing has been
//! started then, and nothing written down.
//!
//! Linked into the program by `crates/cli/build.rs`; as an ordinary crate this is linted and tested.

#![no_std]
#[cfg(test)]
extern crate std;

mod call;
mod conversation;

use cofferdam_linux_sys::bare::{Laid, close_to_others, is_open};

use call::Call;

/// The status to end with; nothing for the long way.
pub fn asked(laid: Laid<'_>) -> Option<u8> {
    let call = Call::read(laid)?;
    // What is opened below would take the number of a stream that is closed, and be handed over as one.
    if ![0, 1, 2].into_iter().all(is_open) {
        return None;
    }
    // Before anything is sent: the same as the long way does first.
    close_to_others().ok()?;
    conversation::hold(laid, &call)
}
