//! A form that a line break cuts in two.
//!
//! `base64`, `xxd -p` and the contents that some interfaces return are broken into lines, as bytes or, inside
//! JSON, as `\n`. This follows a form across such breaks, next to the plain search and never instead of it: what
//! looks like a break may as well be text. It starts when a break comes after eight bytes of a form, and
//! ends when what follows continues no form. What is wrapped holds no backslash, so after a break a backslash
//! either spells the next break or ends the search; reading it both ways was rejected for what it costs in code.

use super::automaton::{Automaton, Node, ROOT};
use super::filter::SHORTEST;

/// A carriage return and a line feed, both spelled as escapes. More is an empty line, and nothing wraps like that;
/// refusing it bounds what is kept.
const LONGEST_BREAK: u64 = 4;

struct LineBreak {
    at: u64,
    length: u64,
}

impl LineBreak {
    fn end(&self) -> u64 {
        self.at + self.length
    }
}

/// The longest end of the stream, line breaks left out, that starts a form and has a break in it.
pub(super) struct Wrapped {
    node: Node,
    breaks: Vec<LineBreak>,
    /// The position after the last byte or break that was taken.
    end: u64,
    after: After,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Text,
    LineBreak,
    /// Not counted in `end` until it turns out to spell a break.
    Backslash,
}

impl Wrapped {
    /// The plain search stands at `node`, and what may be a break follows.
    pub(super) fn start(automaton: &Automaton, node: Node, end: u64) -> Option<Self> {
        (automaton.depth(node) >= SHORTEST).then(|| Self {
            node,
            breaks: Vec::new(),
            end,
            after: After::Text,
        })
    }

    pub(super) fn step(mut self, automaton: &Automaton, byte: u8) -> Option<Self> {
        match (byte, self.after) {
            (b'n' | b'r', After::Backslash) => self.line_break(2),
            (_, After::Backslash) => None,
            (b'\n' | b'\r', _) => self.line_break(1),
            (b'\\', _) => self.may_break(2).then(|| {
                self.after = After::Backslash;
                self
            }),
            _ => self.text(automaton, byte),
        }
    }

    /// Lines of a few bytes are not how anything wraps.
    fn may_break(&self, length: u64) -> bool {
        self.breaks.last().is_none_or(|last| match self.end - last.end() {
            0 => last.length + length <= LONGEST_BREAK,
            line => line >= SHORTEST as u64,
        })
    }

    fn line_break(mut self, length: u64) -> Option<Self> {
        if !self.may_break(length) {
            return None;
        }
        match self.breaks.last_mut() {
            Some(last) if last.end() == self.end => last.length += length,
            _ => self.breaks.push(LineBreak { at: self.end, length }),
        }
        self.end += length;
        self.after = After::LineBreak;
        Some(self)
    }

    fn text(mut self, automaton: &Automaton, byte: u8) -> Option<Self> {
        self.end += 1;
        self.after = After::Text;
        loop {
            if let Some(child) = automaton.child(self.node, byte)
                && self.start_of(automaton, child).is_some()
            {
                self.node = child;
                return Some(self);
            }
            if self.node == ROOT {
                return None;
            }
            self.node = automaton.fail(self.node);
        }
    }

    /// The longest form that ends with the last byte: where it starts, and its node.
    pub(super) fn output(&self, automaton: &Automaton) -> Option<(u64, Node)> {
        if self.after != After::Text {
            return None;
        }
        let mut candidate = automaton.output(self.node);
        while let Some(node) = candidate {
            if let Some(start) = self.start_of(automaton, node) {
                return Some((start, node));
            }
            candidate = automaton.output(automaton.fail(node));
        }
        None
    }

    /// Goes back from a whole form to the longest suffix that may still grow.
    pub(super) fn settle(mut self, automaton: &Automaton) -> Option<Self> {
        if self.after == After::Text {
            while automaton.is_leaf(self.node) || self.start_of(automaton, self.node).is_none() {
                if self.node == ROOT {
                    return None;
                }
                self.node = automaton.fail(self.node);
            }
            let (start, _) = self.live(automaton);
            self.breaks.retain(|line_break| line_break.at >= start);
        }
        Some(self)
    }

    /// Where it starts, and how far it got.
    pub(super) fn live(&self, automaton: &Automaton) -> (u64, Node) {
        let mut start = self.end - automaton.depth(self.node) as u64;
        for line_break in self.breaks.iter().rev() {
            if start < line_break.end() {
                start -= line_break.length;
            }
        }
        (start, self.node)
    }

    /// Where the string of `node` starts if it ends here; none if no break is in it, which is the plain search's
    /// business, or if one is in its first eight bytes.
    fn start_of(&self, automaton: &Automaton, node: Node) -> Option<u64> {
        let mut start = self.end - automaton.depth(node) as u64;
        let mut crossed = false;
        for line_break in self.breaks.iter().rev() {
            if start >= line_break.end() {
                break;
            }
            start = start.checked_sub(line_break.length)?;
            crossed = true;
            if line_break.at < start + SHORTEST as u64 {
                return None;
            }
        }
        crossed.then_some(start)
    }
}
