//! Secrets as names of headers, where the case of letters is lost.
//!
//! HTTP/2 has names in small letters only, and servers write them in capitals and small letters as they please. So a name
//! is compared without regard to case, with every form that could stand in one at all. There are few such names and they are
//! short: what is found is not cut out of a name but makes the whole of it unfit to be shown.

use super::filter::Filter;
use super::forms::Form;
use zeroize::Zeroizing;

pub(super) struct Names {
    filter: Filter,
    /// In small letters.
    forms: Vec<Zeroizing<Vec<u8>>>,
}

impl Names {
    pub(super) fn new(forms: &[Form]) -> Self {
        let fitting = forms.iter().filter(|form| form.bytes.iter().all(|byte| may_stand_in_name(*byte)));
        let mut forms: Vec<_> = fitting.map(|form| Zeroizing::new(form.bytes.to_ascii_lowercase())).collect();
        forms.sort_by(|a, b| a.cmp(b));
        forms.dedup();
        Self { filter: Filter::new(forms.iter().map(|form| form.as_slice())), forms }
    }

    /// Whether there is one in a name that is written in small letters.
    pub(super) fn stand_in(&self, name: &[u8]) -> bool {
        let mut from = 0;
        while let Some(at) = self.filter.find(name, from) {
            if self.forms.iter().any(|form| name[at..].starts_with(form)) {
                return true;
            }
            from = at + 1;
        }
        false
    }
}

/// The characters of a token (RFC 9110, 5.6.2).
fn may_stand_in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use crate::redaction::Patterns;

    #[test]
    fn req_e01_a_secret_in_a_name_is_seen_whatever_became_of_its_letters() {
        let (patterns, _) =
            Patterns::new([("one", &b"sk-Canary/7F3a9B2c"[..]), ("two", b"Key-aBcD0123"), ("", b"xyzxyzxy")]);
        for name in ["key-abcd0123", "x-key-abcd0123-y", "xyzxyzxy", "xyzxyzxyzxy", "azxyzxyzxy"] {
            assert!(patterns.stand_in_name(name), "{name}");
        }
        // The first has a character that no name has, so that only an encoded form can be there.
        assert!(patterns.stand_in_name("sk-canary%2f7f3a9b2c"));
        for name in ["", "key", "content-length", "key-abcd012", "ey-abcd0123", "sk-canary", "yzxyzxyx"] {
            assert!(!patterns.stand_in_name(name), "{name}");
        }
        assert!(!Patterns::new([]).0.stand_in_name("x-anything-at-all"));
    }
}
