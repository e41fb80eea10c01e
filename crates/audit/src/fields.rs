//! The fields of a line, found without parsing all of it.
//!
//! A full parse of a million lines takes seconds, and most questions need three fields that stand first. This
//! walks the top level of an object as JSON does (strings with their escapes, nested values skipped whole), so
//! that text inside a value is never taken for a field.

use memchr::memchr2;

/// The pairs of a JSON object: the key without its quotes, the value as it stands.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub fn of(line: &'a [u8]) -> Self {
        Self { rest: line.strip_prefix(b"{").unwrap_or_default() }
    }

    pub fn get(line: &'a [u8], wanted: &str) -> Option<&'a [u8]> {
        Self::of(line).find(|(key, _)| *key == wanted.as_bytes()).map(|(_, value)| value)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let key_end = string_end(self.rest)?;
        let key = &self.rest[1..key_end - 1];
        let value_and_rest = self.rest[key_end..].strip_prefix(b":")?;
        let end = value_end(value_and_rest)?;
        let (value, rest) = value_and_rest.split_at(end);
        self.rest = rest.strip_prefix(b",").unwrap_or_default();
        Some((key, value))
    }
}

/// What most questions are about. Strings are without quotes and still escaped as in JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary<'a> {
    pub seq: u64,
    pub time: &'a [u8],
    pub session: &'a [u8],
    pub kind: &'a [u8],
    pub decision: &'a [u8],
    pub reason: &'a [u8],
    pub host: &'a [u8],
}

impl<'a> Summary<'a> {
    /// Gives `None` for what is not a record. The order of the first fields is part of the format, so the
    /// search ends with the first field that comes after them.
    pub fn of(line: &'a [u8]) -> Option<Self> {
        let mut summary = Self::default();
        for (key, value) in Fields::of(line) {
            let text = || unquoted(value);
            match key {
                b"v" => {}
                b"seq" => summary.seq = number(value)?,
                b"time" => summary.time = text()?,
                b"session" => summary.session = text()?,
                b"kind" => summary.kind = text()?,
                b"decision" => summary.decision = text()?,
                b"reason" => summary.reason = text()?,
                b"host" => summary.host = text()?,
                _ => break,
            }
        }
        (summary.seq > 0 && summary.time.len() == crate::time::WIDTH && !summary.kind.is_empty())
            .then_some(summary)
    }
}

pub(crate) fn number(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

pub(crate) fn unquoted(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// Most strings are no longer. Their end is looked for by hand: to ask what the processor can do, as a faster search does
/// first, takes longer than a whole line.
const NEAR: usize = 32;

/// The end of the string that begins here, quotes included.
fn string_end(text: &[u8]) -> Option<usize> {
    if text.first() != Some(&b'"') {
        return None;
    }
    let mut at = 1;
    loop {
        let rest = text.get(at..)?;
        let near = rest.iter().take(NEAR).position(|byte| matches!(byte, b'"' | b'\\'));
        at += match near {
            Some(near) => near,
            None => NEAR + memchr2(b'"', b'\\', rest.get(NEAR..)?)?,
        };
        match text[at] {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

fn value_end(text: &[u8]) -> Option<usize> {
    match text.first()? {
        b'"' => string_end(text),
        b'{' | b'[' => nested_end(text),
        _ => text.iter().position(|byte| matches!(byte, b',' | b'}')).or(Some(text.len())),
    }
}

fn nested_end(text: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        match text.get(at)? {
            b'"' => at += string_end(&text[at..])? - 1,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_inside_a_value_is_not_a_field() {
        let line = br#"{"v":1,"seq":7,"time":"2026-01-01T00:00:00.000000Z","session":"\"host\":\"no\"","kind":"dns-query","decision":"refused","reason":"x","host":"a\\","list":[{"host":"]"}],"last":true}"#;
        let summary = Summary::of(line).unwrap();
        assert_eq!((summary.seq, summary.host, summary.kind), (7, &br"a\\"[..], &b"dns-query"[..]));
        assert_eq!(Fields::get(line, "last"), Some(&b"true"[..]));
        assert_eq!(Fields::get(line, "list"), Some(&br#"[{"host":"]"}]"#[..]));
        assert_eq!(Fields::get(line, "no"), None);
    }

    proptest! {
        #[test]
        fn agrees_with_a_full_parser(map in proptest::collection::btree_map("[a-z\"\\\\]{1,6}", "\\PC{0,12}", 0..6)) {
            let line = serde_json::to_vec(&map).unwrap();
            let found: Vec<(String, String)> = Fields::of(&line)
                .map(|(key, value)| {
                    let key = [b"\"", key, b"\""].concat();
                    (serde_json::from_slice(&key).unwrap(), serde_json::from_slice(value).unwrap())
                })
                .collect();
            prop_assert_eq!(found, map.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), json in "[{}\\[\\]\",:a\\\\]{0,40}") {
            let _ = Summary::of(&bytes);
            let _ = Fields::of(format!("{{{json}").as_bytes()).count();
        }
    }
}
