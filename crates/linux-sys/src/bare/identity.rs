//! Who a process is, and what it may do.

use super::Errno;
use super::call::{Plain, call, number, plain};

const PR_CAPBSET_READ: usize = 23;
const PR_CAPBSET_DROP: usize = 24;
const PR_SET_NO_NEW_PRIVS: usize = 38;
const PR_CAP_AMBIENT: usize = 47;
const PR_CAP_AMBIENT_CLEAR_ALL: usize = 4;
/// `_LINUX_CAPABILITY_VERSION_3`.
const CAPABILITY_VERSION: u32 = 0x2008_0522;
/// The kernel has room for this many, and answers EINVAL for those that it does not know.
const CAPABILITIES: usize = 64;

/// The real, effective and saved numbers of a user or a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identities {
    pub real: u32,
    pub effective: u32,
    pub saved: u32,
}

impl Identities {
    /// Whether all three are this one.
    pub fn are(self, number: u32) -> bool {
        self == Self { real: number, effective: number, saved: number }
    }
}

pub fn user_identities() -> Result<Identities, Errno> {
    identities(number::GETRESUID)
}

pub fn group_identities() -> Result<Identities, Errno> {
    identities(number::GETRESGID)
}

#[expect(unsafe_code, reason = "the kernel writes three numbers of ours")]
fn identities(which: usize) -> Result<Identities, Errno> {
    let (mut real, mut effective, mut saved) = (0_u32, 0_u32, 0_u32);
    let places = [&raw mut real as usize, &raw mut effective as usize, &raw mut saved as usize];
    // SAFETY: both calls write one 32-bit number to each of three addresses, which are of variables of ours.
    unsafe { call(which, [places[0], places[1], places[2], 0, 0, 0]) }?;
    Ok(Identities { real, effective, saved })
}

/// Makes these the only further groups.
#[expect(unsafe_code, reason = "the kernel reads a list of ours")]
pub fn set_groups(groups: &[u32]) -> Result<(), Errno> {
    // SAFETY: the address and the count are those of a slice of 32-bit numbers, borrowed for the call.
    unsafe { call(number::SETGROUPS, [groups.len(), groups.as_ptr() as usize, 0, 0, 0, 0]) }.map(drop)
}

/// Makes the group, then the user, the real, effective and saved one: in this order, because afterwards the
/// group could not be changed any more.
pub fn set_identities(user: u32, group: u32) -> Result<(), Errno> {
    let (user, group) = (user as usize, group as usize);
    plain(Plain::Setresgid, [group, group, group, 0, 0])?;
    plain(Plain::Setresuid, [user, user, user, 0, 0]).map(drop)
}

/// From now on no file that is executed raises privileges, whatever bits it has.
pub fn no_new_privileges() -> Result<(), Errno> {
    plain(Plain::Prctl, [PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0]).map(drop)
}

/// Empties the bounding set as far as the kernel lets us: without CAP_SETPCAP it does not. True when it is empty.
pub fn bounding_capabilities_dropped() -> bool {
    for capability in 0..CAPABILITIES {
        let _ = plain(Plain::Prctl, [PR_CAPBSET_DROP, capability, 0, 0, 0]);
    }
    (0..CAPABILITIES).all(|capability| plain(Plain::Prctl, [PR_CAPBSET_READ, capability, 0, 0, 0]) != Ok(1))
}

#[repr(C)]
struct Header {
    version: u32,
    process: i32,
}

/// Effective, permitted and inheritable, for the lower and the upper 32.
type Sets = [u32; 6];

/// Gives up the ambient, effective, permitted and inheritable capabilities, and says whether they are gone.
pub fn capabilities_cleared() -> Result<bool, Errno> {
    plain(Plain::Prctl, [PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0])?;
    capabilities(number::CAPSET, &mut [0; 6])?;
    let mut left = [u32::MAX; 6];
    capabilities(number::CAPGET, &mut left)?;
    Ok(left == [0; 6])
}

#[expect(unsafe_code, reason = "the kernel reads or writes two structures of ours")]
fn capabilities(which: usize, sets: &mut Sets) -> Result<(), Errno> {
    let mut header = Header { version: CAPABILITY_VERSION, process: 0 };
    // SAFETY: with this version both calls take a header and two sets of three 32-bit numbers, which are ours.
    unsafe { call(which, [&raw mut header as usize, sets.as_mut_ptr() as usize, 0, 0, 0, 0]) }.map(drop)
}

/// Which bits a new file does not get.
pub fn change_mask(mask: u32) {
    let _ = plain(Plain::Umask, [mask as usize, 0, 0, 0, 0]);
}

/// Makes a user the owner of an open file, and leaves its group.
pub fn give_to(descriptor: i32, user: u32) -> Result<(), Errno> {
    plain(Plain::Fchown, [descriptor as usize, user as usize, usize::MAX, 0, 0]).map(drop)
}
