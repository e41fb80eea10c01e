//! The first net: the forms of known secrets, in one stream.

use super::automaton::{Node, ROOT};
use super::filter::SHORTEST;
use super::output::{Output, Passed};
use super::patterns::Patterns;
use super::redactor::Replacement;
use super::wrapped::Wrapped;
use std::collections::VecDeque;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// At the end of a stream, the start of a form that is at least this long is taken for a secret that was cut
/// off: a program that shortens its output must not thereby show all of a key but its last letter.
pub(super) const CUT_OFF: usize = 16;
/// As long as the automaton is deeper than this, it goes on byte by byte; the filter is not worth restarting.
const SHALLOW: usize = 3;

pub(super) struct ByValue {
    patterns: Arc<Patterns>,
    replacement: Replacement,
    /// Bytes read so far.
    position: u64,
    /// Bytes passed on or replaced so far; `held` is what lies between the two after a push.
    settled: u64,
    held: Zeroizing<Vec<u8>>,
    plain: Node,
    wrapped: Option<Wrapped>,
    found: VecDeque<Found>,
    matches: u64,
}

/// A stretch to be replaced. Stretches do not overlap and are in order.
struct Found {
    start: u64,
    end: u64,
    label: u32,
    told: Told,
}

/// Whether the marker for a stretch is already out, when its end is not yet known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    NotYet,
    Already,
}

impl ByValue {
    pub(super) fn new(patterns: Arc<Patterns>, replacement: Replacement) -> Self {
        Self {
            patterns,
            replacement,
            position: 0,
            settled: 0,
            held: Zeroizing::new(Vec::new()),
            plain: ROOT,
            wrapped: None,
            found: VecDeque::new(),
            matches: 0,
        }
    }

    pub(super) fn replacement(&self) -> Replacement {
        self.replacement
    }

