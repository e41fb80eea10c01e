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
//! `run` begins here as well, in two processes: the first one of the sandbox starts beside the launcher instead of after
//! it, so that nobody waits for the C library twice. Which of them it is each finds out in `main`.
//!
//! Linked into the program by `crates/cli/build.rs`; as an ordinary crate this is linted and tested.

#![no_std]
#[cfg(test)]
extern crate std;

mod call;
mod conversation;

use cofferdam_linux_sys::bare::{Asked, Laid, close_to_others, is_open};

use call::Call;

/// What is to be done before the C library begins, and is done if it is a call for a session.
pub fn asked(laid: Laid<'_>) -> Asked {
    // What is opened here would take the number of a stream that is closed, and be handed over as one.
    let streams = || [0, 1, 2].into_iter().all(is_open);
    match laid.argument(1) {
        // As the long way decides: before more than this word is looked at, whatever stands behind it.
        Some(b"run") if streams() => Asked::Sandbox,
        Some(b"session") if streams() => session(laid).map_or(Asked::LongWay, Asked::Done),
        _ => Asked::LongWay,
    }
}

/// The status to end with; nothing for the long way.
fn session(laid: Laid<'_>) -> Option<u8> {
    let call = Call::read(laid)?;
    // Before anything is sent: the same as the long way does first.
    close_to_others().ok()?;
    conversation::hold(laid, &call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_is_begun_for_run_and_for_nothing_else() {
        let asked = |arguments, bytes| asked(Laid { arguments, bytes });
        assert_eq!(asked(2, b"c\0run\0"), Asked::Sandbox);
        assert_eq!(asked(4, b"c\0run\0--\0true\0HOME=/h\0"), Asked::Sandbox);
        for (arguments, long_way) in [
            (0, &b""[..]),
            (1, b"c\0"),
            // A variable is no argument.
            (1, b"c\0run\0"),
            (2, b"c\0runs\0"),
            (2, b"c\0doctor\0"),
            (3, b"c\0--verbose\0run\0"),
            (3, b"c\0session\0run\0"),
        ] {
            assert_eq!(asked(arguments, long_way), Asked::LongWay, "{long_way:?}");
        }
    }
}
