//! The kernel as an API: owned descriptors, typed flags, and the one way to start a process.
//!
//! This is the only crate of the project that may contain unsafe code.

pub mod private;
