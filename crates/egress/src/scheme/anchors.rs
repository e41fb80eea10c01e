//! The question asked of every byte that goes by: could one of some short texts begin near here?
//!
//! Each of the texts has at least [`SHORTEST`] bytes, so of the two pairs in its first three one lies at an even place,
//! wherever the text stands. It is enough to look at every second pair, and none of these looks waits for the one
//! before; an automaton takes a step for each byte, and each step waits for the last. A table of all pairs was
//! rejected for its size: it would push what encrypts the same bytes out of the processor's nearest memory. Only where
//! a pair is known is each place asked about by its three bytes.

use std::ops::Range;

/// The length of the shortest text that is looked for.
pub(super) const SHORTEST: usize = 3;
/// Bytes that are looked at together.
const LANE: usize = 16;
/// As many bits as there are places in [`Anchors::starts`], counted in a product's upper half.
const HASHED: u32 = 15;

pub(super) struct Anchors {
    /// A pair is known if its two bytes have a bit in common: that of the first byte, which the second one has as well if
    /// it may follow. Only beyond 64 different first bytes do some of them share one.
    first: Box<[u64; 256]>,
    second: Box<[u64; 256]>,
    /// The first three bytes of all texts, a bit for each.
    starts: Box<[u64; 1 << (HASHED - 6)]>,
}

impl Anchors {
    /// Texts that are too short are not looked for.
    pub fn of<'t>(texts: impl IntoIterator<Item = &'t [u8]>) -> Self {
        let mut anchors = Self {
            first: Box::new([0; 256]),
            second: Box::new([0; 256]),
            starts: Box::new([0; 1 << (HASHED - 6)]),
        };
        let mut bits = (0..u64::BITS).cycle().map(|bit| 1 << bit);
        for text in texts {
            let Some(start) = text.first_chunk::<SHORTEST>() else { continue };
            let (word, bit) = place(*start);
            anchors.starts[word] |= bit;
            for pair in start.windows(2) {
                let [one, other] = [pair[0], pair[1]].map(usize::from);
                if anchors.first[one] == 0 {
                    anchors.first[one] = bits.next().unwrap_or(u64::MAX);
                }
                anchors.second[other] |= anchors.first[one];
            }
        }
        anchors
    }

    /// The first place at or after `from` where one of the texts may begin, by its first three bytes.
    pub fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        let (lanes, _) = text.get(from..)?.as_chunks::<LANE>();
        let mut at = from;
        for lane in lanes {
            let (pairs, _) = lane.as_chunks::<2>();
            if pairs.iter().fold(0, |all, pair| all | self.in_common(*pair)) != 0
                && let Some(start) = self.start_near(text, from, at..at + LANE)
            {
                return Some(start);
            }
            at += LANE;
        }
        self.start_near(text, from, at..text.len())
    }

    /// The first start of a text that has its pair at an even place of this stretch.
    #[inline(never)]
    fn start_near(&self, text: &[u8], from: usize, stretch: Range<usize>) -> Option<usize> {
        let is_known = |at: &usize| text[*at..].first_chunk().is_some_and(|pair| self.in_common(*pair) != 0);
        let is_start = |at: &usize| text[*at..].first_chunk().is_some_and(|start| self.may_begin(*start));
        let known = stretch.step_by(2).filter(is_known);
        known.flat_map(|at| [at.saturating_sub(1).max(from), at]).find(is_start)
    }

    #[inline]
    fn in_common(&self, [one, other]: [u8; 2]) -> u64 {
        self.first[usize::from(one)] & self.second[usize::from(other)]
    }

    #[inline]
    fn may_begin(&self, start: [u8; SHORTEST]) -> bool {
        let (word, bit) = place(start);
        self.starts[word] & bit != 0
    }
}

/// Where the bit of three bytes is.
#[inline]
fn place([one, two, three]: [u8; SHORTEST]) -> (usize, u64) {
    let hash = u32::from_le_bytes([one, two, three, 0]).wrapping_mul(0x9E37_79B1) >> (u32::BITS - HASHED);
    (hash as usize >> 6, 1 << (hash & 63))
}
