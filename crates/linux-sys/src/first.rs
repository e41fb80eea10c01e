//! The root of the crate that the first instructions of the program are linked with. Not a part of the ordinary
//! crate: `crates/cli/build.rs` compiles it, with `short-way`.

#![no_std]

#[path = "bare/first.rs"]
pub mod bare;
#[path = "freestanding/before.rs"]
pub mod before;
#[path = "freestanding/end.rs"]
mod end;
#[path = "freestanding/memory.rs"]
mod memory;
