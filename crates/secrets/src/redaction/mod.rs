//! Known secrets are taken out of whatever is about to be shown, however they are written and wherever the
//! stream is cut.
//!
//! ```text
//! chunk ──> by value (filter ──> automaton ──> settle) ──> by shape ──> out
//! ```
//!
//! [`Patterns`] are compiled once from all secrets and shared; a [`Redactor`] follows one stream. What is kept back
//! between two chunks is the longest end of the data that really starts a form of a secret, and nothing else: an
//! event of a stream is not delayed unless it ends like one.
//!
//! Promised: each form in `forms.rs` is found, over any number of chunks, and matches that overlap are removed as one.
//! A form broken over lines, as `base64` and `xxd -p` print it, is found as well, less at most its first six
//! characters when the line ends within them. Not promised: encodings that are not listed, compressed data, and a
//! secret that somebody set out to disguise. The second net, known [shapes](Shape) of keys, is a heuristic.

mod automaton;
mod by_shape;
mod by_value;
mod filter;
mod forms;
mod names;
mod output;
mod patterns;
mod redactor;
mod shapes;
mod wrapped;

#[cfg(test)]
mod tests;

pub use output::Passed;
pub use patterns::{Patterns, Refusal, Refused};
pub use redactor::{Redactor, Replacement};
pub use shapes::{SHAPES, Shape};
