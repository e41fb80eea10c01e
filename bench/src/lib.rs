//! What benchmarks are written with. The benchmarks themselves belong to the program beside this library.

pub mod harness;
mod measure;
pub mod peer;
pub mod report;
