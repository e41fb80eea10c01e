//! A network namespace, made beside everything else.
//!
//! It takes the kernel as long to make one as to make all other namespaces of a sandbox and most of its mounts. So a
//! second process makes it, which shares the memory and the descriptors of this one, and is gone when this one
//! moves in.
#![expect(unsafe_code, reason = "clone, setns and one ioctl have no safe wrapper")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};
use rustix::process::{Pid, WaitOptions};
use rustix::thread::UnshareFlags;

use crate::{netlink, threads};

/// Asks a socket for the namespace it is in.
const SIOCGSKNS: libc::Ioctl = 0x894c;
const STACK: usize = 64 << 10;

/// A namespace that is being made.
#[derive(Debug)]
pub struct Making {
    maker: Pid,
    /// A socket in the namespace, or the negated number of an error.
    socket: Box<AtomicI32>,
    /// The maker runs on it until it is waited for.
    _stack: Vec<u128>,
}

/// Begins to make a namespace with a loopback interface that is up. Needs rights over the user namespace.
pub fn begin() -> io::Result<Making> {
    threads::require_single()?;
    let socket = Box::new(AtomicI32::new(-libc::EIO));
    let mut stack = vec![0u128; STACK / size_of::<u128>()];
    let flags = libc::CLONE_VM | libc::CLONE_FILES | libc::SIGCHLD;
    let top = stack.as_mut_ptr_range().end;
    // SAFETY: the stack and the number live in the value that is returned, which waits for the maker before they go.
    // The maker runs beside this process in the same memory, and touches none of it but these two: it makes system
    // calls directly, allocates nothing, and uses no variable of the thread.
    let maker = unsafe { libc::clone(make, top.cast(), flags, (&raw const *socket).cast_mut().cast()) };
    match Pid::from_raw(maker).filter(|_| maker > 0) {
        Some(maker) => Ok(Making { maker, socket, _stack: stack }),
        None => Err(io::Error::last_os_error()),
    }
}

extern "C" fn make(socket: *mut libc::c_void) -> libc::c_int {
    // SAFETY: this is the number given by `begin`, which lives until this process has been waited for.
    let socket = unsafe { &*socket.cast::<AtomicI32>() };
    let made = match namespace() {
        Ok(made) => std::os::fd::IntoRawFd::into_raw_fd(made),
        Err(error) => -error.raw_os_error(),
    };
    socket.store(made, Ordering::Release);
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

impl Making {
    /// Waits until the namespace is made and moves this process into it.
    pub fn enter(self) -> io::Result<()> {
        self.wait();
        let socket = match self.socket.load(Ordering::Acquire) {
            // SAFETY: the maker has made this descriptor in our table and given it up to us.
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

    fn wait(&self) {
        while matches!(
            rustix::process::waitpid(Some(self.maker), WaitOptions::empty()),
            Err(rustix::io::Errno::INTR)
        ) {}
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        // The memory that the maker runs on goes now; who has waited already is told that there is no such child.
        self.wait();
    }
}
