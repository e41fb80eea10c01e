//! The last bytes that a process has written.

use std::collections::VecDeque;

/// What is kept of one process.
const MOST: usize = 1 << 20;

#[derive(Debug, Default)]
pub struct Log {
    bytes: VecDeque<u8>,
    /// How many bytes came before those that are kept.
    dropped: u64,
}

impl Log {
    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let excess = self.bytes.len().saturating_sub(MOST);
        self.bytes.drain(..excess);
        self.dropped += excess as u64;
    }

    /// The place after the last byte.
    pub fn end(&self) -> u64 {
        self.dropped + self.bytes.len() as u64
    }

    /// What is kept from this place on, and how many bytes after it are lost.
    pub fn since(&self, from: u64) -> (Vec<u8>, u64) {
        let lost = self.dropped.saturating_sub(from);
        let skip = usize::try_from(from.saturating_sub(self.dropped)).unwrap_or(usize::MAX);
        (self.bytes.iter().skip(skip).copied().collect(), lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bytes_are_kept_and_the_lost_ones_counted() {
        let mut log = Log::default();
        log.add(b"begin");
        assert_eq!(log.since(0), (b"begin".to_vec(), 0));
        assert_eq!(log.since(3), (b"in".to_vec(), 0));
        assert_eq!(log.since(99), (Vec::new(), 0));
        log.add(&vec![b'x'; MOST]);
        assert_eq!(log.end(), MOST as u64 + 5);
        let (kept, lost) = log.since(2);
        assert_eq!((kept.len(), lost), (MOST, 3));
    }
}
