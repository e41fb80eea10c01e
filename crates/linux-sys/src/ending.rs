//! The end of the program.
#![expect(unsafe_code, reason = "_exit has no safe wrapper")]

use std::io::Write;

/// Ends this process once what was printed is written. What the C library would tidy up goes with the process; to have it
/// done first would only have somebody wait for it.
pub fn at_once(status: u8) -> ! {
    // Whoever could be told that nothing can be written is the one who does not read.
    let _ = std::io::stdout().flush();
    // SAFETY: no handler is run and no memory touched; the kernel ends all threads where they are.
    unsafe { libc::_exit(i32::from(status)) }
}
