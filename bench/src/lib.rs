//! What benchmarks are written with. The benchmarks themselves belong to the program beside this library.

pub mod entry;
pub mod harness;
pub mod measure;
mod part;
pub mod peer;
pub mod plot;
pub mod show;
