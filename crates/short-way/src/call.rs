//! What was asked for, as far as it can be asked for here.

use cofferdam_linux_sys::bare::Laid;

/// What goes in one packet, with room for the head of the message.
const MOST: usize = 30 << 10;
/// A path, and the zero at its end.
const LONGEST_PATH: usize = 1024;
const LONGEST_NAME: usize = 48;

/// Where the sockets are below what a variable names; the first that is set counts.
const PLACES: [(&[u8], &[u8]); 4] = [
    (b"COFFERDAM_HOME", b"/run/sessions"),
    (b"XDG_RUNTIME_DIR", b"/cofferdam/sessions"),
    (b"XDG_STATE_HOME", b"/cofferdam/run/sessions"),
    (b"HOME", b"/.local/state/cofferdam/run/sessions"),
];

/// A command for a session that is found where these variables say.
#[derive(Debug)]
pub struct Call<'a> {
    pub session: &'a [u8],
    directory: [u8; LONGEST_PATH],
    length: usize,
}

impl<'a> Call<'a> {
    pub fn read(laid: Laid<'a>) -> Option<Self> {
        let argument = |at| laid.argument(at);
        if (argument(1)?, argument(2)?) != (b"session", b"exec") || laid.bytes.len() > MOST {
            return None;
        }
        let session = argument(3).filter(|name| is_name(name))?;
        let simple = match argument(4)? {
            b"--" => laid.arguments > 5,
            // What begins like an option may be one.
            b"-c" => laid.arguments == 6 && !argument(5)?.starts_with(b"-"),
            _ => false,
        };
        if !simple {
            return None;
        }
        let mut call = Self { session, directory: [0; LONGEST_PATH], length: 0 };
        // Empty is not set.
        let set = |name| laid.variable(name).filter(|value| !value.is_empty());
        let (base, tail) = PLACES.iter().find_map(|(name, tail)| Some((set(name)?, *tail)))?;
        call.add(base.strip_suffix(b"/").unwrap_or(base))?;
        call.add(tail)?;
        base.starts_with(b"/").then_some(call)
    }

    /// Where the sockets of sessions are.
    pub fn directory(&self) -> Option<&core::ffi::CStr> {
        core::ffi::CStr::from_bytes_with_nul(self.directory.get(..=self.length)?).ok()
    }

    fn add(&mut self, bytes: &[u8]) -> Option<()> {
        let end = self.length + bytes.len();
        // One less than there is: the path ends with a zero.
        self.directory[..LONGEST_PATH - 1].get_mut(self.length..end)?.copy_from_slice(bytes);
        self.length = end;
        Some(())
    }
}

/// A name that can be a part of a path: the keeper's own rule.
fn is_name(name: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    name.first().is_some_and(u8::is_ascii_alphanumeric)
        && name.len() <= LONGEST_NAME
        && name.iter().all(plain)
}

#[cfg(test)]
mod tests {
    use std::string::{String, ToString};
    use std::vec::Vec;

    use super::*;

    fn laid(arguments: &[&str], variables: &[&str]) -> (usize, Vec<u8>) {
        let strings = arguments.iter().chain(variables);
        (arguments.len(), strings.flat_map(|string| [string.as_bytes(), b"\0"].concat()).collect())
    }

    fn place(arguments: &[&str], variables: &[&str]) -> Option<String> {
        let (arguments, bytes) = laid(arguments, variables);
        let call = Call::read(Laid { arguments, bytes: &bytes })?;
        Some(call.directory()?.to_str().expect("text").to_string())
    }

    #[test]
    fn the_place_is_the_one_of_the_long_way() {
        let words = ["cofferdam", "session", "exec", "s", "--", "true"];
        let at = |variables: &[&str]| place(&words, variables);
        assert_eq!(at(&["COFFERDAM_HOME=/c"]).as_deref(), Some("/c/run/sessions"));
        assert_eq!(
            at(&["X=1", "XDG_RUNTIME_DIR=/run/user/1"]).as_deref(),
            Some("/run/user/1/cofferdam/sessions")
        );
        assert_eq!(at(&["COFFERDAM_HOME=", "XDG_RUNTIME_DIR=/r"]).as_deref(), Some("/r/cofferdam/sessions"));
        assert_eq!(at(&["XDG_RUNTIME_DIR=/r", "COFFERDAM_HOME=/c"]).as_deref(), Some("/c/run/sessions"));
        assert_eq!(at(&["HOME=/h", "XDG_STATE_HOME=/s"]).as_deref(), Some("/s/cofferdam/run/sessions"));
        assert_eq!(at(&["HOME=/h"]).as_deref(), Some("/h/.local/state/cofferdam/run/sessions"));
        for long_way in [&["COFFERDAM_HOME=relative", "HOME=/h"][..], &["HOME="], &[]] {
            assert_eq!(at(long_way), None, "{long_way:?}");
        }
        let long = std::format!("COFFERDAM_HOME=/{}", "x".repeat(LONGEST_PATH));
        assert_eq!(at(&[&long]), None);
    }

    #[test]
    fn what_has_an_option_goes_the_long_way() {
        let short = |arguments: &[&str]| place(arguments, &["COFFERDAM_HOME=/c"]).is_some();
        assert!(short(&["c", "session", "exec", "s", "--", "true"]));
        assert!(short(&["c", "session", "exec", "s", "-c", "true; false"]));
        for long_way in [
            &["c"][..],
            &["c", "session", "exec", "s"],
            &["c", "session", "exec", "s", "--"],
            &["c", "session", "exec", "s", "-c"],
            &["c", "session", "exec", "s", "-c", "a", "b"],
            &["c", "session", "exec", "s", "-c", "--help"],
            &["c", "session", "exec", "--background", "s", "--", "true"],
            &["c", "session", "exec", "s", "--timeout", "1s", "--", "true"],
            &["c", "session", "exec", "../s", "--", "true"],
            &["c", "session", "attach", "s", "--", "true"],
            &["c", "run", "--", "session", "exec", "s", "--", "true"],
        ] {
            assert!(!short(long_way), "{long_way:?}");
        }
    }
}
