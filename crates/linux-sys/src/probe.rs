//! System calls that an attack makes and honest code never does, for the probe that tries a sandbox from
//! inside. None of them can hurt the process that makes it: pointers are null, or to memory of our own.

mod calls;
mod foreign_entry;
mod ipc;

use std::io;

pub use calls::{Group, KERNEL_CALLS, KernelCall, PROCESS_CALLS, ProcessCall};
pub use foreign_entry::{old_entry, x32_entry};
pub use ipc::{MessageQueue, SharedMemory, keyring_round_trip};

/// Takes hold of another process as a debugger and lets go of it at once.
pub fn ptrace_seize(pid: i32) -> io::Result<()> {
    let nothing = std::ptr::null_mut::<libc::c_void>();
    #[expect(unsafe_code, reason = "there is no safe ptrace")]
    // SAFETY: PTRACE_SEIZE reads no memory of ours when its two pointers are null.
    let seized = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, nothing, nothing) };
    // The kernel lets go when this process ends; detaching needs a stopped tracee.
    done(seized)
}

/// Reads memory of another process; gives the number of bytes that were read.
pub fn process_vm_read(pid: i32, address: usize, buffer: &mut [u8]) -> io::Result<usize> {
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(address), iov_len: buffer.len() };
    #[expect(unsafe_code, reason = "there is no safe process_vm_readv")]
    // SAFETY: `local` describes `buffer`, which is borrowed exclusively until the call is over; `remote` is an
    // address in the other process, checked by the kernel.
    let read = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// Writes one byte of another process's memory back to where it is.
pub fn process_vm_write(pid: i32, address: usize, buffer: &[u8]) -> io::Result<usize> {
    let local = libc::iovec { iov_base: buffer.as_ptr().cast_mut().cast(), iov_len: buffer.len() };
    let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(address), iov_len: buffer.len() };
    #[expect(unsafe_code, reason = "there is no safe process_vm_writev")]
    // SAFETY: `local` describes `buffer`, which is only read; `remote` is an address in the other process, checked
    // by the kernel.
    let written = unsafe { libc::process_vm_writev(pid, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(written).map_err(|_| io::Error::last_os_error())
}

/// Makes a terminal request with a null argument; the whole 64 bits of the number reach the kernel.
pub fn terminal_request(descriptor: std::os::fd::BorrowedFd<'_>, request: u64) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    #[expect(unsafe_code, reason = "there is no safe ioctl of any number")]
    // SAFETY: the argument is null, so nothing of ours is read or written; what the request does, it does to the
    // terminal behind the descriptor.
    done(unsafe { libc::syscall(libc::SYS_ioctl, descriptor.as_raw_fd(), request, 0usize) })
}

/// Moves this thread into a user namespace of its own.
pub fn unshare_user() -> io::Result<()> {
    #[expect(unsafe_code, reason = "there is no safe unshare")]
    // SAFETY: CLONE_NEWUSER alone unshares neither memory nor descriptors.
    let unshared = unsafe { libc::unshare(libc::CLONE_NEWUSER) };
    done(unshared.into())
}

/// Connects to a port of the hypervisor or of another virtual machine.
pub fn connect_vsock(context: u32, port: u32) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let socket = vsock()?;
    let address = libc::sockaddr_vm {
        svm_family: libc::AF_VSOCK as libc::sa_family_t,
        svm_reserved1: 0,
        svm_port: port,
        svm_cid: context,
        svm_zero: [0; 4],
    };
    let length = size_of_val(&address) as libc::socklen_t;
    #[expect(unsafe_code, reason = "there is no safe vsock address")]
    // SAFETY: `address` is a whole sockaddr_vm and `length` is its size; both outlive the call.
    let connected = unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length) };
    done(connected.into())
}

fn vsock() -> io::Result<std::os::fd::OwnedFd> {
    use std::os::fd::FromRawFd;
    #[expect(unsafe_code, reason = "there is no safe vsock socket")]
    // SAFETY: the call takes no pointers.
    let socket = unsafe { libc::socket(libc::AF_VSOCK, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    done(socket.into())?;
    #[expect(unsafe_code, reason = "a raw descriptor becomes an owned one")]
    // SAFETY: the descriptor was made just now, is valid, and nobody else has it.
    Ok(unsafe { std::os::fd::OwnedFd::from_raw_fd(socket) })
}

fn done(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
