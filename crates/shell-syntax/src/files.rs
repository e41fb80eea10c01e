//! The files that a text has written so far.

use std::collections::{HashMap, HashSet};

use crate::FileContent;

/// Names that the text itself chooses, with keys that differ from one process to the next.
pub(crate) type Map<V> = HashMap<String, V, foldhash::fast::RandomState>;

/// Contents by absolute path.
#[derive(Debug, Default)]
pub(crate) struct Files {
    contents: Map<FileContent>,
    /// A sum of the last part of every path. Every word of a command may be asked about, and nearly all end in something
    /// that no path ends in: those need not be made whole.
    endings: HashSet<u32, foldhash::fast::RandomState>,
    /// How often any of them has been written.
    writes: u64,
}

impl Files {
    /// Whether a path that is not whole yet may be among them.
    pub fn may_have(&self, path: &str) -> bool {
        if self.contents.is_empty() {
            return false;
        }
        let name = ending(path);
        matches!(name, b"" | b"." | b"..") || self.endings.contains(&sum(name))
    }

    /// The place for a file, empty or not.
    pub fn entry(&mut self, path: String) -> std::collections::hash_map::Entry<'_, String, FileContent> {
        self.endings.insert(sum(ending(&path)));
        self.writes += 1;
        self.contents.entry(path)
    }

    pub fn writes(&self) -> u64 {
        self.writes
    }

    pub fn insert(&mut self, path: String, content: FileContent) {
        self.entry(path).insert_entry(content);
    }
}

impl std::ops::Deref for Files {
    type Target = Map<FileContent>;

    fn deref(&self) -> &Self::Target {
        &self.contents
    }
}

fn ending(path: &str) -> &[u8] {
    let path = path.as_bytes();
    let mut start = path.len();
    while start > 0 && path[start - 1] != b'/' {
        start -= 1;
    }
    &path[start..]
}

fn sum(name: &[u8]) -> u32 {
    name.iter().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}
