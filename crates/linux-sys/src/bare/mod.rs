//! The kernel for programs that bring no C library: the shim and the door that are put into containers.
//!
//! Nothing here needs more than `core` and `alloc`, so that a program of it is some ten thousand bytes, starts
//! without a loader and runs in any image. `freestanding.rs` is the root of the crate that such a program is
//! linked with; it holds this module and what a C library does before `main`. Here, as a module of the ordinary
//! crate, the same code is linted and tested like everything else.
//!
//! The rest of the project uses rustix; only such programs use this.

mod call;
mod families;
mod files;
mod identity;
mod replace;
mod sockets;

use alloc::vec::Vec;
use core::ffi::CStr;

pub use families::few_families;
pub use files::{
    Descriptor, Kind, Status, is_terminal, open_following, open_for_reading, open_path, read_whole,
};
pub use identity::{
    Identities, bounding_capabilities_dropped, capabilities_cleared, change_mask, give_to, group_identities,
    no_new_privileges, set_groups, set_identities, user_identities,
};
pub use replace::replace_by;
pub use sockets::{Place, Transport, connect_to, listen_on, reaches, send_with};

/// The number that a failed call gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    pub const PERMITTED: Self = Self(1);
    pub const NOT_FOUND: Self = Self(2);
    pub const TOO_LARGE: Self = Self(27);
    pub const LOOP: Self = Self(40);

    /// What it means, in the few words that a person needs. The rest are numbers, which a manual page explains.
    pub fn words(self) -> &'static str {
        match self.0 {
            1 => "not permitted",
            2 => "not found",
            8 => "not in a form that can be executed",
            13 => "permission denied",
            20 => "a part of the path is no directory",
            22 => "not a valid value here",
            27 => "too large",
            40 => "a symbolic link",
            97 => "the kind of address is not supported",
            98 => "the address is in use",
            // A time for connecting that has passed is told in several ways.
            11 | 110 | 115 => "no answer in time",
            101 | 113 => "there is no way to it",
            111 => "nobody listens",
            _ => "the kernel refused",
        }
    }
}

/// What a program is started with.
#[derive(Debug)]
pub struct Given {
    pub arguments: Vec<&'static CStr>,
    pub environment: Vec<&'static CStr>,
}

/// Writes to a descriptor as much as it takes. Standard error being gone is no reason to end differently.
pub fn write_all(descriptor: i32, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match call::write(descriptor, bytes) {
            Ok(count) if count > 0 => bytes = &bytes[count..],
            _ => return,
        }
    }
}
