//! The head: how far the record goes, kept apart from it, so that lines cut off its end are missed.
//!
//! It is one line of fixed width, overwritten in place after every record, and its file is also what writers
//! lock. A writer that dies between the two leaves a head that is one record behind, which the next one makes
//! up for; a head that is ahead of the files means that something was taken away.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::chain::{Hash, Link};
use crate::error::AuditError;
use crate::time::put_digits;

pub(crate) const NAME: &str = "head";
const WORDS: [&str; 4] = ["cofferdam-head-1 seq", "file", "end", "hash"];
/// Longer than any honest writer holds the lock, and short enough that a stopped one does not stop the rest.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub link: Link,
    /// The number of the file that the next record goes to.
    pub file: u64,
    /// The length of that file.
    pub end: u64,
}

impl Head {
    pub(crate) const START: Self = Self { link: Link::START, file: 1, end: 0 };

    pub(crate) fn read(file: &File) -> io::Result<Option<Self>> {
        let mut bytes = [0; 256];
        let count = file.read_at(&mut bytes, 0)?;
        Ok(std::str::from_utf8(&bytes[..count]).ok().and_then(Self::parse))
    }

    /// By hand rather than with `format!`, which would cost as much as the hash of the record.
    pub(crate) fn write(&self, file: &File, line: &mut Vec<u8>) -> io::Result<()> {
        line.clear();
        for (word, number) in WORDS.iter().zip([self.link.seq, self.file, self.end]) {
            line.extend_from_slice(word.as_bytes());
            line.push(b' ');
            let mut digits = [0; 20];
            put_digits(&mut digits, number);
            line.extend_from_slice(&digits);
            line.push(b' ');
        }
        line.extend_from_slice(WORDS[3].as_bytes());
        line.push(b' ');
        self.link.hash.write(line);
        line.push(b'\n');
        file.write_all_at(line, 0)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut rest = text.strip_suffix('\n')?;
        let mut next = |word: &str| {
            let value = rest.trim_start_matches(' ').strip_prefix(word)?.strip_prefix(' ')?;
            let end = value.find(' ').unwrap_or(value.len());
            rest = &value[end..];
            Some(&value[..end])
        };
        let (seq, file) = (next(WORDS[0])?.parse().ok()?, next(WORDS[1])?.parse().ok()?);
        let (end, hash) = (next(WORDS[2])?.parse().ok()?, Hash::parse(next(WORDS[3])?.as_bytes())?);
        Some(Self { link: Link { seq, hash }, file, end })
    }
}

/// How the lock is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    /// To write: nobody else.
    Alone,
    /// To read the head and the lengths of the files: no writer.
    WithReaders,
}

/// Takes the lock, waiting while others have it. It is not held across anything but a few system calls, so
/// trying again is rare; a blocking call would wait for ever for a process that was stopped while holding it.
pub(crate) fn lock(file: &File, share: Share, path: &Path) -> Result<(), AuditError> {
    let mut deadline = None;
    let mut tries = 0_u32;
    loop {
        let taken = match share {
            Share::Alone => file.try_lock(),
            Share::WithReaders => file.try_lock_shared(),
        };
        match taken {
            Ok(()) => return Ok(()),
            Err(std::fs::TryLockError::Error(source)) if source.kind() != io::ErrorKind::Interrupted => {
                return Err(AuditError::File { path: path.to_owned(), doing: "lock", source });
            }
            Err(_) => {}
        }
        if Instant::now() >= *deadline.get_or_insert_with(|| Instant::now() + PATIENCE) {
            return Err(AuditError::Busy { path: path.to_owned() });
        }
        tries += 1;
        match tries {
            ..50 => thread::yield_now(),
            _ => thread::sleep(Duration::from_micros(200)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_there_and_back_and_always_has_the_same_width() {
        let mut widths = Vec::new();
        for (seq, file, end) in [(0, 1, 0), (7, 2, 300), (u64::MAX, u64::MAX, u64::MAX)] {
            let head = Head { link: Link { seq, hash: Hash::of(b"x") }, file, end };
            let disk = tempfile::tempfile().unwrap();
            let mut line = Vec::new();
            head.write(&disk, &mut line).unwrap();
            assert_eq!(Head::read(&disk).unwrap(), Some(head));
            widths.push(line.len());
        }
        assert!(widths.iter().all(|&width| width == widths[0] && width < 256), "{widths:?}");
        assert_eq!(Head::parse("cofferdam-head-1 seq x"), None);
        assert_eq!(Head::parse(""), None);
    }
}
