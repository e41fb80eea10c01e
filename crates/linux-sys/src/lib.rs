//! The kernel as an API: owned descriptors, typed flags, and the one way to start a process.
//!
//! This is the only crate of the project that may contain unsafe code.

pub mod child;
pub mod hardening;
pub mod memory;
pub mod own_environment;
pub mod private;
#[cfg(feature = "probe")]
pub mod probe;
pub mod read_guard;
