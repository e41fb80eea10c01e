//! Where sessions are found: one socket each, in a directory that nobody else can enter.

use std::io;
use std::path::Path;

use cofferdam_control::channel::Channel;
use cofferdam_control::place::{Listener, Place};
use rustix::fs::Dir;

const SUFFIX: &str = ".sock";
const LONGEST_NAME: usize = 48;

/// The directory of the sockets, open.
#[derive(Debug)]
pub struct Sessions(Place);

/// A name that can be a part of a path, of a command line and of a table.
pub fn is_name(name: &str) -> bool {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    first
        && name.len() <= LONGEST_NAME
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

impl Sessions {
    /// Makes the directory where it is missing.
    pub fn create(path: &Path) -> io::Result<Self> {
        Place::create(path).map(Self)
    }

    /// Opens the directory; another owner, or a way in for others, is an error.
    pub fn open(path: &Path) -> io::Result<Self> {
        Place::open(path).map(Self)
    }

    /// The names of all sockets, of dead sessions too.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let entries = Dir::read_from(&self.0)?;
        let mut names: Vec<String> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let name = entry.file_name().to_str().ok()?.strip_suffix(SUFFIX)?.to_owned();
                is_name(&name).then_some(name)
            })
            .collect();
        names.sort();
        Ok(names)
    }

    pub fn connect(&self, name: &str) -> io::Result<Channel> {
        self.0.connect(&file(name))
    }

    /// Takes the name of a session whose keeper is gone off the list.
    pub fn forget(&self, name: &str) {
        self.0.forget(&file(name));
    }

    /// Listens under this name; an error of kind `AddrInUse` if a session has it already.
    pub fn listen(self, name: &str) -> io::Result<Listener> {
        self.0.listen(&file(name))
    }
}

fn file(name: &str) -> String {
    format!("{name}{SUFFIX}")
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn a_name_is_no_path_and_no_option() {
        for good in ["build", "a", "A-1_b.c", "0"] {
            assert!(is_name(good), "{good}");
        }
        let long = "a".repeat(49);
        for bad in ["", ".", "..", "-x", "a/b", "a b", "a\n", "ä", ".hidden", &long] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
