//! Walls around a service of ours: it was trusted when it started, and has less to give away afterwards.
//!
//! Not a sandbox: it keeps its network and sees the file system. It can write to a few directories only, has no
//! capability, gains none, and makes no system call that a sandboxed program could not make either.

use std::io;
use std::path::Path;

use cofferdam_linux_sys::{privileges, seccomp as filter, threads};

use crate::landlock::{self, Enforcement};
use crate::seccomp;

/// Raises all walls around this process and whatever it starts, for good, and tells what the kernel enforces. To be
/// called while there is one thread: the others would stay outside.
pub fn raise(writable: &[&Path]) -> io::Result<Vec<String>> {
    threads::require_single()?;
    let mut raised = Vec::new();
    // From here on a program with a set-user-id bit gives no rights.
    rustix::thread::set_no_new_privs(true)?;
    raised.push("no new privileges".to_owned());
    // From here on root is an ordinary user.
    privileges::drop_bounding_set()
        .and_then(|bounded| privileges::drop_all_capabilities(&bounded))
        .or_else(without_the_right)?;
    raised.push("no capabilities".to_owned());
    // From here on only these places can be written to.
    let writable: Vec<_> = writable.iter().map(|path| (*path).into()).collect();
    match landlock::restrict(&writable)? {
        Enforcement::Full => raised.push("Landlock".to_owned()),
        Enforcement::Part => raised.push("Landlock, as far as this kernel knows it".to_owned()),
        Enforcement::None => {}
    }
    // From here on the calls that attack a kernel are refused.
    filter::install(seccomp::FILTER)?;
    raised.push("seccomp".to_owned());
    Ok(raised)
}

/// An ordinary user has no capability to begin with, and may not lock what it does not have.
fn without_the_right(error: io::Error) -> io::Result<()> {
    let held = rustix::thread::capabilities(None)?;
    match (held.effective | held.permitted | held.inheritable).is_empty() {
        true => Ok(()),
        false => Err(error),
    }
}
