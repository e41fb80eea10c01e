//! The privilege-drop shim: `docker exec CONTAINER tool …`, typed as root, runs the real tool as the service's user.
//!
//! Installed under the name of a tool, in front of the real one on the path, it reads
//! `/etc/cofferdam/shim/NAME` (see `configuration.rs`), and
//!
//! * for a caller who is not root becomes the real tool at once, changing nothing;
//! * for root becomes the user first: groups, identities, capabilities, home, mask; and checks that it did;
//! * stays root only for someone who says so with the variable that the file names.
//!
//! Whatever goes wrong ends with 126 and a remedy. It never carries on as root.
//!
//! Beside it, `door`: the first program of a sealed container, of the same make.
//!
//! The programs are built without a C library and without the standard one (`programs/`); as an ordinary crate
//! this is linted and tested.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod accounts;
mod becoming;
mod configuration;
mod door;
mod environment;
mod failure;
mod opt_out;
mod search;
mod shim;
mod target;
mod text;
mod trusted_file;

pub use door::run as door;
pub use shim::run as shim;
