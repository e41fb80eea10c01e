//! Containers: the programs that are put into them, and how an engine is called.

pub mod compose;
pub mod heal;
pub mod options;
pub mod plan;
pub mod posture;
pub mod programs;
pub mod shim_install;
mod tree;
