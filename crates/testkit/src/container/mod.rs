//! Real containers: engines of their own for a test, images from a tree that the test makes.
//!
//! Nothing of the machine's own engines is touched: data, sockets and, for Docker, the network are in a directory and a
//! namespace of the test's, and what was started is ended by its number.

mod engine;
mod image_tree;

pub use engine::{Container, Engine, Kind};
pub use image_tree::ImageTree;

/// Whether this machine lets the test have containers at all: only root can start the engines that are tested. The tests
/// that need them pass for anybody else, because they are run as root as well.
pub fn can_have_containers() -> bool {
    rustix::process::geteuid().is_root()
}
