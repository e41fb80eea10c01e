//! A text as both parsers see it.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use shuck_ast as ast;
use shuck_parser::parser::{ParseResult, ParseStatus, Parser};

use crate::guarded::guarded;
use crate::{Doubt, HOLE, pieces, plain, scan, second};

/// Shorter texts are parsed as a whole: cutting them would save less than a thread costs.
pub(crate) const CUT_FROM: usize = 8 * 1024;
/// How many threads parse the pieces of a long text.
const THREADS: usize = 2;

/// How a text is read: both are what tests turn, and neither changes what comes out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// Texts of this length and longer are parsed in pieces.
    pub cut_from: usize,
    /// Whether plain text is read here, and not by the parsers.
    pub plainly: bool,
}

impl Default for Manner {
    fn default() -> Self {
        Self { cut_from: CUT_FROM, plainly: true }
    }
}

impl Manner {
    fn plain(self, text: &str) -> Option<ast::File> {
        if self.plainly { plain::read(text) } else { None }
    }
}

#[derive(Debug)]
pub(crate) struct Reading {
    /// The text that was parsed, which its trees refer to.
    text: String,
    /// What stands where in the text, each with the place of its tree.
    pieces: Vec<(Range<usize>, usize)>,
    files: Vec<ast::File>,
    pub doubts: Vec<Doubt>,
}

impl Reading {
    pub fn of(text: &str, manner: Manner) -> Self {
        if text.len() < manner.cut_from.min(scan::LONGEST_SECOND)
            && let Some(file) = manner.plain(text)
        {
            let pieces = vec![(0..text.len(), 0)];
            return Self { text: text.to_owned(), pieces, files: vec![file], doubts: Vec::new() };
        }
        let masked = scan::masked(text);
        let mut doubts = Vec::new();
        if masked.is_some() && text.contains(HOLE) {
            doubts.push(Doubt::Rejected);
        }
        let text = masked.unwrap_or_else(|| text.to_owned());
        if text.len() >= manner.cut_from
            && let Some(reading) = Self::of_pieces(&text, &doubts, manner)
        {
            return reading;
        }
        // The second parser is not given that much; what is plain does not need it.
        if text.len() > scan::LONGEST_SECOND
            && let Some(file) = manner.plain(&text)
        {
            return Self { pieces: vec![(0..text.len(), 0)], text, files: vec![file], doubts };
        }
        let (parsed, opinion) = second::beside(&text, || first(&text));
        let Some(parsed) = parsed else {
            doubts.push(Doubt::Rejected);
            return Self { pieces: Vec::new(), text, files: Vec::new(), doubts };
        };
        if parsed.status != ParseStatus::Clean {
            doubts.push(Doubt::Rejected);
        } else if !second::agrees(opinion, &text, &parsed.file) {
            doubts.push(Doubt::Disagreement);
        }
        Self { pieces: vec![(0..text.len(), 0)], text, files: vec![parsed.file], doubts }
    }

    /// The trees in the order of the text, each with the part of the text that it refers to.
    pub fn pieces(&self) -> impl Iterator<Item = (&ast::File, &str)> {
        self.pieces.iter().map(|(range, file)| (&self.files[*file], &self.text[range.clone()]))
    }

    /// The same text in pieces, of which those that are alike are parsed once. `None` where it cannot be cut, or where the
    /// first parser refuses a piece: then a cut may be wrong, and what the whole text is shows only as a whole.
    fn of_pieces(text: &str, doubts: &[Doubt], manner: Manner) -> Option<Self> {
        let cuts = pieces::of(text);
        if cuts.len() < 2 {
            return None;
        }
        let mut places = HashMap::with_hasher(foldhash::fast::RandomState::default());
        let mut distinct = Vec::new();
        let pieces = cuts.into_iter().map(|range| {
            let piece = &text[range.clone()];
            let place = *places.entry(piece).or_insert_with(|| {
                distinct.push(piece);
                distinct.len() - 1
            });
            (range, place)
        });
        let pieces: Vec<(Range<usize>, usize)> = pieces.collect();
        let mut files: Vec<Option<ast::File>> = distinct.iter().map(|piece| manner.plain(piece)).collect();
        let others: Vec<&str> =
            distinct.iter().zip(&files).filter(|(_, file)| file.is_none()).map(|(piece, _)| *piece).collect();
        // The second parser is slow, so that it is given only so much; what is read plainly has one reading.
        let to_read: usize = others.iter().map(|piece| piece.len()).sum();
        let twice = to_read <= scan::LONGEST_SECOND;
        let mut agree = twice;
        let parsed = if others.is_empty() { Vec::new() } else { parse_all(&others, twice)? };
        let left = files.iter_mut().filter(|file| file.is_none());
        for (place, (file, agrees)) in left.zip(parsed) {
            agree &= agrees;
            *place = Some(file);
        }
        let mut doubts = doubts.to_vec();
        if !agree {
            doubts.push(Doubt::Disagreement);
        }
        let files = files.into_iter().collect::<Option<Vec<_>>>()?;
        Some(Self { text: text.to_owned(), pieces, files, doubts })
    }
}

/// Whether the first parser reads a text from its beginning to its end.
pub(crate) fn is_clean(text: &str) -> bool {
    let text = scan::masked(text).unwrap_or_else(|| text.to_owned());
    first(&text).is_some_and(|parsed| parsed.status == ParseStatus::Clean)
}

/// What the first parser makes of a text, unless it gives up in the middle.
fn first(text: &str) -> Option<ParseResult> {
    guarded(|| Parser::new(text).parse())
}

/// Every piece with whether both parsers agree on it, unless the first one refuses any of them.
fn parse_all(pieces: &[&str], twice: bool) -> Option<Vec<(ast::File, bool)>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(at) else { return Some(done) };
            let Some(parsed) = first(piece).filter(|parsed| parsed.status == ParseStatus::Clean) else {
                next.store(pieces.len(), Ordering::Relaxed);
                return None;
            };
            let agrees = twice && second::agrees_on_piece(piece, &parsed.file);
            done.push((at, parsed.file, agrees));
        }
    };
    let mut all: Vec<Option<(ast::File, bool)>> = pieces.iter().map(|_| None).collect();
    for part in second::several(THREADS, work) {
        for (at, file, agrees) in part?? {
            all[at] = Some((file, agrees));
        }
    }
    all.into_iter().collect()
}
