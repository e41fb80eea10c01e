//! The egress proxy: the only place where secrets meet the network.

pub mod scheme;
