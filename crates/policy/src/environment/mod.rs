//! The environment of a child, built from nothing.

mod child;

pub use child::ChildEnvironment;
