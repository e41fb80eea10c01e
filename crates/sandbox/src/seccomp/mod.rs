//! The system call filter of a sandboxed program: data in `seccomp/calls.toml`, compiled by the build.

use cofferdam_linux_sys::seccomp::Instruction;

include!(concat!(env!("OUT_DIR"), "/filter.rs"));

#[cfg(test)]
mod emit;
#[cfg(test)]
mod tests;
