//! What a file looks like from outside, to see that it was written without reading it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Links are followed: orchestrators replace the link, editors the file, and others write into it.
pub(crate) struct Stamp {
    path: PathBuf,
    seen: Option<Seen>,
}

#[derive(PartialEq, Eq)]
struct Seen {
    file: (u64, u64),
    size: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub fn of(path: PathBuf) -> Self {
        let seen = std::fs::metadata(&path).ok().map(|metadata| Seen::of(&metadata));
        Self { path, seen }
    }

    pub fn is_current(&self) -> bool {
        std::fs::metadata(&self.path).ok().map(|metadata| Seen::of(&metadata)) == self.seen
    }
}

impl Seen {
    fn of(metadata: &Metadata) -> Self {
        Self {
            file: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            written: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}
