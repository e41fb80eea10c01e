//! The question asked of every byte that goes by: could one of some short texts begin near here?
//!
//! A text of four bytes has three pairs of neighbours, and one of them lies at a multiple of three, wherever it stands. So
//! it is enough to look at every third pair, or as many as the shortest text allows, and none of these looks waits for
//! the one before; an automaton takes a step for each byte, and each step waits for the last. A table has a byte for
//! each pair that there is. A bit would do, and finding it takes as long as looking at two pairs; most of the table is
//! never asked for, because most pairs are of no text. Only where a pair is known is each place asked about by its three
//! bytes.

use std::ops::Range;

/// The length of the shortest text that is looked for.
pub(super) const SHORTEST: usize = 3;
/// Pairs that are looked at together.
const SAMPLES: usize = 8;
/// As many bits as there are places in [`Anchors::starts`], counted in a product's upper half.
const HASHED: u32 = 15;

pub(super) struct Anchors {
    /// By its two bytes, whether a pair is one of the first of any text.
    pairs: Box<[u8]>,
    /// From one pair that is looked at to the next.
    stride: Stride,
    /// The first three bytes of all texts, a bit for each.
    starts: Box<[u64; 1 << (HASHED - 6)]>,
}

/// As many as a text has pairs, of those that are built.
#[derive(Clone, Copy)]
enum Stride {
    Two,
    Three,
    Six,
}

impl Stride {
    fn of(shortest: usize) -> Self {
        match shortest {
            ..4 => Self::Two,
            4..7 => Self::Three,
            7.. => Self::Six,
        }
    }

    fn pairs(self) -> usize {
        match self {
            Self::Two => 2,
            Self::Three => 3,
            Self::Six => 6,
        }
    }
}

impl Anchors {
    /// Texts that are too short are not looked for.
    pub fn of<'t>(texts: impl Iterator<Item = &'t [u8]> + Clone) -> Self {
        let texts = texts.filter(|text| text.len() >= SHORTEST);
        let stride = Stride::of(texts.clone().map(<[u8]>::len).min().unwrap_or(SHORTEST));
        let pairs = vec![0; 1 << 16].into_boxed_slice();
        let mut anchors = Self { pairs, stride, starts: Box::new([0; 1 << (HASHED - 6)]) };
        for text in texts {
            let Some(start) = text.first_chunk::<SHORTEST>() else { continue };
            let (word, bit) = place(*start);
            anchors.starts[word] |= bit;
            for pair in text.windows(2).take(stride.pairs()) {
                anchors.pairs[usize::from(u16::from_le_bytes([pair[0], pair[1]]))] = 1;
            }
        }
        anchors
    }

    /// The first place at or after `from` where one of the texts may begin, by its first three bytes.
    pub fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        match self.stride {
            Stride::Two => self.find_by::<2>(text, from),
            Stride::Three => self.find_by::<3>(text, from),
            Stride::Six => self.find_by::<6>(text, from),
        }
    }

    fn find_by<const STRIDE: usize>(&self, text: &[u8], from: usize) -> Option<usize> {
        let pairs: &[u8; 1 << 16] = (&*self.pairs).try_into().ok()?;
        let mut at = from;
        for lane in text.get(from..)?.chunks_exact(SAMPLES * STRIDE) {
            if is_known_in::<STRIDE>(pairs, lane)
                && let Some(start) = self.start_near::<STRIDE>(text, from, at..at + lane.len())
            {
                return Some(start);
            }
            at += lane.len();
        }
        self.start_near::<STRIDE>(text, from, at..text.len())
    }

    /// The first start of a text that has its pair among those of this stretch that are looked at.
    #[inline(never)]
    fn start_near<const STRIDE: usize>(
        &self,
        text: &[u8],
        from: usize,
        stretch: Range<usize>,
    ) -> Option<usize> {
        let is_known = |at: &usize| {
            let pair = text[*at..].first_chunk();
            pair.is_some_and(|pair| self.pairs[usize::from(u16::from_le_bytes(*pair))] != 0)
        };
        let is_start = |at: &usize| text[*at..].first_chunk().is_some_and(|start| self.may_begin(*start));
        let known = stretch.step_by(STRIDE).filter(is_known);
        known.flat_map(|at| (at + 1).saturating_sub(STRIDE).max(from)..=at).find(is_start)
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

/// One by one and not by a loop, which is not always taken apart and then takes twice as long.
#[inline]
fn is_known_in<const STRIDE: usize>(pairs: &[u8; 1 << 16], lane: &[u8]) -> bool {
    let mark = |sample: usize| {
        let at = sample * STRIDE;
        pairs[usize::from(u16::from_le_bytes([lane[at], lane[at + 1]]))]
    };
    mark(0) | mark(1) | mark(2) | mark(3) | mark(4) | mark(5) | mark(6) | mark(7) != 0
}
