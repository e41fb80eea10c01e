//! One cookie among others.

use std::borrow::Cow;
use std::ops::Range;

use http::header::COOKIE;
use http::request::Parts;

use super::{Holder, Located, Spot};

/// The one cookie of that name. HTTP/2 may send cookies in several header fields; all are looked at.
pub(super) fn locate<'a>(parts: &'a Parts, name: &str) -> Located<'a> {
    let mut found = None;
    for (index, value) in parts.headers.get_all(COOKIE).iter().enumerate() {
        for (cookie, span) in cookies(value.as_bytes()) {
            if cookie != name.as_bytes() {
                continue;
            }
            let there = Cow::Borrowed(&value.as_bytes()[span.clone()]);
            let spot = Spot { holder: Holder::Header(COOKIE, index), span, value: there };
            if found.replace(spot).is_some() {
                return Located::Several;
            }
        }
    }
    match found {
        Some(spot) if !spot.value.is_empty() => Located::One(spot),
        _ => Located::Absent,
    }
}

/// The names, and the spans of the values without the quotes that a value may be in.
pub(super) fn cookies(header: &[u8]) -> impl Iterator<Item = (&[u8], Range<usize>)> {
    let mut start = 0;
    header.split(|byte| *byte == b';').filter_map(move |crumb| {
        let at = start;
        start += crumb.len() + 1;
        let equals = memchr::memchr(b'=', crumb)?;
        let value = &crumb[equals + 1..];
        let leading = value.len() - value.trim_ascii_start().len();
        let trimmed = value.trim_ascii();
        let quoted = trimmed.len() >= 2 && trimmed.starts_with(b"\"") && trimmed.ends_with(b"\"");
        let from = at + equals + 1 + leading + usize::from(quoted);
        Some((crumb[..equals].trim_ascii(), from..from + trimmed.len() - 2 * usize::from(quoted)))
    })
}

/// What RFC 6265 lets a value hold: anything else would end it, or be dropped on the way.
pub(super) fn fits(secret: &[u8]) -> bool {
    secret.iter().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'\\'))
}
