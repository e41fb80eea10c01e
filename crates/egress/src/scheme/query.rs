//! A parameter of the query, or a field of a form: the same syntax.

use std::borrow::Cow;
use std::ops::Range;

use http::request::Parts;

use super::percent::{self, Plus};
use super::{Holder, Located, Spot, target};

pub(super) fn locate<'a>(parts: &'a Parts, name: &str) -> Located<'a> {
    let Some((start, query)) = query(parts) else { return Located::Absent };
    match parameter(query, name) {
        Parameter::Absent => Located::Absent,
        Parameter::Several => Located::Several,
        Parameter::Malformed => Located::Malformed,
        Parameter::One(span, value) => {
            Located::One(Spot { holder: Holder::Target, span: start + span.start..start + span.end, value })
        }
    }
}

/// The query without its question mark, and where it begins in the target.
pub(super) fn query(parts: &Parts) -> Option<(usize, &[u8])> {
    let target = target(parts)?;
    let mark = memchr::memchr(b'?', target.as_bytes())?;
    Some((mark + 1, &target.as_bytes()[mark + 1..]))
}

pub(super) enum Parameter<'a> {
    Absent,
    One(Range<usize>, Cow<'a, [u8]>),
    Several,
    Malformed,
}

/// The one parameter whose decoded name is `name`. An empty value counts as one: a second place is a second
/// place, whatever is in it.
pub(super) fn parameter<'a>(text: &'a [u8], name: &str) -> Parameter<'a> {
    let mut found: Option<Range<usize>> = None;
    for pair in Pairs::of(text) {
        if *percent::decode_leniently(&text[pair.name.clone()], Plus::Space) != *name.as_bytes() {
            continue;
        }
        if found.replace(pair.value).is_some() {
            return Parameter::Several;
        }
    }
    match found {
        None => Parameter::Absent,
        Some(span) => match percent::decode(&text[span.clone()], Plus::Space) {
            None => Parameter::Malformed,
            Some(value) if value.is_empty() => Parameter::Absent,
            Some(value) => Parameter::One(span, value),
        },
    }
}

/// The spans of a parameter's name and value.
pub(super) struct Pair {
    pub(super) name: Range<usize>,
    pub(super) value: Range<usize>,
}

/// All parameters in their order, empty ones included: `a&&b&` has four.
pub(super) struct Pairs<'a> {
    text: &'a [u8],
    at: Option<usize>,
}

impl<'a> Pairs<'a> {
    pub(super) fn of(text: &'a [u8]) -> Self {
        Self { text, at: (!text.is_empty()).then_some(0) }
    }
}

impl Iterator for Pairs<'_> {
    type Item = Pair;

    fn next(&mut self) -> Option<Pair> {
        let start = self.at?;
        let ampersand = memchr::memchr(b'&', &self.text[start..]).map(|at| start + at);
        self.at = ampersand.map(|at| at + 1);
        let end = ampersand.unwrap_or(self.text.len());
        let equals = memchr::memchr(b'=', &self.text[start..end]).map(|equals| start + equals);
        Some(Pair {
            name: start..equals.unwrap_or(end),
            value: equals.map_or(end..end, |equals| equals + 1..end),
        })
    }
}
