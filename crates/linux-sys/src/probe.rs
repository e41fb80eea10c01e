//! System calls that an attack makes and honest code never does, for the probe that tries a sandbox from
//! inside. None of them can hurt the process that makes it: pointers are null, or to memory of our own.

use std::io;

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

/// A call that a sandbox has no use for. Made with zeros for arguments, each either fails or does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelCall {
    AddKey,
    Bpf,
    InitModule,
    IoUringSetup,
    Keyctl,
    OpenByHandleAt,
    PerfEventOpen,
    Syslog,
    Userfaultfd,
}

impl KernelCall {
    pub const ALL: [Self; 9] = [
        Self::AddKey,
        Self::Bpf,
        Self::InitModule,
        Self::IoUringSetup,
        Self::Keyctl,
        Self::OpenByHandleAt,
        Self::PerfEventOpen,
        Self::Syslog,
        Self::Userfaultfd,
    ];

    fn number(self) -> libc::c_long {
        match self {
            Self::AddKey => libc::SYS_add_key,
            Self::Bpf => libc::SYS_bpf,
            Self::InitModule => libc::SYS_init_module,
            Self::IoUringSetup => libc::SYS_io_uring_setup,
            Self::Keyctl => libc::SYS_keyctl,
            Self::OpenByHandleAt => libc::SYS_open_by_handle_at,
            Self::PerfEventOpen => libc::SYS_perf_event_open,
            Self::Syslog => libc::SYS_syslog,
            Self::Userfaultfd => libc::SYS_userfaultfd,
        }
    }

    /// Makes the call. `EFAULT` and `EINVAL` mean that it was reached; `EPERM` and `ENOSYS` that it was not.
    pub fn make(self) -> io::Result<()> {
        const ZERO: libc::c_long = 0;
        #[expect(unsafe_code, reason = "calls without a wrapper")]
        // SAFETY: every pointer is null and every length zero, so no memory of ours is read or written, and the
        // list holds no call that changes something when all its arguments are zero.
        let made = unsafe { libc::syscall(self.number(), ZERO, ZERO, ZERO, ZERO, ZERO, ZERO) };
        done(made)
    }
}

fn done(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
