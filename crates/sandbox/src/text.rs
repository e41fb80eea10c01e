//! Paths and arguments as text that can be read back exactly: what is not printable UTF-8 is written `\xNN`, and
//! a backslash doubled. Used in plans, which people read and which travel to the sandbox.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Any string of the operating system.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text(OsString);

impl Text {
    pub fn as_os_str(&self) -> &OsStr {
        &self.0
    }

    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl<T: Into<OsString>> From<T> for Text {
    fn from(value: T) -> Self {
        Self(value.into())
    }
}

impl From<Text> for PathBuf {
    fn from(text: Text) -> Self {
        Self::from(text.0)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.as_bytes().utf8_chunks() {
            // Nearly all of it is plain at the beginning, and a plan has hundreds of paths that somebody waits for.
            let plain = chunk.valid().bytes().position(may_be_special).unwrap_or(chunk.valid().len());
            let (plain, rest) = chunk.valid().split_at(plain);
            f.write_str(plain)?;
            for character in rest.chars() {
                match character {
                    '\\' => f.write_str("\\\\")?,
                    // Control characters would reach the terminal of whoever reads the plan.
                    control if control.is_control() => {
                        let mut buffer = [0; 4];
                        for byte in control.encode_utf8(&mut buffer).bytes() {
                            write!(f, "\\x{byte:02x}")?;
                        }
                    }
                    plain => write!(f, "{plain}")?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// A backslash, or what may be the beginning of a control character; all else is written as it is.
fn may_be_special(byte: u8) -> bool {
    byte == b'\\' || !(b' '..=b'~').contains(&byte)
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// The inverse of [`Text`]'s `Display`.
fn parse(escaped: &str) -> Option<Text> {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'\\' {
            bytes.push(first);
            continue;
        }
        match rest {
            [b'\\', after @ ..] => {
                bytes.push(b'\\');
                rest = after;
            }
            [b'x', high, low, after @ ..] => {
                let digits = [*high, *low];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
                rest = after;
            }
            _ => return None,
        }
    }
    Some(Text(OsString::from_vec(bytes)))
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let escaped = String::deserialize(deserializer)?;
        parse(&escaped).ok_or_else(|| serde::de::Error::custom("a text with a broken escape"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_come_back(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let text = Text(OsString::from_vec(bytes));
            let shown = text.to_string();
            prop_assert!(!shown.chars().any(char::is_control));
            prop_assert_eq!(parse(&shown), Some(text));
        }
    }
}
