//! What the kernel takes long for, done beside everything else: a network namespace takes as long to make as all other
//! namespaces of a sandbox and most of its mounts, and to let go of the old root means to wait until no processor looks
//! at it any more. So a second process does both, which shares the memory, the descriptors and the root of this one, and
//! is gone before a command starts.
#![expect(unsafe_code, reason = "clone, setns and one ioctl have no safe wrapper")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use rustix::mount::UnmountFlags;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};
use rustix::process::{Pid, WaitOptions};
use rustix::thread::{UnshareFlags, futex};

use crate::signals::Blocked;
use crate::{netlink, threads};

/// Asks a socket for the namespace it is in.
const SIOCGSKNS: libc::Ioctl = 0x894c;
const STACK: usize = 64 << 10;

/// Nothing has been said yet.
const SILENT: u32 = 0;
/// The namespace is made, or could not be.
const MADE: u32 = 1;
/// The old root is to be let go of.
const DETACH: u32 = 1;
/// There is nothing more to do.
const LEAVE: u32 = 2;

/// The process beside this one.
#[derive(Debug)]
pub struct Beside {
    process: Pid,
    said: Box<Said>,
    /// It runs on this until it is waited for.
    _stack: Vec<u128>,
}

/// What the two tell each other.
#[derive(Debug)]
struct Said {
    made: AtomicU32,
    order: AtomicU32,
    /// A socket in the namespace, or the negated number of an error.
    socket: AtomicI32,
    /// The number of the error that keeps the old root, if there is one.
    detached: AtomicI32,
}

/// Begins to make a network namespace with a loopback interface that is up. Needs rights over the user namespace.
pub fn begin() -> io::Result<Beside> {
    threads::require_single()?;
    let said = Box::new(Said {
        made: AtomicU32::new(SILENT),
        order: AtomicU32::new(SILENT),
        socket: AtomicI32::new(-libc::EIO),
        detached: AtomicI32::new(libc::EIO),
    });
    // Not filled with anything: only the pages that the other steps on come to be.
    let mut stack = Vec::<u128>::with_capacity(STACK / size_of::<u128>());
    let flags = libc::CLONE_VM | libc::CLONE_FILES | libc::CLONE_FS | libc::SIGCHLD;
    let top = stack.spare_capacity_mut().as_mut_ptr_range().end;
    // Unlike the first process of a sandbox the other is nothing special to the kernel: a Ctrl-C for the whole group would
    // end it, and whoever waits for its word would wait for ever. What is started with signals blocked keeps them so.
    let signals = Blocked::all()?;
    // SAFETY: the stack and what is said live in the value that is returned, which waits for the other before they go.
    // It runs beside this process in the same memory, and touches none of it but these two: it makes system calls
    // directly, allocates nothing, and uses no variable of the thread.
    let process = unsafe { libc::clone(work, top.cast(), flags, (&raw const *said).cast_mut().cast()) };
    drop(signals);
    match Pid::from_raw(process).filter(|_| process > 0) {
        Some(process) => Ok(Beside { process, said, _stack: stack }),
        None => Err(io::Error::last_os_error()),
    }
}

extern "C" fn work(said: *mut libc::c_void) -> libc::c_int {
    // SAFETY: this is what `begin` has given, which lives until this process has been waited for.
    let said = unsafe { &*said.cast::<Said>() };
    let made = match namespace() {
        Ok(made) => made.into_raw_fd(),
        Err(error) => -error.raw_os_error(),
    };
    said.socket.store(made, Ordering::Release);
    say(&said.made, MADE);
    if hear(&said.order) == DETACH {
        // The old root lies over the new one, which is the root of both processes by now.
        let detached = rustix::mount::unmount(c"/", UnmountFlags::DETACH);
        said.detached.store(detached.map_or_else(rustix::io::Errno::raw_os_error, |()| 0), Ordering::Release);
    }
    0
}

fn namespace() -> rustix::io::Result<OwnedFd> {
    // SAFETY: this process leaves its network and shares nothing of that with another.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }?;
    let socket =
        rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let kernel = SocketAddrNetlink::new(0, 0);
    rustix::net::sendto(&socket, &netlink::loopback_message(), SendFlags::empty(), &kernel)?;
    Ok(socket)
}

fn say(word: &AtomicU32, what: u32) {
    word.store(what, Ordering::Release);
    // Who does not wait yet sees the word when it comes to that.
    let _ = futex::wake(word, futex::Flags::PRIVATE, 1);
}

/// Waits until something has been said.
fn hear(word: &AtomicU32) -> u32 {
    loop {
        match word.load(Ordering::Acquire) {
            // It returns at once if something was said meanwhile, and now and then for no reason.
            SILENT => drop(futex::wait(word, futex::Flags::PRIVATE, SILENT, None)),
            what => return what,
        }
    }
}

impl Beside {
    /// Waits until the network namespace is made and moves this process into it.
    pub fn enter_network(&self) -> io::Result<()> {
        hear(&self.said.made);
        let socket = match self.said.socket.swap(-libc::EIO, Ordering::Acquire) {
            // SAFETY: the other has made this descriptor in our table and given it up to us; the swap gives it once.
            made if made >= 0 => unsafe { OwnedFd::from_raw_fd(made) },
            error => return Err(io::Error::from_raw_os_error(-error)),
        };
        netlink::read_answer(socket.as_fd())?;
        // SAFETY: this request takes no argument and gives a new descriptor.
        let namespace = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCGSKNS) };
        if namespace == -1 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor, and nobody else owns it.
        let namespace = unsafe { OwnedFd::from_raw_fd(namespace) };
        // SAFETY: the call takes no pointer.
        match unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Begins to let go of the old root, once it lies over the new one.
    pub fn detach_old_root(&self) {
        say(&self.said.order, DETACH);
    }

    /// Waits until the old root is gone and nobody is beside this process any more.
    pub fn finish(self) -> io::Result<()> {
        self.wait();
        match self.said.detached.load(Ordering::Acquire) {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Waits for the end of the other, which has nothing more to do unless it was asked to detach.
    fn wait(&self) {
        let _ = self.said.order.compare_exchange(SILENT, LEAVE, Ordering::AcqRel, Ordering::Acquire);
        let _ = futex::wake(&self.said.order, futex::Flags::PRIVATE, 1);
        while matches!(
            rustix::process::waitpid(Some(self.process), WaitOptions::empty()),
            Err(rustix::io::Errno::INTR)
        ) {}
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // The memory that the other runs on goes now; who has waited already is told that there is no such child.
        self.wait();
    }
}
