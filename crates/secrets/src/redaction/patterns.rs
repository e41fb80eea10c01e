//! All secrets, compiled for searching.

use super::automaton::Automaton;
use super::by_value::CUT_OFF;
use super::filter::{Filter, SHORTEST};
use super::forms;
use super::names::Names;

/// Longer values are documents; looking for them byte by byte is not what this is for.
const LONGEST: usize = 64 * 1024;

/// What to look for. Immutable, shared by all streams, wiped on drop, and not printable.
pub struct Patterns {
    pub(super) automaton: Automaton,
    pub(super) filter: Filter,
    names: Names,
    pub(super) labels: Vec<String>,
    longest: usize,
}

/// A secret that is not looked for: the caller has to say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub label: String,
    pub why: Refusal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// A short value occurs by chance; removing it would garble output and give the value away by its gaps.
    TooShort {
        shortest: usize,
    },
    TooLong {
        longest: usize,
    },
}

impl Patterns {
    /// Compiles pairs of a label, which is shown in place of the value, and the value. The values that are
    /// refused come back by label; all others are looked for.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> (Self, Vec<Refused>) {
        let mut labels = Vec::new();
        let mut values = Vec::new();
        let mut refused = Vec::new();
        for (label, value) in secrets {
            match refusal(value.len()) {
                Some(why) => refused.push(Refused { label: label.to_owned(), why }),
                None => {
                    values.push((labels.len() as u32, value));
                    labels.push(label.to_owned());
                }
            }
        }
        let forms = forms::all(values.into_iter());
        let filter = Filter::new(forms.iter().map(|form| form.bytes.as_slice()));
        let longest = forms.iter().map(|form| form.bytes.len()).max().unwrap_or(0);
        let (automaton, names) = (Automaton::new(&forms), Names::new(&forms));
        (Self { automaton, filter, names, labels, longest }, refused)
    }

    /// Whether a value of this length could be found in a text of that length: whole, in its shortest form, or cut off
    /// at the end. For one who has a text first, and would have to find out which values are secret.
    pub fn could_find(value: usize, text: usize) -> bool {
        refusal(value).is_none() && (value <= text + forms::SHORTER_BY || text >= CUT_OFF)
    }

    /// Whether a secret stands in the name of a header, given in small letters.
    pub fn stand_in_name(&self, name: &str) -> bool {
        self.names.stand_in(name.as_bytes())
    }

    /// The length of the longest form. A stream never keeps back as much, line breaks inside a form aside.
    pub fn longest(&self) -> usize {
        self.longest
    }
}

fn refusal(length: usize) -> Option<Refusal> {
    match length {
        0..SHORTEST => Some(Refusal::TooShort { shortest: SHORTEST }),
        length if length > LONGEST => Some(Refusal::TooLong { longest: LONGEST }),
        _ => None,
    }
}
