//! The kernel as an API: owned descriptors, typed flags, and the one way to start a process.
//!
//! This is the only crate of the project that may contain unsafe code.

extern crate alloc;

pub mod bare;
pub mod beside;
pub mod child;
pub mod clone;
pub mod descriptors;
pub mod early;
pub mod ending;
pub mod exec;
pub mod footprint;
pub mod hardening;
pub mod interface;
pub mod known_file;
pub mod large_requests;
pub mod limits;
pub mod memory;
pub mod mount;
pub mod netlink;
pub mod own_environment;
pub mod private;
pub mod privileges;
#[cfg(feature = "probe")]
pub mod probe;
pub mod read_guard;
pub mod seccomp;
pub mod signals;
pub mod sock_diag;
pub mod threads;
