//! A form that a line break cuts in two.
//!
//! `base64`, `xxd -p` and the contents that some interfaces return are broken into lines, as bytes or, inside
//! JSON, as `\n`. This follows a form across such breaks, next to the plain search and never instead of it: what
//! looks like a break may as well be text. It starts when a break comes after eight bytes of a form, and
//! ends when what follows continues no form.

use super::automaton::{Automaton, Node, ROOT};
use super::filter::SHORTEST;

#[derive(Clone, Copy)]
pub(super) struct LineBreak {
    at: u64,
    length: u64,
    open: Open,
}

/// A carriage return may be half of a break.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Complete,
    AwaitsLineFeed,
}

impl LineBreak {
    /// `byte` is the control character, or the letter after a backslash; `at` is where its spelling starts.
    pub(super) fn new(byte: u8, at: u64) -> Self {
        let (length, open) = match byte {
            b'\r' => (1, Open::AwaitsLineFeed),
            b'r' => (2, Open::AwaitsLineFeed),
            b'n' => (2, Open::Complete),
            _ => (1, Open::Complete),
        };
        Self { at, length, open }
    }

    fn end(&self) -> u64 {
        self.at + self.length
    }
}

/// The longest end of the stream, line breaks left out, that starts a form and has a break in it.
#[derive(Clone)]
pub(super) struct Wrapped {
    node: Node,
    breaks: Vec<LineBreak>,
}

impl Wrapped {
    /// The plain search stands at `node`, and a break may follow.
    pub(super) fn start(automaton: &Automaton, node: Node) -> Option<Self> {
        (automaton.depth(node) >= SHORTEST).then(|| Self { node, breaks: Vec::new() })
    }

    /// Two breaks in a row, or lines of a few bytes, are not how anything wraps; refusing them bounds what is kept.
    pub(super) fn line_break(mut self, next: LineBreak) -> Option<Self> {
        if let Some(last) = self.breaks.last_mut() {
            let between = next.at - last.end();
            if between == 0 && last.open == Open::AwaitsLineFeed && next.open == Open::Complete {
                last.length += next.length;
                last.open = Open::Complete;
                return Some(self);
            }
            if between < SHORTEST as u64 {
                return None;
            }
        }
        self.breaks.push(next);
        Some(self)
    }

    /// `end` is the position after `byte`.
    pub(super) fn step(mut self, automaton: &Automaton, byte: u8, end: u64) -> Option<Self> {
        loop {
            if let Some(child) = automaton.child(self.node, byte)
                && self.start_of(automaton, child, end).is_some()
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

    /// The longest form that ends at `end`: where it starts, and its node.
    pub(super) fn output(&self, automaton: &Automaton, end: u64) -> Option<(u64, Node)> {
        let mut candidate = automaton.output(self.node);
        while let Some(node) = candidate {
            if let Some(start) = self.start_of(automaton, node, end) {
                return Some((start, node));
            }
            candidate = automaton.output(automaton.fail(node));
        }
        None
    }

    /// Goes back from a whole form to the longest suffix that may still grow.
    pub(super) fn settle(mut self, automaton: &Automaton, end: u64) -> Option<Self> {
        while automaton.is_leaf(self.node) || self.start_of(automaton, self.node, end).is_none() {
            if self.node == ROOT {
                return None;
            }
            self.node = automaton.fail(self.node);
        }
        let (start, _) = self.live(automaton, end);
        self.breaks.retain(|line_break| line_break.at >= start);
        Some(self)
    }

    /// Where it starts, and how far it got. Before the first break it is the plain search's own start.
    pub(super) fn live(&self, automaton: &Automaton, end: u64) -> (u64, Node) {
        let mut start = end - automaton.depth(self.node) as u64;
        for line_break in self.breaks.iter().rev() {
            if start < line_break.end() {
                start -= line_break.length;
            }
        }
        (start, self.node)
    }

    /// Where the string of `node` starts if it ends at `end`; none if no break is in it, which is the plain search's
    /// business, or if one is in its first eight bytes.
    fn start_of(&self, automaton: &Automaton, node: Node, end: u64) -> Option<u64> {
        let mut start = end - automaton.depth(node) as u64;
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
