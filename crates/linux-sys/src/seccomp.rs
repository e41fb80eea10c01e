//! Installing a [seccomp] filter on this process.
//!
//! [seccomp]: https://man7.org/linux/man-pages/man2/seccomp.2.html
#![expect(unsafe_code, reason = "seccomp(2) takes a pointer to the program")]

use std::io;

/// One instruction of classic BPF, laid out as the kernel reads it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    pub code: u16,
    pub if_true: u8,
    pub if_false: u8,
    pub value: u32,
}

#[repr(C)]
struct Program {
    length: u16,
    instructions: *const Instruction,
}

/// Puts this thread, and every process it starts, under the filter for good. `no_new_privs` must be set.
pub fn install(filter: &[Instruction]) -> io::Result<()> {
    let length =
        u16::try_from(filter.len()).map_err(|_| io::Error::other("the filter has too many instructions"))?;
    let program = Program { length, instructions: filter.as_ptr() };
    // SAFETY: `program` points to `length` instructions that live until the call returns; the kernel copies them.
    let result =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
