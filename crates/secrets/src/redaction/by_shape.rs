//! The second net in one stream: finds where a known shape begins, waits until it is certain, and swallows it to
//! its end, however far that is.

use super::output::{Output, Passed};
use super::redactor::Replacement;
use super::shapes::{SHAPES, Shape};
use aho_corasick::{AhoCorasick, Input, MatchKind, Span, packed};
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::{Arc, LazyLock};
use zeroize::Zeroizing;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    Hex,
    Alphanumeric,
    UpperAlphanumeric,
    Base64Url,
    /// Base64 and the dots between.
    Jwt,
    /// Up to and with the closing line.
    PemBody,
}

impl Alphabet {
    fn holds(self, byte: u8) -> bool {
        match self {
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::UpperAlphanumeric => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Base64Url => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
            Self::Jwt => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
            // Line breaks as bytes or escaped, headers of encrypted keys, and the closing line.
            Self::PemBody => byte.is_ascii_alphanumeric() || b"+/=\r\n\t \\:,-".contains(&byte),
        }
    }
}

/// Vectorised where the processor can, otherwise an automaton.
enum Beginnings {
    Packed(packed::Searcher),
    Automaton(AhoCorasick),
}

static BEGINNINGS: LazyLock<Beginnings> = LazyLock::new(|| {
    let literals = literals();
    match packed::Builder::new().extend(&literals).build() {
        Some(searcher) => Beginnings::Packed(searcher),
        None => Beginnings::Automaton(
            AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostFirst)
                .build(&literals)
                .expect("the built-in beginnings are few and short"),
        ),
    }
});

impl Beginnings {
    fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        let found = match self {
            Self::Packed(searcher) => searcher.find_in(text, Span::from(from..text.len())),
            Self::Automaton(automaton) => automaton.find(Input::new(text).range(from..)),
        };
        found.map(|found| found.start())
    }
}

/// Beginnings of beginnings, none of which starts another: the fewer there are, the faster they are found, and all
/// shapes are tried wherever one of them stands.
fn literals() -> Vec<&'static [u8]> {
    let mut literals: Vec<&[u8]> = shapes().map(|shape| beginning(shape.parts[0].literal)).collect();
    literals.sort_unstable();
    literals.dedup_by(|later, first| later.starts_with(first));
    literals
}

fn beginning(literal: &[u8]) -> &[u8] {
    &literal[..literal.len().min("-----BEGIN ".len())]
}

pub(super) fn shapes() -> impl Iterator<Item = &'static Shape> {
    SHAPES.into_iter().flatten()
}

pub(super) struct ByShape {
    replacement: Replacement,
    except: Arc<BTreeSet<Vec<u8>>>,
    held: Zeroizing<Vec<u8>>,
    /// The last bytes before `held`: a key does not begin in the middle of a word.
    before: [u8; 3],
    swallowing: Option<Swallowing>,
    matches: u64,
    finding: Finding,
}

/// How beginnings are found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    /// By what is compiled once for all streams of a process.
    Compiled,
    /// One after the other: a process that looks at a line or two would compile for longer than it looks.
    InTurn,
}

struct Swallowing {
    alphabet: Alphabet,
    /// Of a closing line: dashes in a row, and groups of five that were seen.
    dashes: u8,
    groups: u8,
}

/// What a text that begins like a shape turns out to be.
enum Judgement {
    /// Certain after this many bytes.
    Key(&'static Shape, usize),
    /// The text ends too early to say.
    Open,
    Nothing,
}

impl ByShape {
    pub(super) fn new(replacement: Replacement, except: Arc<BTreeSet<Vec<u8>>>) -> Self {
        let held = Zeroizing::new(Vec::new());
        let finding = Finding::Compiled;
        Self { replacement, except, held, before: [0; 3], swallowing: None, matches: 0, finding }
    }

    pub(super) fn find_in_turn(&mut self) {
        self.finding = Finding::InTurn;
    }

    pub(super) fn matches(&self) -> u64 {
        self.matches
    }

    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    pub(super) fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Passed {
        if self.held.is_empty() {
            let mut output = Output::new(chunk, out);
            let kept = self.search(chunk, &mut output);
            self.held.extend_from_slice(&chunk[kept..]);
            return output.passed();
        }
        let mut joined = Zeroizing::new(Vec::with_capacity(self.held.len() + chunk.len()));
        joined.extend_from_slice(&self.held);
        joined.extend_from_slice(chunk);
        self.held.clear();
        self.push_all(&joined, out)
    }

    pub(super) fn push_all(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Passed {
        if let Passed::Prefix(end) = self.push(chunk, out) {
            out.extend_from_slice(&chunk[..end]);
        }
        Passed::Written
    }

    /// What was kept back is too short to be a key, or is exactly a value to leave alone.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.held);
        self.held = Zeroizing::new(Vec::new());
    }

