//! The first process of a sandbox, begun before the C library.
//!
//! Two processes of one program begin side by side here: the C library takes as long to begin as a small program to
//! run, and a copy that is made afterwards would wait for that first. There is almost nothing to copy yet, either.

use super::Errno;
use super::call::{call, number};
use super::closed::close_to_others;
use super::identity::{group_identities, set_groups, user_identities};
use super::left::{Found, Left};
use super::sockets::packet_pair;

/// User, process, mount, communication, host name and control group namespaces. The network namespace is not among
/// them: the first process makes it beside everything else.
pub const NAMESPACES: u64 = 0x1000_0000 | 0x2000_0000 | 0x0002_0000 | 0x0800_0000 | 0x0400_0000 | 0x0200_0000;
const CLONE_PIDFD: u64 = 0x1000;
const SIGCHLD: u64 = 17;

/// Makes a copy of this process in new namespaces and leaves word of it in both. With an error nothing was made, and
/// whoever comes later may try again, and can tell the person.
pub fn copy_into_namespaces(left: &Left) -> Result<(), Errno> {
    let (user, group) = (user_identities()?, group_identities()?);
    // Before the copy: neither it nor this process can be looked into, and its number stays its own until it is waited for.
    close_to_others()?;
    wait_for_children()?;
    // As the long way does: only root can let go of its groups, and the root of a container may not.
    if user.effective == 0 {
        match set_groups(&[]) {
            Ok(()) | Err(Errno::PERMITTED) => {}
            Err(error) => return Err(error),
        }
    }
    let (ours, theirs) = packet_pair()?;
    match copy()? {
        // Each keeps one end; held open here, the other would hide the end of the launcher for ever.
        None => {
            drop(ours);
            left.leave(Found::Copy { channel: theirs.into_number(), user: user.real, group: group.real });
        }
        Some((process, pid)) => {
            drop(theirs);
            left.leave(Found::Copied { channel: ours.into_number(), process, pid });
        }
    }
    Ok(())
}

/// `struct clone_args`, of the first version.
#[repr(C)]
struct Arguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
}

/// The descriptor and the number of the copy, and nothing in the copy.
#[expect(unsafe_code, reason = "clone3 returns twice")]
fn copy() -> Result<Option<(i32, i32)>, Errno> {
    let mut process = -1_i32;
    let arguments = Arguments {
        flags: NAMESPACES | CLONE_PIDFD,
        pidfd: &raw mut process as u64,
        child_tid: 0,
        parent_tid: 0,
        exit_signal: SIGCHLD,
        stack: 0,
        stack_size: 0,
        tls: 0,
    };
    // SAFETY: the arguments have the layout and the length of the kernel's structure, and the descriptor is written to a
    // variable of ours. Without CLONE_VM and with no stack of its own the copy goes on with a copy of everything; there
    // is one thread, and no library yet that could be in the middle of something.
    let pid =
        unsafe { call(number::CLONE3, [&raw const arguments as usize, size_of::<Arguments>(), 0, 0, 0, 0]) }?;
    Ok(if pid == 0 { None } else { Some((process, pid as i32)) })
}

/// As `hardening` does: whoever started this program may have told the kernel not to keep dead children.
#[expect(unsafe_code, reason = "the kernel reads a structure of ours")]
fn wait_for_children() -> Result<(), Errno> {
    // Handler, flags, restorer and mask: nothing of each is the default action.
    let default = [0_u64; 4];
    // SAFETY: the structure is as long as the kernel's with a mask of eight bytes; a null asks for nothing back. The
    // default action runs no code of ours.
    unsafe { call(number::RT_SIGACTION, [SIGCHLD as usize, default.as_ptr() as usize, 0, 8, 0, 0]) }.map(drop)
}
