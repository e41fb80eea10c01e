//! The environment that this process was started with.

use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::{fs, ptr};

/// What came of erasing a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erased {
    Erased,
    NotSet,
    /// Another thread may be reading the environment right now, so it was left alone.
    OtherThreads,
}

// SAFETY: the C library defines it with this type.
#[expect(unsafe_code, reason = "the C library's environment is a list of pointers")]
unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// Overwrites a variable's value where the kernel put it, and takes the variable out of the environment:
/// afterwards it is not in `/proc/self/environ` either, for root as little as for anybody else. Copies that
/// were made before are not found. To be called early: it does nothing once there are other threads.
#[expect(unsafe_code, reason = "the C library's environment is a list of pointers")]
pub fn erase(name: &OsStr) -> Erased {
    if !alone() {
        return Erased::OtherThreads;
    }
    let mut erased = Erased::NotSet;
    for entry in entries() {
        // SAFETY: `entry` is one of the entries, each a C string, and no other thread can change one.
        let length = unsafe { CStr::from_ptr(entry) }.count_bytes();
        // SAFETY: the string is `length` bytes long; the slice is gone before anything is written.
        let text = unsafe { std::slice::from_raw_parts(entry.cast::<u8>(), length) };
        let is_wanted = text.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'='));
        if is_wanted {
            wipe(entry, name.len() + 1, length);
            erased = Erased::Erased;
        }
    }
    if erased == Erased::Erased {
        // SAFETY: there is no other thread, so nobody reads the environment meanwhile.
        unsafe { std::env::remove_var(name) };
    }
    erased
}

/// The kernel's own count; if it cannot be had, the answer is no.
fn alone() -> bool {
    fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1)
}

#[expect(unsafe_code, reason = "the C library's environment is a list of pointers")]
fn entries() -> Vec<*mut c_char> {
    let mut found = Vec::new();
    // SAFETY: the C library keeps `environ` null or pointing to a list that ends with a null pointer, and no
    // other thread can change it now.
    let mut at = unsafe { environ };
    while !at.is_null() {
        // SAFETY: `at` is inside the list, at most at its end.
        let entry = unsafe { *at };
        if entry.is_null() {
            break;
        }
        found.push(entry);
        // SAFETY: `at` was not the end of the list, so the next element is part of it.
        at = unsafe { at.add(1) };
    }
    found
}

#[expect(unsafe_code, reason = "the C library's environment is a list of pointers")]
fn wipe(entry: *mut c_char, from: usize, to: usize) {
    for offset in from..to {
        // SAFETY: `offset` is inside the string.
        let byte = unsafe { entry.add(offset) };
        // SAFETY: the strings are in the initial stack of the process or were allocated by the C library, both
        // writable, and nothing refers to them: safe code only ever gets copies.
        unsafe { ptr::write_volatile(byte, 0) };
    }
}
