//! Giving rights up: capabilities, keyrings, descriptors, memory of the past.
#![expect(unsafe_code, reason = "keyctl, close_range and the environment block have no safe wrapper")]

use std::io;

use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

/// The proof that no program gets a capability by being started: none is left in the bounding set.
#[derive(Debug)]
pub struct Bounded(());

/// Empties the bounding set, for good. It takes nothing from this process itself, and a call for every capability there
/// is, so it can be done before the rights are given up, where nobody waits for it.
pub fn drop_bounding_set() -> io::Result<Bounded> {
    // The kernel says EINVAL past its last one.
    for number in 0..64 {
        // SAFETY: this option takes one number and no pointer.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, number, 0, 0, 0) } == 0 {
            continue;
        }
        match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::EINVAL) => break,
            error => return Err(error),
        }
    }
    Ok(Bounded(()))
}

/// Drops every capability from every other set, for good, and checks that none is left. The bounding set comes first:
/// it needs a capability that is gone afterwards.
pub fn drop_all_capabilities(_: &Bounded) -> io::Result<()> {
    let locked = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    rustix::thread::set_capabilities_secure_bits(locked)?;
    empty_own_sets()
}

/// Drops every capability that this process has, where it may not have the one that is needed to lock them away. With
/// `no_new_privs` none comes back.
pub fn drop_own_capabilities() -> io::Result<()> {
    match drop_bounding_set().and_then(|bounded| drop_all_capabilities(&bounded)) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => empty_own_sets(),
        other => other,
    }
}

fn empty_own_sets() -> io::Result<()> {
    rustix::thread::clear_ambient_capability_set()?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none)?;
    let left = rustix::thread::capabilities(None)?;
    if (left.effective | left.permitted | left.inheritable).is_empty() {
        return Ok(());
    }
    Err(io::Error::other("the kernel has kept a capability"))
}

/// Joins a new, empty session keyring, so that the keys of the user's session are out of reach.
pub fn join_new_keyring() -> io::Result<()> {
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    // SAFETY: a null name asks for an anonymous keyring; no memory is read.
    let result =
        unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, std::ptr::null::<libc::c_char>()) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Marks every descriptor from `first` on to be closed when a program starts.
pub fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: marking closes nothing in this process; no owner loses its descriptor.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Overwrites the environment that this process was started with, in its own memory: a copy of the launcher
/// that lives on as the first process of a sandbox must not hold what the launcher was given.
///
/// Call it in a process with one thread that reads no variable afterwards.
pub fn forget_environment() -> io::Result<()> {
    crate::threads::require_single()?;
    unsafe extern "C" {
        static mut environ: *mut *mut libc::c_char;
    }
    // SAFETY: there is a single thread, so nobody changes the pointer while it is read.
    let mut entry = unsafe { environ };
    while !entry.is_null() {
        // SAFETY: `environ` is an array of pointers that ends with a null pointer, which ends this loop.
        let variable = unsafe { *entry };
        if variable.is_null() {
            break;
        }
        // SAFETY: every entry is a C string in writable memory of this process.
        let length = unsafe { libc::strlen(variable) };
        // SAFETY: these bytes are the string's own; explicit_bzero is not optimised away.
        unsafe { libc::explicit_bzero(variable.cast(), length) };
        // SAFETY: the null pointer at the end has not been reached, so the next entry exists.
        entry = unsafe { entry.add(1) };
    }
    Ok(())
}
