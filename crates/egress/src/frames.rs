//! The frames of a WebSocket (RFC 6455), followed as bytes pass: messages are looked into, frames are left as they are.
//!
//! What is looked for has as many bytes put in as are taken out, so that no length changes and no frame is built
//! anew. A message may be cut into frames anywhere, with control frames between them; a secret in it is found all the
//! same, because what is searched is the message and not the frame.

use std::collections::VecDeque;
use std::sync::Arc;

use cofferdam_secrets::redaction::{Patterns, Redactor, Replacement};

/// The first two bytes, the longest length, and a mask.
const LONGEST_HEAD: usize = 2 + 8 + 4;

/// The end of a frame was not where it could be: not a WebSocket, or not one that we understand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// Follows the frames of one direction.
#[derive(Debug, Default)]
struct Frames {
    head: Vec<u8>,
    /// Of the frame whose payload is passing.
    left: u64,
    now: Frame,
}

#[derive(Debug, Clone, Copy, Default)]
struct Frame {
    control: bool,
    /// The last of its message.
    ends: bool,
    mask: Option<[u8; 4]>,
    /// Where in the mask the next byte of payload is.
    at: usize,
}

/// A stretch of what passes.
enum Part<'b> {
    /// What frames a message, or a control frame: nobody's text.
    Between(&'b [u8]),
    Message(&'b [u8], Frame),
}

impl Frames {
    /// Takes the next stretch off the front of `bytes`.
    fn next<'b>(&mut self, bytes: &mut &'b [u8]) -> Result<Option<Part<'b>>, Malformed> {
        if bytes.is_empty() {
            return Ok(None);
        }
        if self.left == 0 {
            return self.head(bytes).map(|part| Some(Part::Between(part)));
        }
        let count = usize::try_from(self.left).map_or(bytes.len(), |left| left.min(bytes.len()));
        let (payload, rest) = bytes.split_at(count);
        *bytes = rest;
        self.left -= count as u64;
        let frame = self.now;
        self.now.at = (frame.at + count) % 4;
        Ok(Some(if frame.control { Part::Between(payload) } else { Part::Message(payload, frame) }))
    }

    fn head<'b>(&mut self, bytes: &mut &'b [u8]) -> Result<&'b [u8], Malformed> {
        let whole = *bytes;
        while let Some((byte, rest)) = bytes.split_first() {
            *bytes = rest;
            self.head.push(*byte);
            if let Some((frame, length)) = read_head(&self.head)? {
                self.head.clear();
                (self.now, self.left) = (frame, length);
                break;
            }
        }
        Ok(&whole[..whole.len() - bytes.len()])
    }

    /// Whether a message has just ended with what was passed.
    fn at_end_of_message(&self) -> bool {
        self.left == 0 && self.head.is_empty() && self.now.ends && !self.now.control
    }
}

/// The frame that this head begins, and the length of its payload; nothing if there must be more of it.
fn read_head(head: &[u8]) -> Result<Option<(Frame, u64)>, Malformed> {
    let [first, second, rest @ ..] = head else { return Ok(None) };
    let (code, masked) = (first & 0x0f, second & 0x80 != 0);
    // Bits that only an extension gives a meaning to, and none was agreed on.
    if first & 0x70 != 0 || !matches!(code, 0..=2 | 8..=10) {
        return Err(Malformed);
    }
    let control = code >= 8;
    let (length, taken) = match second & 0x7f {
        126 | 127 if control => return Err(Malformed),
        126 => match rest.first_chunk::<2>() {
            Some(bytes) => (u64::from(u16::from_be_bytes(*bytes)), 2),
            None => return Ok(None),
        },
        127 => match rest.first_chunk::<8>() {
            Some(bytes) => (u64::from_be_bytes(*bytes), 8),
            None => return Ok(None),
        },
        short => (u64::from(short), 0),
    };
    let mask = match masked {
        true => match rest[taken..].first_chunk::<4>() {
            Some(mask) => Some(*mask),
            None => return Ok(None),
        },
        false => None,
    };
    debug_assert!(head.len() <= LONGEST_HEAD, "a head has an end");
    Ok(Some((Frame { control, ends: first & 0x80 != 0, mask, at: 0 }, length)))
}

