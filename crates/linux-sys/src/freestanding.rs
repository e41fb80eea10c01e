//! The root of the crate that a program without a C library is linked with. Not a part of the ordinary crate:
//! `crates/docker/build.rs` compiles it, with the shim.

#![no_std]

extern crate alloc;

pub mod bare;
#[path = "freestanding/end.rs"]
mod end;
#[path = "freestanding/memory.rs"]
mod memory;
#[path = "freestanding/room.rs"]
mod room;
#[path = "freestanding/start.rs"]
pub mod start;
