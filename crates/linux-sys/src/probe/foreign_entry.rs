//! The other doors into the same kernel: the one of 32-bit programs and the numbers of x32. A filter that looks at
//! numbers alone takes a call through them for another one.

use std::io;

/// Asks for the own process number through the entry of 32-bit programs. The kernel may end the process for it.
#[cfg(target_arch = "x86_64")]
pub fn old_entry() -> io::Result<i64> {
    const GETPID: i64 = 20;
    let mut result = GETPID;
    #[expect(unsafe_code, reason = "there is no other way to this entry")]
    // SAFETY: getpid takes no arguments and touches no memory; the entry keeps every register but rax and, on some
    // kernels, r8 to r11, which are given up here.
    unsafe {
        std::arch::asm!(
            "int 0x80",
            inlateout("rax") result,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
            options(nostack),
        );
    }
    if result < 0 { Err(io::Error::from_raw_os_error(-result as i32)) } else { Ok(result) }
}

/// Asks for the own process number with the bit that marks the calls of x32.
#[cfg(target_arch = "x86_64")]
pub fn x32_entry() -> io::Result<i64> {
    const X32: libc::c_long = 0x4000_0000;
    #[expect(unsafe_code, reason = "there is no wrapper for these numbers")]
    // SAFETY: getpid takes no arguments and touches no memory.
    let result = unsafe { libc::syscall(X32 | libc::SYS_getpid) };
    super::done(result).map(|()| result)
}

#[cfg(not(target_arch = "x86_64"))]
pub fn old_entry() -> io::Result<i64> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(not(target_arch = "x86_64"))]
pub fn x32_entry() -> io::Result<i64> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
