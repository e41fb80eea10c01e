//! The end of a program that was only there to prepare another one.

use alloc::vec::Vec;
use core::ffi::{CStr, c_char};
use core::ptr;

use super::Errno;
use super::call::{call, number};

/// Becomes another program. Only a failure comes back.
#[expect(unsafe_code, reason = "the kernel reads strings and lists of ours")]
pub fn replace_by(path: &CStr, arguments: &[&CStr], environment: &[&CStr]) -> Errno {
    let list = |words: &[&CStr]| -> Vec<*const c_char> {
        words.iter().map(|word| word.as_ptr()).chain([ptr::null()]).collect()
    };
    let (arguments, environment) = (list(arguments), list(environment));
    // SAFETY: the path and every word are strings that end with a zero byte, both lists end with a null, and all of
    // them are borrowed or owned until the call is back.
    let result = unsafe {
        call(
            number::EXECVE,
            [path.as_ptr() as usize, arguments.as_ptr() as usize, environment.as_ptr() as usize, 0, 0, 0],
        )
    };
    result.err().unwrap_or(Errno(0))
}
