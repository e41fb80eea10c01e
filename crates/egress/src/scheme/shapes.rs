//! Looking for tokens by their shape in any text.

use cofferdam_policy::provider::{Alphabet, TokenForm};
use memchr::memmem::Finder;

use super::encoded::Encoded;

/// Encoded data has runs of any length, and to ask about each place in them would cost more than the rest of a request:
/// of a longer run than this only both ends are asked about.
const LONGEST_RUN: usize = 512;

/// The shapes of all tokens that were handed out. Tokens themselves may be known by their digests alone, so
/// a text is searched for what could be one, and the caller's `is_ours` decides.
pub struct TokenShapes {
    shapes: Vec<Shape>,
    encoded: Encoded,
}

struct Shape {
    prefix: Option<Finder<'static>>,
    prefix_length: usize,
    length: usize,
    members: [bool; 256],
}

impl TokenShapes {
    pub fn new<'f>(forms: impl IntoIterator<Item = &'f TokenForm>) -> Self {
        let mut known: Vec<&TokenForm> = Vec::new();
        for form in forms {
            if !known.contains(&form) {
                known.push(form);
            }
        }
        let encoded = Encoded::of(known.iter().copied());
        Self { shapes: known.into_iter().map(Shape::of).collect(), encoded }
    }

    /// The length of the longest writing of a token of all shapes.
    pub fn longest(&self) -> usize {
        let plain = self.shapes.iter().map(|shape| shape.prefix_length + shape.length).max();
        plain.unwrap_or(0).max(self.encoded.longest())
    }

    /// The same as [`any`](Self::any) for a text that goes by: tokens in another writing are found as well, if they
    /// begin with something of their own.
    pub fn any_writing(&self, text: &[u8], mut is_ours: impl FnMut(&[u8]) -> bool) -> bool {
        let mut others = self.shapes.iter().filter(|shape| !Encoded::covers(shape.prefix_length));
        others.any(|shape| shape.any(text, &mut is_ours)) || self.encoded.any(text, is_ours)
    }

    /// Whether `is_ours` says yes to some part of the text that has the shape of a token. Parts overlap: a
    /// token directly between other characters of its own alphabet is found as well, unless it has nothing
    /// that it begins with and there are very many of them.
    pub fn any(&self, text: &[u8], mut is_ours: impl FnMut(&[u8]) -> bool) -> bool {
        self.shapes.iter().any(|shape| shape.any(text, &mut is_ours))
    }
}

impl Shape {
    fn of(form: &TokenForm) -> Self {
        let alphabet: Alphabet = form.alphabet;
        let mut members = [false; 256];
        for byte in alphabet.characters().bytes() {
            members[usize::from(byte)] = true;
        }
        let prefix = (!form.prefix.is_empty()).then(|| Finder::new(form.prefix.as_bytes()).into_owned());
        Self { prefix, prefix_length: form.prefix.len(), length: form.length.into(), members }
    }

    fn any(&self, text: &[u8], is_ours: &mut impl FnMut(&[u8]) -> bool) -> bool {
        match &self.prefix {
            Some(prefix) => overlapping(prefix, text).any(|at| {
                let token = text.get(at..at + self.prefix_length + self.length);
                token.is_some_and(|token| self.made_of(&token[self.prefix_length..]) && is_ours(token))
            }),
            None => text.split(|byte| !self.members[usize::from(*byte)]).any(|run| match run.len() {
                ..=LONGEST_RUN => run.windows(self.length).any(&mut *is_ours),
                length => is_ours(&run[..self.length]) || is_ours(&run[length - self.length..]),
            }),
        }
    }

    fn made_of(&self, text: &[u8]) -> bool {
        text.iter().all(|byte| self.members[usize::from(*byte)])
    }
}

/// Every place where the prefix begins; `find_iter` would skip those inside an earlier one.
fn overlapping<'t>(prefix: &'t Finder<'static>, text: &'t [u8]) -> impl Iterator<Item = usize> + 't {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + prefix.find(text.get(from..)?)?;
        from = at + 1;
        Some(at)
    })
}