    /// Returns where the bytes begin that have to be kept.
    fn search(&mut self, text: &[u8], output: &mut Output<'_>) -> usize {
        let mut passed = self.swallow(text, 0, output);
        let mut at = passed;
        let kept = loop {
            let Some(begin) = self.next_beginning(text, at) else {
                break self.unfinished_beginning(text, at);
            };
            at = begin + 1;
            if !self.may_begin(text, begin) {
                continue;
            }
            match self.judge(&text[begin..]) {
                Judgement::Open => break begin,
                Judgement::Nothing => {}
                Judgement::Key(shape, length) => {
                    output.pass(passed, begin);
                    self.matches += 1;
                    self.replacement.begin(shape.label, output);
                    self.replacement.cover(length, output);
                    self.swallowing = Some(Swallowing { alphabet: shape.tail, dashes: 0, groups: 0 });
                    passed = self.swallow(text, begin + length, output);
                    at = passed;
                }
            }
        };
        output.pass(passed, kept);
        self.remember(&text[..kept]);
        kept
    }

    fn next_beginning(&self, text: &[u8], from: usize) -> Option<usize> {
        match self.finding {
            Finding::Compiled => BEGINNINGS.find(text, from),
            // Most places are in the middle of a word, where nothing begins.
            Finding::InTurn => (from..text.len()).find(|at| {
                self.may_begin(text, *at)
                    && shapes().any(|shape| text[*at..].starts_with(beginning(shape.parts[0].literal)))
            }),
        }
    }

    /// Goes on swallowing from `from`, and returns where that ends.
    fn swallow(&mut self, text: &[u8], from: usize, output: &mut Output<'_>) -> usize {
        let Some(swallowing) = &mut self.swallowing else { return from };
        let rest = &text[from..];
        let length = rest.iter().position(|byte| swallowing.ends_before(*byte));
        if length.is_some() {
            self.swallowing = None;
        }
        let length = length.unwrap_or(rest.len());
        self.replacement.cover(length, output);
        from + length
    }

    fn judge(&self, text: &[u8]) -> Judgement {
        let mut open = false;
        for shape in shapes() {
            match judge(shape, text) {
                Judgement::Key(shape, length) => return self.exempt(shape, length, text),
                Judgement::Open => open = true,
                Judgement::Nothing => {}
            }
        }
        if open { Judgement::Open } else { Judgement::Nothing }
    }

    /// A key unless it is, or may become, exactly one of the values to leave alone.
    fn exempt(&self, shape: &'static Shape, length: usize, text: &[u8]) -> Judgement {
        let run = text.iter().position(|byte| !shape.tail.holds(*byte));
        let value = &text[..run.unwrap_or(text.len())];
        let longer = self.except.range::<[u8], _>((Bound::Included(value), Bound::Unbounded)).next();
        match longer {
            Some(except) if run.is_some() && except == value => Judgement::Nothing,
            Some(except) if run.is_none() && except.starts_with(value) => Judgement::Open,
            _ => Judgement::Key(shape, length),
        }
    }

    /// The end of `text` that is the beginning of a beginning.
    fn unfinished_beginning(&self, text: &[u8], from: usize) -> usize {
        let longest = shapes().map(|shape| shape.parts[0].literal.len()).max().unwrap_or(0);
        (from.max((text.len() + 1).saturating_sub(longest))..text.len())
            .find(|at| {
                self.may_begin(text, *at)
                    && shapes().any(|shape| shape.parts[0].literal.starts_with(&text[*at..]))
            })
            .unwrap_or(text.len())
    }

    /// Not in the middle of a word; the letter of an escaped control character and a percent-encoded byte
    /// are no part of a word.
    fn may_begin(&self, text: &[u8], at: usize) -> bool {
        let byte = |back: usize| match at.checked_sub(back) {
            Some(index) => text[index],
            None => self.before[3 + at - back],
        };
        let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        !word(byte(1))
            || (byte(2) == b'\\' && b"nrt".contains(&byte(1)))
            || (byte(3) == b'%' && byte(2).is_ascii_hexdigit() && byte(1).is_ascii_hexdigit())
    }

    fn remember(&mut self, passed: &[u8]) {
        for byte in &passed[passed.len().saturating_sub(3)..] {
            self.before = [self.before[1], self.before[2], *byte];
        }
    }
}

impl Swallowing {
    fn ends_before(&mut self, byte: u8) -> bool {
        if self.alphabet != Alphabet::PemBody {
            return !self.alphabet.holds(byte);
        }
        let ended = self.groups == 2;
        self.dashes = if byte == b'-' { self.dashes + 1 } else { 0 };
        if self.dashes == 5 {
            (self.dashes, self.groups) = (0, self.groups + 1);
        }
        ended || !self.alphabet.holds(byte)
    }
}

fn judge(shape: &'static Shape, text: &[u8]) -> Judgement {
    let mut at = 0;
    for (index, part) in shape.parts.iter().enumerate() {
        let rest = &text[at..];
        if rest.len() < part.literal.len() && part.literal.starts_with(rest) {
            return Judgement::Open;
        }
        if !rest.starts_with(part.literal) {
            return Judgement::Nothing;
        }
        let run = &rest[part.literal.len()..];
        let last = index + 1 == shape.parts.len();
        let most = if last { part.least } else { part.most };
        let length = run.iter().take(most).take_while(|byte| part.alphabet.holds(**byte)).count();
        if length == run.len() && length < most {
            return Judgement::Open;
        }
        if length < part.least {
            return Judgement::Nothing;
        }
        at += part.literal.len() + length;
    }
    Judgement::Key(shape, at)
}