/// Messages to a client, with every known secret covered.
pub struct Covered {
    frames: Frames,
    patterns: Arc<Patterns>,
    redactor: Redactor,
    /// How much of all messages has gone in and come out again, and what goes in between, by the place in the former.
    taken: u64,
    given: u64,
    between: VecDeque<(u64, Vec<u8>)>,
    shown: Vec<u8>,
    matches: u64,
}

impl Covered {
    pub fn new(patterns: Arc<Patterns>) -> Self {
        let redactor = Redactor::new(patterns.clone(), Replacement::SameLength(b'*'));
        Self {
            frames: Frames::default(),
            patterns,
            redactor,
            taken: 0,
            given: 0,
            between: VecDeque::new(),
            shown: Vec::new(),
            matches: 0,
        }
    }

    /// Appends to `out` what may be passed on after this piece.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        while let Some(part) = self.frames.next(&mut bytes)? {
            match part {
                Part::Between(framing) => self.frame(framing, out),
                Part::Message(text, frame) => self.message(text, frame, out),
            }
            if self.frames.at_end_of_message() {
                self.end_message(out);
            }
        }
        Ok(())
    }

    /// How many stretches have been covered so far.
    pub fn matches(&self) -> u64 {
        self.matches + self.redactor.matches()
    }

    fn frame(&mut self, framing: &[u8], out: &mut Vec<u8>) {
        match self.taken == self.given {
            true => out.extend_from_slice(framing),
            false => self.between.push_back((self.taken, framing.to_vec())),
        }
    }

    fn message(&mut self, text: &[u8], frame: Frame, out: &mut Vec<u8>) {
        self.taken += text.len() as u64;
        match frame.mask {
            None => self.redactor.push_all(text, &mut self.shown),
            // A server must not; if it does, there is nothing in it that a client would read.
            Some(_) => self.shown.extend_from_slice(text),
        }
        self.give(out);
    }

    /// What was kept back is the end of a message and not the start of a secret.
    fn end_message(&mut self, out: &mut Vec<u8>) {
        if self.redactor.held() == 0 {
            return;
        }
        self.redactor.finish(&mut self.shown);
        self.matches += self.redactor.matches();
        self.redactor = Redactor::new(self.patterns.clone(), Replacement::SameLength(b'*'));
        self.give(out);
    }

    /// Puts what is shown and what goes in between into one row again.
    fn give(&mut self, out: &mut Vec<u8>) {
        let mut shown = self.shown.as_slice();
        while let Some((at, framing)) =
            self.between.pop_front_if(|(at, _)| *at <= self.given + shown.len() as u64)
        {
            let (before, rest) = shown.split_at(usize::try_from(at - self.given).unwrap_or(shown.len()));
            out.extend_from_slice(before);
            out.extend_from_slice(&framing);
            (self.given, shown) = (at, rest);
        }
        out.extend_from_slice(shown);
        self.given += shown.len() as u64;
        self.shown.clear();
    }
}

/// Messages from a client, without their masks, for whoever looks into them.
#[derive(Debug, Default)]
pub struct Unmasked {
    frames: Frames,
}

impl Unmasked {
    /// Calls `look` with each stretch of text; after the last of a message with nothing.
    pub fn push(&mut self, mut bytes: &[u8], mut look: impl FnMut(&[u8])) -> Result<(), Malformed> {
        while let Some(part) = self.frames.next(&mut bytes)? {
            if let Part::Message(text, frame) = part {
                match frame.mask {
                    Some(mask) => {
                        let key = mask.iter().cycle().skip(frame.at);
                        look(&text.iter().zip(key).map(|(byte, key)| byte ^ key).collect::<Vec<_>>());
                    }
                    None => look(text),
                }
            }
            if self.frames.at_end_of_message() {
                look(&[]);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
