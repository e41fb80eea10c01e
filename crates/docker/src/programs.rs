//! The programs that are put into containers. They are carried in the binary: what is installed is what was built
//! with it.

/// The privilege-drop shim; see the crate `cofferdam-shim`.
pub const SHIM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shim"));

/// The first program of a sealed container, from the same crate.
pub const DOOR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/door"));
