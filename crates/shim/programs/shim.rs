//! The privilege-drop shim, as a program. Compiled by `crates/docker/build.rs`, which puts it into Cofferdam.

#![no_std]
#![no_main]

cofferdam_linux_sys::program!(cofferdam_shim::shim);
