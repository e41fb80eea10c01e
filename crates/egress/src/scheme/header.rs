//! A header with a template, such as `Authorization: Bearer {}`.

use std::borrow::Cow;
use std::ops::Range;

use http::header::HeaderName;
use http::request::Parts;

use super::{Holder, Located, Spot};

/// The header's only value, if it fits one of the templates. A value that fits none is absent here: it may
/// belong to another scheme of the same provider, and else the check for foreign credentials has it.
pub(super) fn locate<'a>(parts: &'a Parts, name: &str, templates: &[&str]) -> Located<'a> {
    let (name, value) = match only(parts, name) {
        Only::Absent => return Located::Absent,
        Only::Several => return Located::Several,
        Only::One(name, value) => (name, value),
    };
    let span = templates.iter().find_map(|template| {
        let (before, after) = split(template)?;
        fit(value, before, after)
    });
    match span {
        Some(span) if !span.is_empty() => {
            let there = Cow::Borrowed(&value[span.clone()]);
            Located::One(Spot { holder: Holder::Header(name, 0), span, value: there })
        }
        _ => Located::Absent,
    }
}

/// What stands before and after the credential. Every template has one place for it.
fn split(template: &str) -> Option<(&str, &str)> {
    let at = memchr::memchr_iter(b'{', template.as_bytes()).find(|at| template[*at..].starts_with("{}"))?;
    Some((&template[..at], &template[at + 2..]))
}

pub(super) enum Only<'a> {
    Absent,
    One(HeaderName, &'a [u8]),
    Several,
}

/// The names are compared one by one: there are few, and to make a name that could be looked up takes longer.
pub(super) fn only<'a>(parts: &'a Parts, name: &str) -> Only<'a> {
    let mut values = parts.headers.iter().filter(|(own, _)| own.as_str().eq_ignore_ascii_case(name));
    match (values.next(), values.next()) {
        (None, _) => Only::Absent,
        (Some(_), Some(_)) => Only::Several,
        (Some((name, value)), None) => Only::One(name.clone(), value.as_bytes()),
    }
}

/// Where the credential stands between the two ends of a template. A leading scheme word (`Bearer `) is
/// compared without case and may be followed by several spaces, as RFC 9110 has it; all else is exact.
pub(super) fn fit(value: &[u8], before: &str, after: &str) -> Option<Range<usize>> {
    let start = match before.strip_suffix(' ') {
        Some(word) if !word.is_empty() && !word.contains(' ') => after_word(value, word)?,
        _ => value.starts_with(before.as_bytes()).then_some(before.len())?,
    };
    let end = value.len().checked_sub(after.len())?;
    (value.ends_with(after.as_bytes()) && start <= end).then_some(start..end)
}

/// Where the parameters of a scheme word begin.
pub(super) fn after_word(value: &[u8], word: &str) -> Option<usize> {
    let (head, rest) = value.split_at_checked(word.len())?;
    let spaces = rest.iter().take_while(|byte| **byte == b' ').count();
    (head.eq_ignore_ascii_case(word.as_bytes()) && spaces > 0).then_some(word.len() + spaces)
}
