//! One stream through both nets.

use super::by_shape::ByShape;
use super::by_value::ByValue;
use super::output::{Output, Passed};
use super::patterns::Patterns;
use std::collections::BTreeSet;
use std::sync::Arc;
use zeroize::Zeroizing;

/// What stands where a secret stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// `[redacted:label]`.
    Marker,
    /// As many of this byte, for a body whose length was announced.
    SameLength(u8),
}

impl Replacement {
    pub(super) fn begin(self, label: &str, output: &mut Output<'_>) {
        if self == Self::Marker {
            output.write(b"[redacted:");
            output.write(label.as_bytes());
            output.write(b"]");
        }
    }

    pub(super) fn cover(self, count: usize, output: &mut Output<'_>) {
        if let Self::SameLength(byte) = self {
            output.fill(byte, count);
        }
    }
}

/// Follows one stream. Not reusable after [`Redactor::finish`].
pub struct Redactor {
    by_value: ByValue,
    by_shape: Option<ByShape>,
    /// What the first net wrote, on its way to the second.
    between: Zeroizing<Vec<u8>>,
}

impl Redactor {
    pub fn new(patterns: Arc<Patterns>, replacement: Replacement) -> Self {
        Self {
            by_value: ByValue::new(patterns, replacement),
            by_shape: None,
            between: Zeroizing::new(Vec::new()),
        }
    }

    /// Looks for known shapes of keys as well, and leaves alone exactly the values in `except`: stand-ins are made to
    /// look like keys.
    #[must_use]
    pub fn with_shapes(mut self, except: Arc<BTreeSet<Vec<u8>>>) -> Self {
        self.by_shape = Some(ByShape::new(self.by_value.replacement(), except));
        self
    }

    /// For the few lines of a process that ends soon: nothing is compiled that takes longer than looking. What is found
    /// is the same.
    #[must_use]
    pub fn for_a_line(mut self) -> Self {
        if let Some(by_shape) = &mut self.by_shape {
            by_shape.find_in_turn();
        }
        self
    }

    /// Takes the next bytes of the stream. `out` is only appended to, and only when the answer is
    /// [`Passed::Written`].
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Passed {
        let Some(by_shape) = &mut self.by_shape else {
            return self.by_value.push(chunk, out);
        };
        self.between.clear();
        match self.by_value.push(chunk, &mut self.between) {
            Passed::Prefix(end) => by_shape.push(&chunk[..end], out),
            Passed::Written => by_shape.push_all(&self.between, out),
        }
    }

    /// Takes the next bytes of the stream and appends what may be shown.
    pub fn push_all(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        if let Passed::Prefix(end) = self.push(chunk, out) {
            out.extend_from_slice(&chunk[..end]);
        }
    }

    /// The stream has ended: appends what was kept back. The start of a secret that is sixteen bytes or longer is
    /// replaced as well: it was cut off.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let Some(by_shape) = &mut self.by_shape else {
            return self.by_value.finish(out);
        };
        self.between.clear();
        self.by_value.finish(&mut self.between);
        let _ = by_shape.push_all(&self.between, out);
        by_shape.finish(out);
    }

    /// How many bytes are kept back now.
    pub fn held(&self) -> usize {
        self.by_value.held() + self.by_shape.as_ref().map_or(0, ByShape::held)
    }

    /// How many stretches have been replaced so far.
    pub fn matches(&self) -> u64 {
        self.by_value.matches() + self.by_shape.as_ref().map_or(0, ByShape::matches)
    }
}
