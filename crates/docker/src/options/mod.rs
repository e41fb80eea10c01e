//! What was typed before an image's name, understood option by option.
//!
//! Every option that the engines have is in `table`, with what it means for a wired container. An option that is not
//! there is a mistake: a new one might open what the wiring closes.

mod judge;
mod mounts;
mod parse;
mod table;

pub use judge::LABEL;
pub use judge::{Judged, Objection, Reach, Variable, judge};
pub use mounts::{Mount, MountMistake, Source, holds_an_engine};
pub use parse::{Given, Misread, Typed, parse};
pub use table::{EngineKind, Meaning, Why};
