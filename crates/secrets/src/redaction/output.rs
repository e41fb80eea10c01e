//! Where cleaned bytes go: nowhere while they are a prefix of the chunk, into a buffer once they are not.

/// What became of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "bytes that passed are forwarded by the caller"]
pub enum Passed {
    /// Nothing was written: forward this many first bytes of the chunk as they are, then nothing. The others
    /// are kept, because they may be the start of a secret.
    Prefix(usize),
    /// The cleaned bytes were appended to the buffer: forward those and nothing of the chunk.
    Written,
}

pub(super) struct Output<'a> {
    chunk: &'a [u8],
    out: &'a mut Vec<u8>,
    passed: Passed,
}

impl<'a> Output<'a> {
    pub(super) fn new(chunk: &'a [u8], out: &'a mut Vec<u8>) -> Self {
        Self { chunk, out, passed: Passed::Prefix(0) }
    }

    /// A part of the chunk, as it is.
    pub(super) fn pass(&mut self, from: usize, to: usize) {
        match self.passed {
            Passed::Prefix(end) if end == from => self.passed = Passed::Prefix(to),
            _ => {
                self.spill();
                self.out.extend_from_slice(&self.chunk[from..to]);
            }
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.spill();
        self.out.extend_from_slice(bytes);
    }

    pub(super) fn fill(&mut self, byte: u8, count: usize) {
        self.spill();
        self.out.resize(self.out.len() + count, byte);
    }

    fn spill(&mut self) {
        if let Passed::Prefix(end) = self.passed {
            self.out.extend_from_slice(&self.chunk[..end]);
            self.passed = Passed::Written;
        }
    }

    pub(super) fn passed(self) -> Passed {
        self.passed
    }
}
