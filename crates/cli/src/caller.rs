//! In whose name something is done: this process's own, or that of somebody who has asked it to.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Whoever asks, by the variables that say where their files are.
pub enum Caller {
    This,
    /// Variables as `NAME=VALUE`, each with a zero byte at its end.
    Other(Vec<u8>),
}

impl Caller {
    pub fn variable(&self, name: &str) -> Option<OsString> {
        match self {
            Self::This => env::var_os(name),
            Self::Other(block) => block.split(|byte| *byte == 0).find_map(|variable| {
                let value = variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
                Some(OsStr::from_bytes(value).to_owned())
            }),
        }
    }

    pub fn text(&self, name: &str) -> Option<String> {
        self.variable(name)?.into_string().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_found_by_its_whole_name() {
        let caller = Caller::Other(b"AB=0\0A=1\0NOTHING\0B=x=y\0C=\0".to_vec());
        let found = ["A", "B", "C", "NOTHING"].map(|name| caller.text(name));
        assert_eq!(found, [Some("1".to_owned()), Some("x=y".to_owned()), Some(String::new()), None]);
    }
}
