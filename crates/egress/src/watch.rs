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
        let mut found = tokens.stand_written_in(piece);
        if !self.before.is_empty() || piece.len() < overlap {
            self.before.extend_from_slice(&piece[..piece.len().min(overlap)]);
            found |= tokens.stand_written_in(&self.before);
        }
        if found {
            return Err(self.found);
        }
        if piece.len() >= overlap {
            self.before.clear();
            self.before.extend_from_slice(&piece[piece.len() - overlap..]);
        } else {
            self.before.drain(..self.before.len().saturating_sub(overlap));
        }
        Ok(())
    }
}
