//! What is known of a word after all expansions.

use std::ops::Range;

use compact_str::CompactString;

/// Stands in [`Word::text`] for the part of a word that nobody knows before it runs. A text that contains
/// the character itself is taken for unknown too, which errs on the careful side.
pub const HOLE: char = '\u{FFFC}';

const A_HOLE: CompactString = CompactString::const_new("\u{FFFC}");

/// Longer words are taken for unknown.
const LONGEST: usize = 128 * 1024;

/// Where an unknown part of a word comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A variable that the text itself does not set.
    Variable(String),
    /// The output of these commands, by their place in the order of execution.
    Commands(Range<usize>),
}

/// Most words have no source or one, and then no list of them has to be allocated.
#[derive(Clone, Default)]
enum Sources {
    #[default]
    None,
    One([Source; 1]),
    Many(Vec<Source>),
}

impl Sources {
    fn all(&self) -> &[Source] {
        match self {
            Self::None => &[],
            Self::One(one) => one,
            Self::Many(many) => many,
        }
    }

    fn push(&mut self, source: Source) {
        *self = match std::mem::take(self) {
            Self::None => Self::One([source]),
            Self::One([first]) => Self::Many(vec![first, source]),
            Self::Many(mut many) => {
                many.push(source);
                Self::Many(many)
            }
        };
    }
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.all().fmt(out)
    }
}

impl PartialEq for Sources {
    fn eq(&self, other: &Self) -> bool {
        self.all() == other.all()
    }
}

impl Eq for Sources {}

/// One word of a command after expansion. Unknown parts are [`HOLE`] characters in its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// Most words are short, and then they are kept without an allocation of their own.
    text: CompactString,
    unknown: bool,
    glob: bool,
    /// Whether something of it was left out because there was too much of it.
    cut: bool,
    sources: Sources,
}

impl Word {
    pub fn known(text: impl Into<CompactString>) -> Self {
        let text = text.into();
        Self { unknown: has_hole(&text), glob: false, cut: false, sources: Sources::None, text }
    }

    pub fn unknown(source: Option<Source>) -> Self {
        Self {
            text: A_HOLE,
            unknown: true,
            glob: false,
            cut: false,
            sources: source.map_or(Sources::None, |source| Sources::One([source])),
        }
    }

    /// The text, with [`HOLE`] for what is not known.
    #[inline]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The whole text, when all of it is known. A pathname pattern counts as known.
    #[inline]
    pub fn as_known(&self) -> Option<&str> {
        (!self.unknown).then_some(self.text.as_str())
    }

    #[inline]
    pub fn is_unknown(&self) -> bool {
        self.unknown
    }

    /// Whether something of it was left out because there was too much of it.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Whether nothing is known of it that could be read as a program: all of it is unknown, or a part that may be as long
    /// as one likes was too long to be kept.
    pub fn is_unread(&self) -> bool {
        let nothing = |c: char| c == HOLE || c == ';' || c.is_whitespace();
        self.cut || self.unknown && self.text.chars().all(nothing)
    }

    /// Whether the shell would try to replace it by the names of files.
    #[inline]
    pub fn is_glob(&self) -> bool {
        self.glob
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Where its unknown parts, or parts that were computed, come from.
    pub fn sources(&self) -> &[Source] {
        self.sources.all()
    }

    pub fn push_str(&mut self, text: &str) {
        if self.fits(text) {
            self.unknown |= has_hole(text);
            self.append(text);
        }
    }

    /// What nobody knows, followed by what nobody knows, is what nobody knows: such a word does not grow.
    fn append(&mut self, text: &str) {
        let text =
            if self.unknown && self.text.ends_with(HOLE) { text.trim_start_matches(HOLE) } else { text };
        self.text.push_str(text);
    }

    /// A variable that is set to itself twice doubles at every step; beyond a length nothing is known of a word.
    fn fits(&mut self, text: &str) -> bool {
        let fits = self.text.len() + text.len() <= LONGEST;
        if !fits {
            self.text = A_HOLE;
            self.unknown = true;
            self.cut = true;
        }
        fits
    }

    pub fn push(&mut self, other: &Word) {
        if self.fits(&other.text) {
            self.append(&other.text);
        }
        self.unknown |= other.unknown;
        self.cut |= other.cut;
        self.glob |= other.glob;
        self.add_sources(other.sources());
    }

    pub(crate) fn mark_glob(&mut self) {
        self.glob = true;
    }

    pub(crate) fn clear_glob(&mut self) {
        self.glob = false;
    }

    pub(crate) fn add_sources(&mut self, sources: &[Source]) {
        for source in sources {
            if self.sources().len() < 8 && !self.sources().contains(source) {
                self.sources.push(source.clone());
            }
        }
    }

    /// A word with another text and the same provenance.
    #[must_use]
    pub fn with_text(&self, text: impl Into<CompactString>) -> Self {
        let text = text.into();
        Self { unknown: has_hole(&text), text, glob: self.glob, cut: self.cut, sources: self.sources.clone() }
    }
}

/// Whether part of a text is not known. Nearly every text is plain letters, and a search would prepare for more than that.
fn has_hole(text: &str) -> bool {
    !text.is_ascii() && text.contains(HOLE)
}
