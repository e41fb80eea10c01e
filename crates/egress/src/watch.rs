//! Tokens in what goes out as it comes: nobody waits for its end, so one that is found there breaks it off.
//!
//! Nothing is held back. A token is worth nothing to an upstream, so its first half may be there when the second one
//! shows what it is; what counts is that the request does not succeed, and that it is known.

use std::sync::Arc;

use cofferdam_audit::event::EgressReason;

use crate::serve::Inbound;

/// Follows one body, or one message after another.
pub(crate) struct Watch {
    inbound: Arc<Inbound>,
    /// What it means if there is one.
    found: EgressReason,
    /// The end of what was seen, which may be the start of a token.
    before: Vec<u8>,
}

impl Watch {
    pub fn new(inbound: Arc<Inbound>, found: EgressReason) -> Self {
        Self { inbound, found, before: Vec::new() }
    }

    /// What follows has nothing to do with what came before.
    pub fn begin_anew(&mut self) {
        self.before.clear();
    }

    pub fn look(&mut self, piece: &[u8]) -> Result<(), EgressReason> {
        let tokens = &self.inbound.engine.tokens;
        let Some(overlap) = tokens.longest().checked_sub(1) else { return Ok(()) };
        match follow(&mut self.before, piece, overlap, |text| tokens.stand_written_in(text)) {
            true => Err(self.found),
            false => Ok(()),
        }
    }
}

/// Looks into the next piece of a text, of which `before` is as much of the end as a token has without its last
/// byte. What is found in a piece ends in it.
fn follow(
    before: &mut Vec<u8>,
    piece: &[u8],
    overlap: usize,
    mut found_in: impl FnMut(&[u8]) -> bool,
) -> bool {
    if piece.len() <= overlap {
        before.extend_from_slice(piece);
        let found = found_in(before);
        before.drain(..before.len().saturating_sub(overlap));
        return found;
    }
    let mut found = found_in(piece);
    if !before.is_empty() {
        before.extend_from_slice(&piece[..overlap]);
        found |= found_in(before);
        before.clear();
    }
    before.extend_from_slice(&piece[piece.len() - overlap..]);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn req_e29_what_is_looked_for_is_found_however_the_text_is_cut() {
        let (token, overlap) = (b"abcdef", 5);
        let is_there = |text: &[u8]| memchr::memmem::find(text, token).is_some();
        for text in [
            &b"abcdef"[..],
            b"xabcdefxx",
            b"xxxxxxxxabcdefxxxxxxxxxx",
            b"abcabcdef",
            b"abcdeabcde",
            b"xabcdxef",
        ] {
            for one in 0..=text.len() {
                for other in one..=text.len() {
                    let mut before = Vec::new();
                    let pieces = [&text[..one], &text[one..other], &text[other..]];
                    let found = pieces.map(|piece| follow(&mut before, piece, overlap, is_there));
                    assert_eq!(found.contains(&true), is_there(text), "{text:?} at {one} and {other}");
                    assert!(before.len() <= overlap);
                }
            }
            let mut before = Vec::new();
            let mut bytes = text.chunks(1);
            assert_eq!(bytes.any(|piece| follow(&mut before, piece, overlap, is_there)), is_there(text));
        }
    }
}
