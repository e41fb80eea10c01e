//! The question asked of every byte that is not secret: could a form start near here?
//!
//! Every form is at least [`SHORTEST`] bytes long, so the first eight bytes of a match hold five blocks of four
//! bytes, and one of the five lies at a multiple of five. It is enough to look at every fifth block and to
//! ask whether it is one of the first five of any form. The answer is a Bloom filter with both bits of a block in
//! one word: one load for five bytes, and no load waits for the one before. That independence is why a
//! table of shifts (Wu–Manber) was rejected: it skips farther, and each step waits for the last.

use zeroize::Zeroizing;

/// The length of the shortest form, and so of the shortest secret.
pub(super) const SHORTEST: usize = 8;
const BLOCK: usize = 4;
const STRIDE: usize = SHORTEST - BLOCK + 1;
/// Four strides at once: the last block of a lane ends inside the lane.
const LANE: usize = 4 * STRIDE;

pub(super) struct Filter {
    /// A power of two of words; it says something about the secrets, so it is wiped as they are.
    words: Zeroizing<Vec<u64>>,
    shift: u32,
}

impl Filter {
    pub(super) fn new<'a>(forms: impl ExactSizeIterator<Item = &'a [u8]>) -> Self {
        let entries = (forms.len() * STRIDE).max(2);
        let words = entries.next_power_of_two();
        let mut filter =
            Self { words: Zeroizing::new(vec![0; words]), shift: u64::BITS - words.trailing_zeros() };
        for form in forms {
            for block in form[..SHORTEST].windows(BLOCK) {
                let (word, mask) = filter.place(block_of(block, 0));
                filter.words[word] |= mask;
            }
        }
        filter
    }

    /// The first place at or after `from` where a sampled block may belong to a form. A form that starts at or
    /// after `from` and has eight bytes in `text` starts at most [`Filter::REACH`] before such a place.
    pub(super) fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        let lanes = text[from..].chunks_exact(LANE);
        let rest = text.len() - lanes.remainder().len();
        for (index, lane) in lanes.enumerate() {
            let hits = [0, 1, 2, 3].map(|sample| self.may_hold(block_of(lane, sample * STRIDE)));
            if hits[0] | hits[1] | hits[2] | hits[3] {
                let first = hits.iter().position(|hit| *hit)?;
                return Some(from + index * LANE + first * STRIDE);
            }
        }
        (rest..(text.len() + 1).saturating_sub(BLOCK))
            .step_by(STRIDE)
            .find(|at| self.may_hold(block_of(text, *at)))
    }

    /// How far before a hit a form may have started.
    pub(super) const REACH: usize = STRIDE - 1;

    #[inline]
    fn may_hold(&self, block: u32) -> bool {
        let (word, mask) = self.place(block);
        self.words[word] & mask == mask
    }

    #[inline]
    fn place(&self, block: u32) -> (usize, u64) {
        let hash = u64::from(block).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let word = (hash >> self.shift) as usize;
        (word, (1 << ((hash >> 20) & 63)) | (1 << ((hash >> 26) & 63)))
    }
}

#[inline]
fn block_of(text: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([text[at], text[at + 1], text[at + 2], text[at + 3]])
}
