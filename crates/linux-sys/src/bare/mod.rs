//! The kernel for what runs without a C library: the shim and the door that are put into containers, and the first
//! instructions of the program itself.
//!
//! Nothing here needs more than `core` and `alloc`, so that a program of it is some ten thousand bytes, starts
//! without a loader and runs in any image. `freestanding.rs` is the root of the crate that such a program is
//! linked with; it holds this module and what a C library does before `main`. Here, as a module of the ordinary
//! crate, the same code is linted and tested like everything else.
//!
//! The first instructions have even less, no memory to give out: `first.rs` is the part of this that they use.
//!
//! The rest of the project uses rustix; only such programs use this.

mod call;
mod closed;
mod copy;
mod errno;
mod families;
mod files;
mod identity;
mod laid;
mod left;
mod output;
mod replace;
mod sockets;
mod waiting;
mod whole;

use alloc::vec::Vec;
use core::ffi::CStr;

pub use closed::close_to_others;
pub use copy::{NAMESPACES, copy_into_namespaces};
pub use errno::Errno;
pub use families::few_families;
pub use files::{
    Descriptor, Kind, Status, is_open, is_terminal, open_directory, open_following, open_for_reading,
    open_path,
};
pub use identity::{
    Identities, bounding_capabilities_dropped, capabilities_cleared, change_mask, give_to, group_identities,
    no_new_privileges, set_groups, set_identities, user_identities,
};
pub use laid::{Asked, Laid};
pub use left::{Found, Left};
pub use output::write_all;
pub use replace::replace_by;
pub use sockets::{
    Place, Transport, connect_packets, connect_to, is_unread, listen_on, peer_user, reaches, receive,
    send_with, send_with_streams,
};
pub use waiting::{Ready, Signals, wait};
pub use whole::read_whole;

/// What a program is started with.
#[derive(Debug)]
pub struct Given {
    pub arguments: Vec<&'static CStr>,
    pub environment: Vec<&'static CStr>,
}
