//! Runs a program confined by the kernel.

pub mod seccomp;
