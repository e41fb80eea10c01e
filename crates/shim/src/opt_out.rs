//! Staying root, for someone who says so.

use core::ffi::CStr;

/// Whether the variable says yes: `1`, `true` or `yes`, in upper or lower case, and nothing else. If it is there more
/// than once, all of them must.
pub fn is_set(name: &str, environment: &[&CStr]) -> bool {
    let mut values = environment.iter().filter_map(|word| {
        let (found, value) = crate::environment::parts(word.to_bytes())?;
        (found == name.as_bytes()).then_some(value)
    });
    values.next().is_some_and(means_yes) && values.all(means_yes)
}

fn means_yes(value: &[u8]) -> bool {
    [&b"1"[..], b"true", b"yes"].iter().any(|yes| value.eq_ignore_ascii_case(yes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_word_means_no() {
        for yes in ["1", "true", "TRUE", "True", "tRuE", "yes", "YES", "Yes"] {
            assert!(means_yes(yes.as_bytes()), "{yes}");
        }
        for no in
            ["", "0", "false", "no", "2", "garbage", "on", "y", "t", " 1", "1 ", "11", "true\n", "yes!", "+1"]
        {
            assert!(!means_yes(no.as_bytes()), "{no}");
        }
    }

    #[test]
    fn a_variable_that_is_there_twice_must_say_yes_twice() {
        assert!(is_set("KEEP", &[c"A=1", c"KEEP=1"]));
        assert!(is_set("KEEP", &[c"KEEP=1", c"KEEP=yes"]));
        assert!(!is_set("KEEP", &[c"KEEP=1", c"KEEP=0"]));
        assert!(!is_set("KEEP", &[c"KEEP=0", c"KEEP=1"]));
        assert!(!is_set("KEEP", &[c"KEEPER=1", c"KEEP"]));
    }
}
