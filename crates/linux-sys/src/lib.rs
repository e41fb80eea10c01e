//! The kernel as an API: owned descriptors, typed flags, and the one way to start a process.
//!
//! This is the only crate of the project that may contain unsafe code.

pub mod clone;
pub mod descriptors;
pub mod exec;
pub mod mount;
pub mod netlink;
pub mod privileges;
pub mod seccomp;
pub mod signals;
pub mod threads;
