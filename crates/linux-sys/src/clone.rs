//! A child in namespaces of its own, by [`clone3`].
//!
//! [`clone3`]: https://man7.org/linux/man-pages/man2/clone3.2.html
#![expect(unsafe_code, reason = "clone3 has no safe wrapper: it returns twice")]

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use crate::threads;

/// The kinds of namespace a child can have of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Namespaces(u64);

impl Namespaces {
    pub const USER: Self = Self(libc::CLONE_NEWUSER as u64);
    pub const PID: Self = Self(libc::CLONE_NEWPID as u64);
    pub const MOUNT: Self = Self(libc::CLONE_NEWNS as u64);
    pub const NETWORK: Self = Self(libc::CLONE_NEWNET as u64);
    pub const IPC: Self = Self(libc::CLONE_NEWIPC as u64);
    pub const UTS: Self = Self(libc::CLONE_NEWUTS as u64);
    pub const CGROUP: Self = Self(libc::CLONE_NEWCGROUP as u64);

    /// What the first process of a sandbox begins in.
    pub const OF_A_SANDBOX: Self = Self(crate::bare::NAMESPACES);

    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Which of the two processes this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forked {
    Parent { child: i32 },
    Child,
}

/// Starts a copy of this process in the same namespaces. Refused in a process with threads, as [`clone`] is.
pub fn fork() -> io::Result<Forked> {
    threads::require_single()?;
    // SAFETY: there is a single thread, so the child's copy of every lock is free.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        child => Ok(Forked::Parent { child }),
    }
}

/// Starts a process that is nobody's child, in a session of its own, and lets it do `work`, which is to end in a
/// program; if it comes back, the process ends.
pub fn start_detached(work: impl FnOnce()) -> io::Result<()> {
    match fork()? {
        Forked::Child => {
            let left = rustix::process::setsid().map_err(io::Error::from).and_then(|_| fork());
            if matches!(left, Ok(Forked::Child)) {
                work();
            }
            std::process::exit(i32::from(!matches!(left, Ok(Forked::Parent { .. }))))
        }
        Forked::Parent { child } => {
            rustix::process::waitpid(
                rustix::process::Pid::from_raw(child),
                rustix::process::WaitOptions::empty(),
            )?;
            Ok(())
        }
    }
}

/// Starts a process that dies with this one, however that ends, and lets it do `work`, which is to end in a program;
/// if it comes back, the process ends. The parent gets its number and a descriptor of it.
pub fn start_bound(work: impl FnOnce()) -> io::Result<(i32, OwnedFd)> {
    let parent = rustix::process::getpid();
    match fork()? {
        Forked::Child => {
            let bound = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
            // The parent may have died before the line above; then nobody would send the signal.
            if bound.is_ok() && rustix::process::getppid() == Some(parent) {
                work();
            }
            std::process::exit(127)
        }
        Forked::Parent { child } => {
            let pid = rustix::process::Pid::from_raw(child);
            let pid = pid.ok_or_else(|| io::Error::other("a process without a number"))?;
            // Nobody has waited for it yet, so its number is still its own.
            let process = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())?;
            Ok((child, process))
        }
    }
}

/// Room for the steps between the start of a process and its program.
const STACK: usize = 256 << 10;

/// Starts a process that shares the memory of this one, by the old call: the filter of a sandbox does not know
/// clone3. It does `start`, which is to end in a program; this process stands still until it has, or has ended.
/// No memory is copied, so it takes the same time whatever this process holds.
///
/// Refused in a process with threads, as [`clone`] is.
pub fn start_sharing(start: &mut dyn FnMut()) -> io::Result<i32> {
    extern "C" fn enter(start: *mut libc::c_void) -> libc::c_int {
        // SAFETY: this is the pointer given below; what it points to lives until the call there returns, and is
        // not touched by the other process meanwhile.
        let start = unsafe { &mut *start.cast::<&mut dyn FnMut()>() };
        start();
        127
    }
    threads::require_single()?;
    // Not filled with zeros: that would write to all of it, and little of it is used.
    let mut stack = Vec::<u128>::with_capacity(STACK / size_of::<u128>());
    let mut start = start;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let top = stack.spare_capacity_mut().as_mut_ptr_range().end;
    // SAFETY: the stack grows downwards from the end of `stack`, which is aligned and lives until the call returns;
    // with CLONE_VFORK that is when the child has left this memory. There is a single thread, so the child is
    // the only one that runs here until then. Returning from `enter` ends the child and runs nothing else.
    let child = unsafe { libc::clone(enter, top.cast(), flags, (&raw mut start).cast()) };
    if child == -1 { Err(io::Error::last_os_error()) } else { Ok(child) }
}

/// Which of the two processes this is.
#[derive(Debug)]
pub enum Cloned {
    Parent { child: OwnedFd, pid: i32 },
    Child,
}

/// Starts a copy of this process in the namespaces it is in, by the oldest call there is: whoever refuses namespaces
/// often refuses clone3 as well.
pub fn copy() -> io::Result<Cloned> {
    match fork()? {
        Forked::Child => Ok(Cloned::Child),
        Forked::Parent { child: pid } => {
            let number =
                rustix::process::Pid::from_raw(pid).ok_or_else(|| io::Error::other("no such number"))?;
            // It has not been waited for, so the number is still its own.
            let child = rustix::process::pidfd_open(number, rustix::process::PidfdFlags::empty())?;
            Ok(Cloned::Parent { child, pid })
        }
    }
}

/// Starts a copy of this process in new namespaces; the parent gets a descriptor of the child, which no
/// reused number can confuse.
///
/// Refused in a process with threads: their locks would be copied in whatever state they are in, and the
/// child could wait for one for ever.
pub fn clone(namespaces: Namespaces) -> io::Result<Cloned> {
    threads::require_single()?;
    let mut pidfd: libc::c_int = -1;
    let mut arguments = libc::clone_args {
        flags: namespaces.0 | libc::CLONE_PIDFD as u64,
        pidfd: (&raw mut pidfd) as u64,
        child_tid: 0,
        parent_tid: 0,
        exit_signal: libc::SIGCHLD as u64,
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: 0,
    };
    // SAFETY: `arguments` is a live `clone_args` of the size given, without CLONE_VM and with no stack of its
    // own, so the child goes on with a copy of this one; there is a single thread, so nothing is copied half-done.
    let result =
        unsafe { libc::syscall(libc::SYS_clone3, &raw mut arguments, size_of::<libc::clone_args>()) };
    match result {
        0 => Ok(Cloned::Child),
        pid if pid > 0 => {
            // SAFETY: the kernel has just stored a new descriptor there (CLONE_PIDFD), which nobody else owns.
            let child = unsafe { OwnedFd::from_raw_fd(pidfd) };
            Ok(Cloned::Parent { child, pid: i32::try_from(pid).map_err(io::Error::other)? })
        }
        _ => Err(io::Error::last_os_error()),
    }
}
