//! Paths of requests, and the patterns that rules give for them.

mod pattern;
mod request;

pub use pattern::{PathPattern, PathPatternError, Segment};
pub use request::{PathError, RequestPath};
