//! The same as `hardening`, for what comes before it.

use super::Errno;
use super::call::{Plain, call, number, plain};

const PR_SET_DUMPABLE: usize = 4;
const RLIMIT_CORE: usize = 4;
/// As in `hardening`: for one byte the kernel neither writes a file nor starts a program.
const NO_CORE: u64 = 1;

/// From here on no other process of the user can look into this one, and it leaves no core dump.
#[expect(unsafe_code, reason = "the kernel reads and fills numbers of ours")]
pub fn close_to_others() -> Result<(), Errno> {
    plain(Plain::Prctl, [PR_SET_DUMPABLE, 0, 0, 0, 0])?;
    let mut most = [0_u64; 2];
    // SAFETY: the call fills two 64-bit numbers, which are ours; a null asks for no change.
    unsafe { call(number::PRLIMIT64, [0, RLIMIT_CORE, 0, most.as_mut_ptr() as usize, 0, 0]) }?;
    // A limit that is lower already cannot be raised.
    let limit = [most[1].min(NO_CORE); 2];
    // SAFETY: the call reads two 64-bit numbers, which are ours; a null asks for nothing back.
    unsafe { call(number::PRLIMIT64, [0, RLIMIT_CORE, limit.as_ptr() as usize, 0, 0, 0]) }.map(drop)
}
