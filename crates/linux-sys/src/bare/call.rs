//! System calls as the kernel takes them: numbers and registers.

use core::arch::asm;

use super::Errno;

/// The calls that are made here, by the numbers of this machine.
#[cfg(target_arch = "x86_64")]
pub mod number {
    pub const READ: usize = 0;
    pub const WRITE: usize = 1;
    pub const CLOSE: usize = 3;
    pub const RT_SIGACTION: usize = 13;
    pub const RT_SIGPROCMASK: usize = 14;
    pub const IOCTL: usize = 16;
    pub const SOCKET: usize = 41;
    pub const CONNECT: usize = 42;
    pub const RECVFROM: usize = 45;
    pub const SENDMSG: usize = 46;
    pub const BIND: usize = 49;
    pub const LISTEN: usize = 50;
    pub const SOCKETPAIR: usize = 53;
    pub const SETSOCKOPT: usize = 54;
    pub const GETSOCKOPT: usize = 55;
    pub const EXECVE: usize = 59;
    pub const FCNTL: usize = 72;
    pub const FCHOWN: usize = 93;
    pub const UMASK: usize = 95;
    pub const SETGROUPS: usize = 116;
    pub const SETRESUID: usize = 117;
    pub const GETRESUID: usize = 118;
    pub const SETRESGID: usize = 119;
    pub const GETRESGID: usize = 120;
    pub const CAPGET: usize = 125;
    pub const CAPSET: usize = 126;
    pub const PRCTL: usize = 157;
    pub const OPENAT: usize = 257;
    pub const PPOLL: usize = 271;
    pub const SIGNALFD4: usize = 289;
    pub const PRLIMIT64: usize = 302;
    pub const STATX: usize = 332;
    pub const CLONE3: usize = 435;
}

#[cfg(target_arch = "aarch64")]
pub mod number {
    pub const FCNTL: usize = 25;
    pub const IOCTL: usize = 29;
    pub const FCHOWN: usize = 55;
    pub const OPENAT: usize = 56;
    pub const CLOSE: usize = 57;
    pub const READ: usize = 63;
    pub const WRITE: usize = 64;
    pub const PPOLL: usize = 73;
    pub const SIGNALFD4: usize = 74;
    pub const CAPGET: usize = 90;
    pub const CAPSET: usize = 91;
    pub const RT_SIGACTION: usize = 134;
    pub const RT_SIGPROCMASK: usize = 135;
    pub const SETRESUID: usize = 147;
    pub const GETRESUID: usize = 148;
    pub const SETRESGID: usize = 149;
    pub const GETRESGID: usize = 150;
    pub const SETGROUPS: usize = 159;
    pub const UMASK: usize = 166;
    pub const PRCTL: usize = 167;
    pub const SOCKET: usize = 198;
    pub const SOCKETPAIR: usize = 199;
    pub const BIND: usize = 200;
    pub const LISTEN: usize = 201;
    pub const CONNECT: usize = 203;
    pub const RECVFROM: usize = 207;
    pub const SETSOCKOPT: usize = 208;
    pub const GETSOCKOPT: usize = 209;
    pub const SENDMSG: usize = 211;
    pub const EXECVE: usize = 221;
    pub const PRLIMIT64: usize = 261;
    pub const STATX: usize = 291;
    pub const CLONE3: usize = 435;
}

/// One call with up to six arguments; those that it does not take are zero.
///
/// # Safety
///
/// Whatever the call with this number asks of its arguments: an address must be of memory that the kernel may
/// read or write in the length that the call implies, for as long as it uses it.
#[expect(unsafe_code, reason = "there is no other way into the kernel without a C library")]
pub unsafe fn call(number: usize, arguments: [usize; 6]) -> Result<usize, Errno> {
    let result: isize;
    // SAFETY: the instruction keeps every register but the ones named, and touches the memory that the caller
    // answers for.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") arguments[0],
            in("rsi") arguments[1],
            in("rdx") arguments[2],
            in("r10") arguments[3],
            in("r8") arguments[4],
            in("r9") arguments[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") arguments[0] as isize => result,
            in("x1") arguments[1],
            in("x2") arguments[2],
            in("x3") arguments[3],
            in("x4") arguments[4],
            in("x5") arguments[5],
            options(nostack),
        );
    }
    if (-4095..0).contains(&result) { Err(Errno(-result as i32)) } else { Ok(result as usize) }
}

/// A call whose arguments are all plain numbers, and which therefore touches no memory of ours.
#[expect(unsafe_code, reason = "the numbers of such calls are fixed below, and they take no address")]
pub fn plain(number: Plain, arguments: [usize; 5]) -> Result<usize, Errno> {
    let [a, b, c, d, e] = arguments;
    // SAFETY: each number that `Plain` can be stands for a call that takes no address; `prctl` and `fcntl`
    // do for some of their requests, and those are not among the ones used (see `identity`, `closed` and `files`).
    unsafe { call(number as usize, [a, b, c, d, e, 0]) }
}

/// Calls that take numbers alone.
#[derive(Clone, Copy)]
#[repr(usize)]
pub enum Plain {
    Close = number::CLOSE,
    Fchown = number::FCHOWN,
    Fcntl = number::FCNTL,
    Listen = number::LISTEN,
    Prctl = number::PRCTL,
    Setresgid = number::SETRESGID,
    Setresuid = number::SETRESUID,
    Socket = number::SOCKET,
    Umask = number::UMASK,
}

#[expect(unsafe_code, reason = "write reads from our memory")]
pub fn write(descriptor: i32, bytes: &[u8]) -> Result<usize, Errno> {
    // SAFETY: the address and the length are those of a slice that is borrowed for the call.
    unsafe { call(number::WRITE, [descriptor as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]) }
}
