//! A credential in the path, such as `/bot{}/`.

use http::request::Parts;

use super::percent::{self, Plus};
use super::{Holder, Located, Spot, target};

/// The template begins where the path begins, and the credential is within one segment. What stands before it
/// is compared as it is written: an upstream may decode `%62ot` or not, so only `bot` is the declared place.
pub(super) fn locate<'a>(parts: &'a Parts, template: &str) -> Located<'a> {
    let Some(target) = target(parts) else { return Located::Absent };
    let path = target.split('?').next().unwrap_or(target);
    let Some((before, after)) = template.split_once("{}") else { return Located::Absent };
    let Some(rest) = path.strip_prefix(before) else { return Located::Absent };
    let segment = rest.split('/').next().unwrap_or(rest);
    let (same_segment, following) = after.split_at(after.find('/').unwrap_or(after.len()));
    if !rest[segment.len()..].starts_with(following) {
        return Located::Absent;
    }
    let Some(written) = segment.strip_suffix(same_segment).filter(|text| !text.is_empty()) else {
        return Located::Absent;
    };
    match percent::decode(written.as_bytes(), Plus::Itself) {
        None => Located::Malformed,
        Some(value) => {
            let span = before.len()..before.len() + written.len();
            Located::One(Spot { holder: Holder::Target, span, value })
        }
    }
}
