//! The question asked of every byte that is not secret: could a form start near here?
//!
//! Every form is at least [`SHORTEST`] bytes long, so the first eight bytes of a match hold five blocks of four
//! bytes, and one of the five lies at a multiple of five. It is enough to look at every fifth block and to
//! ask whether it is one of the first five of any form: one load for five bytes, and no load waits for the one
//! before. That independence is why a table of shifts (Wu–Manber) was rejected: it skips farther, and each step waits
//! for the last. When a block is known, the first eight bytes at the five places around it are asked about in turn.
//!
//! Even that is half of what it takes to pass a large body on. So blocks go through a coarse sieve first, eight to
//! a question: a byte for each, with no bit to be found in it. What it lets through is almost always nothing.

use zeroize::Zeroizing;

/// The length of the shortest form, and so of the shortest secret.
pub(super) const SHORTEST: usize = 8;
const BLOCK: usize = 4;
const STRIDE: usize = SHORTEST - BLOCK + 1;
/// So many blocks are looked at together.
const SAMPLES: usize = 8;
/// Their strides: the last block of a lane ends inside the lane.
const LANE: usize = SAMPLES * STRIDE;

pub(super) struct Filter {
    sieve: Sieve,
    blocks: Bloom,
    starts: Bloom,
}

impl Filter {
    pub(super) fn new<'a>(forms: impl ExactSizeIterator<Item = &'a [u8]>) -> Self {
        let count = forms.len() * STRIDE;
        let (sieve, blocks, starts) = (Sieve::new(count), Bloom::new(count), Bloom::new(forms.len()));
        let mut filter = Self { sieve, blocks, starts };
        for form in forms {
            filter.starts.insert(start_at(form, 0));
            for at in 0..STRIDE {
                filter.blocks.insert(block_at(form, at));
                filter.sieve.insert(block_at(form, at));
            }
        }
        filter
    }

    /// The first place at or after `from` where a form may start. Of a form that has not eight bytes in `text`,
    /// nothing is said.
    pub(super) fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        for lane in text[from..].chunks_exact(LANE) {
            if self.sieve.may_hold_one_of(lane) {
                for sample in (0..LANE).step_by(STRIDE) {
                    if self.blocks.may_hold(block_at(lane, sample))
                        && let Some(start) = self.start_near(text, from, at + sample)
                    {
                        return Some(start);
                    }
                }
            }
            at += LANE;
        }
        (at..(text.len() + 1).saturating_sub(BLOCK))
            .step_by(STRIDE)
            .filter(|at| self.blocks.may_hold(block_at(text, *at)))
            .find_map(|at| self.start_near(text, from, at))
    }

    /// The first start of a form that has its sampled block at `at`.
    #[inline(never)]
    fn start_near(&self, text: &[u8], from: usize, at: usize) -> Option<usize> {
        let last = at.min(text.len().checked_sub(SHORTEST)?);
        let first = from.max(at.saturating_sub(STRIDE - 1));
        (first..=last).find(|start| self.starts.may_hold(start_at(text, *start)))
    }
}

/// A byte for each of some thousand remainders, set where there is a block that leaves it. Like the filter behind it,
/// it is wiped.
struct Sieve {
    /// Empty where there are so many blocks that it would hold nothing back.
    marks: Zeroizing<Vec<u8>>,
}

impl Sieve {
    /// Places for each entry, so that few blocks of other texts meet one.
    const SPARSE: usize = 64;
    /// What stays in the nearest cache.
    const LEAST: usize = 1 << 14;
    const MOST: usize = 1 << 16;

    fn new(entries: usize) -> Self {
        let size = match entries * Self::SPARSE {
            ..=Self::MOST => (entries * Self::SPARSE).next_power_of_two().max(Self::LEAST),
            _ => 0,
        };
        Self { marks: Zeroizing::new(vec![0; size]) }
    }

    fn insert(&mut self, entry: u64) {
        if !self.marks.is_empty() {
            let place = place_of(entry, self.marks.len());
            self.marks[place] = 1;
        }
    }

    /// One by one and not by a loop or a closure, which are not always taken apart and then take as long as all the rest.
    #[inline]
    fn may_hold_one_of(&self, lane: &[u8]) -> bool {
        let marks = self.marks.as_slice();
        if marks.is_empty() {
            return true;
        }
        let one = mark(marks, lane, 0) | mark(marks, lane, 1) | mark(marks, lane, 2) | mark(marks, lane, 3);
        let other = mark(marks, lane, 4) | mark(marks, lane, 5) | mark(marks, lane, 6) | mark(marks, lane, 7);
        one | other != 0
    }
}

#[inline]
fn mark(marks: &[u8], lane: &[u8], sample: usize) -> u8 {
    marks[place_of(block_at(lane, sample * STRIDE), marks.len())]
}

/// From the upper half of a product of 32 bits, which depends on all bits of the block. `size` is a power of two.
#[inline]
fn place_of(block: u64, size: usize) -> usize {
    ((block as u32).wrapping_mul(0x9E37_79B1) >> 16) as usize & (size - 1)
}

/// A Bloom filter with both bits of an entry in one word. It says something about the secrets, so it is wiped.
struct Bloom {
    words: Zeroizing<Vec<u64>>,
    shift: u32,
}

impl Bloom {
    fn new(entries: usize) -> Self {
        let words = entries.max(2).next_power_of_two();
        Self { words: Zeroizing::new(vec![0; words]), shift: u64::BITS - words.trailing_zeros() }
    }

    fn insert(&mut self, entry: u64) {
        let (word, mask) = self.place(entry);
        self.words[word] |= mask;
    }

    #[inline]
    fn may_hold(&self, entry: u64) -> bool {
        let (word, mask) = self.place(entry);
        self.words[word] & mask == mask
    }

    /// The upper half of the product depends on all bits of the entry.
    #[inline]
    fn place(&self, entry: u64) -> (usize, u64) {
        let hash = entry.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let word = (hash >> self.shift) as usize;
        (word, (1 << ((hash >> 32) & 63)) | (1 << ((hash >> 38) & 63)))
    }
}

#[inline]
fn block_at(text: &[u8], at: usize) -> u64 {
    u64::from(u32::from_le_bytes([text[at], text[at + 1], text[at + 2], text[at + 3]]))
}

/// Folded, so that all eight bytes reach the upper half of a product.
#[inline]
fn start_at(text: &[u8], at: usize) -> u64 {
    block_at(text, at) ^ block_at(text, at + BLOCK).wrapping_mul(0xD6E8_FEB8_6659_FD93).rotate_left(32)
}
