//! The egress proxy: the only place where secrets meet the network.

mod ca;
mod head;
mod leaf;
mod target;

pub use ca::{Authority, AuthorityError};
