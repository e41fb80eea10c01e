//! The first instructions of the program. Compiled by `crates/cli/build.rs`, which links them into it.

#![no_std]
#![no_main]

cofferdam_linux_sys::first!(cofferdam_short_way::asked);
