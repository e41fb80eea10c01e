//! One string of a JSON document, without a copy of any other.
//!
//! The document is parsed into borrowed slices of itself, and the one string that is wanted is unescaped
//! here, into memory that is wiped; a general parser would leave every string of the document, in clear, in
//! freed memory.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::value::RawValue;
use zeroize::Zeroizing;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonMistake {
    NotJson,
    Missing,
    NotAString,
}

impl fmt::Display for JsonMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotJson => "this is not a JSON document",
            Self::Missing => "the document has no such member",
            Self::NotAString => "that member is not a string",
        })
    }
}

/// `key` is a JSON pointer if it starts with `/`, otherwise the name of a member of the outermost object.
pub(super) fn string_at(document: &[u8], key: &str) -> Result<Zeroizing<Vec<u8>>, JsonMistake> {
    let mut at: &RawValue = serde_json::from_slice(document).map_err(|_| JsonMistake::NotJson)?;
    match key.strip_prefix('/') {
        None => at = child(at, key)?,
        Some(pointer) => {
            for step in pointer.split('/') {
                at = child(at, &step.replace("~1", "/").replace("~0", "~"))?;
            }
        }
    }
    let text = at.get().trim();
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    unescape(inner.ok_or(JsonMistake::NotAString)?)
}

fn child<'a>(parent: &'a RawValue, name: &str) -> Result<&'a RawValue, JsonMistake> {
    if parent.get().starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(parent.get()).map_err(|_| JsonMistake::NotJson)?;
        let index: usize = name.parse().map_err(|_| JsonMistake::Missing)?;
        return items.get(index).copied().ok_or(JsonMistake::Missing);
    }
    let members: BTreeMap<String, &RawValue> =
        serde_json::from_str(parent.get()).map_err(|_| JsonMistake::Missing)?;
    members.get(name).copied().ok_or(JsonMistake::Missing)
}

/// The parser has already accepted the text as a string, so a malformed escape cannot occur; if it did, the
/// document would not be JSON.
fn unescape(text: &str) -> Result<Zeroizing<Vec<u8>>, JsonMistake> {
    // Unescaped text is never longer, so the vector never grows.
    let mut out = Zeroizing::new(Vec::with_capacity(text.len()));
    let mut rest = text;
    while let Some(start) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..start]);
        let escape = rest.as_bytes().get(start + 1).ok_or(JsonMistake::NotJson)?;
        rest = &rest[start + 2..];
        let simple = match escape {
            b'"' | b'\\' | b'/' => *escape,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let (character, after) = unicode_escape(rest).ok_or(JsonMistake::NotJson)?;
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                rest = after;
                continue;
            }
            _ => return Err(JsonMistake::NotJson),
        };
        out.push(simple);
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

/// What follows `\u`: four digits, or a pair of surrogates.
fn unicode_escape(text: &str) -> Option<(char, &str)> {
    let unit = |text: &str| u16::from_str_radix(text.get(..4)?, 16).ok();
    let first = unit(text)?;
    let rest = &text[4..];
    if let Some(character) = char::from_u32(first.into()) {
        return Some((character, rest));
    }
    let second = unit(rest.strip_prefix("\\u")?)?;
    let character = char::decode_utf16([first, second]).next()?.ok()?;
    Some((character, &rest[6..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(document: &str, key: &str) -> Result<String, JsonMistake> {
        string_at(document.as_bytes(), key).map(|value| String::from_utf8(value.to_vec()).expect("text"))
    }

    #[test]
    fn members_pointers_and_escapes() {
        let document =
            r#" {"a": "one", "b": {"c/d": ["x", "t\u0077o\n\ud83d\ude00"]}, "n": 1, "~": "tilde"} "#;
        assert_eq!(at(document, "a").as_deref(), Ok("one"));
        assert_eq!(at(document, "/b/c~1d/1").as_deref(), Ok("two\n\u{1f600}"));
        assert_eq!(at(document, "/~0").as_deref(), Ok("tilde"));
        assert_eq!(at(document, "n"), Err(JsonMistake::NotAString));
        assert_eq!(at(document, "b"), Err(JsonMistake::NotAString));
        for missing in ["c", "/b/x", "/b/c~1d/2", "/b/c~1d/-", "/a/b", "/"] {
            assert_eq!(at(document, missing), Err(JsonMistake::Missing), "{missing}");
        }
        for broken in ["", "{", r#"{"a": "one""#, "sk-canary", r#"{"a": "one"} x"#] {
            assert_eq!(at(broken, "a"), Err(JsonMistake::NotJson), "{broken}");
        }
    }

    proptest! {
        #[test]
        fn every_string_comes_back(value: String, name: String) {
            prop_assume!(!name.starts_with('/'));
            let document = serde_json::json!({ &name: &value, "other": 1 });
            if name != "other" {
                prop_assert_eq!(at(&document.to_string(), &name), Ok(value));
            }
        }

        #[test]
        fn nothing_makes_it_panic(document: String, key: String) {
            let _ = string_at(document.as_bytes(), &key);
        }
    }
}
