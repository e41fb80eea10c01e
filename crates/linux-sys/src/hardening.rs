//! What the launcher does to itself before anything else: nobody may look into it.
//!
//! A process that is not dumpable leaves no core file, cannot be traced by another process of the same
//! user, and its `/proc` files (`environ`, `mem`, `maps`, `fd`) belong to root. A child is ordinary again
//! after `execve`. Until then it is as closed as the launcher, and its `/proc/PID/uid_map` belongs to root
//! too: a child in a new user namespace has to make itself dumpable before an ordinary user can write its
//! id maps.

use std::io;

use rustix::process::{
    DumpableBehavior, Resource, Rlimit, dumpable_behavior, getrlimit, set_dumpable_behavior, setrlimit,
};

/// What is in force, as the kernel tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hardening {
    /// No tracing and no reading of memory or environment by other processes of the same user.
    pub unobservable: bool,
    /// The size of a core dump is limited to less than one can have.
    pub no_core_dump: bool,
}

impl Hardening {
    pub fn read() -> Self {
        Self {
            unobservable: dumpable_behavior().is_ok_and(|now| now == DumpableBehavior::NotDumpable),
            no_core_dump: getrlimit(Resource::Core).maximum.is_some_and(|most| most <= NO_CORE),
        }
    }
}

/// The limit that lets nothing be dumped. Zero keeps a file from being written, but not a program of the host from
/// being started and fed with the memory (`core_pattern` with a pipe); for one byte, the kernel does neither.
pub const NO_CORE: u64 = 1;

/// Makes sure that neither this process nor what it starts leaves a core dump. A limit that is lower already
/// cannot be raised and stays.
pub fn no_core_dumps() -> io::Result<()> {
    let most = getrlimit(Resource::Core).maximum.map_or(NO_CORE, |most| most.min(NO_CORE));
    Ok(setrlimit(Resource::Core, Rlimit { current: Some(most), maximum: Some(most) })?)
}

/// Applies everything to this process and tells what holds. Called once, first thing in `main`. A step that
/// the kernel refuses is not an error here: the report says so, and the caller decides.
pub fn apply() -> Hardening {
    // Each result is read back below.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let _ = no_core_dumps();
    let _ = collect_children();
    Hardening::read()
}

/// A launcher that was itself started with `SIGCHLD` ignored would have its children reaped by the kernel,
/// and their numbers given to others while it still means to signal them.
#[expect(unsafe_code, reason = "signal dispositions have no safe wrapper")]
fn collect_children() -> io::Result<()> {
    // SAFETY: the default action of SIGCHLD runs no code of ours, so no handler can be called at a bad time.
    let previous = unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    if previous == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn req_e28_the_process_becomes_unobservable_and_leaves_no_core() {
        assert!(!Hardening::read().unobservable, "an ordinary process is not");
        assert_eq!(apply(), Hardening { unobservable: true, no_core_dump: true });
        // The other tests of this binary look at themselves in /proc.
        set_dumpable_behavior(DumpableBehavior::Dumpable).expect("back to normal");
    }
}