    pub(super) fn matches(&self) -> u64 {
        self.matches
    }

    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    pub(super) fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Passed {
        let start = self.position;
        self.search(chunk);
        let mut output = Output::new(chunk, out);
        let (live, _) = self.live();
        self.settle(live, start, &mut output);
        self.keep(chunk, start);
        output.passed()
    }

    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        let (live, node) = self.live();
        let automaton = &self.patterns.automaton;
        if automaton.depth(node) >= CUT_OFF {
            let label = automaton.label_below(node);
            self.record(live, label);
        }
        let (end, mut output) = (self.position, Output::new(&[], out));
        self.settle(end, end, &mut output);
        self.held.zeroize();
        (self.plain, self.wrapped) = (ROOT, None);
    }

    /// Alternates between the filter, which finds where a form may start, and the automaton, which follows it.
    fn search(&mut self, chunk: &[u8]) {
        let patterns = Arc::clone(&self.patterns);
        let start = self.position;
        let mut at = 0;
        // The automaton goes at least this far, so that the filter does not stop at the same place again.
        let mut until = 0;
        while at < chunk.len() {
            match self.idle(at) {
                Some(from) if at >= until => {
                    self.plain = ROOT;
                    match patterns.filter.find(chunk, from) {
                        Some(start) => {
                            at = start;
                            until = start + SHALLOW + 1;
                        }
                        // Only what has fewer than eight bytes here can have escaped the filter.
                        None => {
                            at = from.max((chunk.len() + 1).saturating_sub(SHORTEST));
                            until = chunk.len();
                        }
                    }
                    self.position = start + at as u64;
                }
                _ => {
                    self.step(&patterns, chunk[at]);
                    at += 1;
                }
            }
        }
    }

    /// Where the filter may take over in this chunk, when nothing but a few bytes of it are under way.
    fn idle(&self, at: usize) -> Option<usize> {
        let depth = self.patterns.automaton.depth(self.plain);
        (depth <= SHALLOW && depth <= at && self.wrapped.is_none()).then(|| at - depth)
    }

    fn step(&mut self, patterns: &Patterns, byte: u8) {
        let automaton = &patterns.automaton;
        self.position += 1;
        // Line breaks are rare; without one under way, none of this needs to be looked at.
        if self.wrapped.is_some() || matches!(byte, b'\n' | b'\r' | b'\\') {
            self.step_wrapped(patterns, byte);
        }
        self.plain = automaton.step(self.plain, byte);
        if let Some(node) = automaton.output(self.plain) {
            self.record(self.position - automaton.depth(node) as u64, automaton.label_below(node));
        }
        while automaton.is_leaf(self.plain) {
            self.plain = automaton.fail(self.plain);
        }
    }

    /// Before the plain search takes its step: a line break interrupts what there was before it.
    fn step_wrapped(&mut self, patterns: &Patterns, byte: u8) {
        let automaton = &patterns.automaton;
        let mut wrapped = self.wrapped.take().and_then(|wrapped| wrapped.step(automaton, byte));
        if wrapped.is_none() && matches!(byte, b'\n' | b'\r' | b'\\') {
            wrapped = Wrapped::start(automaton, self.plain, self.position - 1)
                .and_then(|wrapped| wrapped.step(automaton, byte));
        }
        if let Some((start, node)) = wrapped.as_ref().and_then(|wrapped| wrapped.output(automaton)) {
            self.record(start, automaton.label_below(node));
        }
        self.wrapped = wrapped.and_then(|wrapped| wrapped.settle(automaton));
    }

    /// A form ends at the current position: one stretch with all it overlaps.
    fn record(&mut self, start: u64, label: u32) {
        let mut found = Found { start, end: self.position, label, told: Told::NotYet };
        while let Some(last) = self.found.pop_back_if(|last| last.end > start) {
            if last.start < found.start || (last.start, last.end) == (found.start, found.end) {
                found.start = last.start;
                found.label = last.label;
            }
            if last.told == Told::Already {
                found.told = Told::Already;
            }
        }
        self.found.push_back(found);
    }

    /// The first byte that may belong to a form whose end is yet to come, and the form's start in the automaton.
    fn live(&self) -> (u64, Node) {
        let automaton = &self.patterns.automaton;
        let plain = (self.position - automaton.depth(self.plain) as u64, self.plain);
        match self.wrapped.as_ref().map(|wrapped| wrapped.live(automaton)) {
            Some(wrapped) if wrapped.0 < plain.0 => wrapped,
            _ => plain,
        }
    }

    /// Passes on or replaces everything before `limit`. `start` is the position of the chunk.
    fn settle(&mut self, limit: u64, start: u64, output: &mut Output<'_>) {
        while self.settled < limit {
            let upto = match self.found.front_mut() {
                Some(found) if found.start <= self.settled => {
                    let upto = found.end.min(limit);
                    if found.told == Told::NotYet {
                        self.matches += 1;
                        self.replacement.begin(&self.patterns.labels[found.label as usize], output);
                    }
                    self.replacement.cover((upto - self.settled) as usize, output);
                    (found.start, found.told) = (upto, Told::Already);
                    if found.end == upto {
                        self.found.pop_front();
                    }
                    upto
                }
                next => {
                    let upto = next.map_or(limit, |found| found.start.min(limit));
                    self.emit(upto, start, output);
                    upto
                }
            };
            self.settled = upto;
        }
    }

    /// Bytes from `settled` to `upto`, as they are: first those kept from earlier chunks, then those of this one.
    fn emit(&self, upto: u64, start: u64, output: &mut Output<'_>) {
        let first = start - self.held.len() as u64;
        if self.settled < start {
            let kept = (self.settled - first) as usize..(upto.min(start) - first) as usize;
            output.write(&self.held[kept]);
        }
        if upto > start {
            output.pass((self.settled.max(start) - start) as usize, (upto - start) as usize);
        }
    }

    fn keep(&mut self, chunk: &[u8], start: u64) {
        if self.settled >= start {
            self.held.zeroize();
        } else {
            let gone = self.held.len() - (start - self.settled) as usize;
            self.held.drain(..gone);
        }
        let rest = &chunk[self.settled.saturating_sub(start) as usize..];
        if self.held.capacity() < self.held.len() + rest.len() {
            self.grow(rest.len());
        }
        self.held.extend_from_slice(rest);
    }

    /// Into a larger buffer by hand, because growth in place would leave an unwiped copy behind.
    fn grow(&mut self, more: usize) {
        let mut larger =
            Zeroizing::new(Vec::with_capacity((self.held.len() + more).next_power_of_two().max(256)));
        larger.extend_from_slice(&self.held);
        self.held = larger;
    }
}
