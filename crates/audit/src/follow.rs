//! What is written from now on, through every rotation.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use cofferdam_linux_sys::private::PrivateDir;

use crate::error::AuditError;
use crate::files;
use crate::snapshot::Snapshot;

/// How much is read at once.
const READ: usize = 1 << 20;

/// A place in the record that moves on with it. Asking it again and again is cheap: nothing is locked, and a
/// writer never waits for a reader.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    current: Option<(u64, File)>,
    offset: u64,
}

impl Follower {
    /// Starts after the last whole line of a snapshot; without one, at the beginning of what will be there.
    pub fn after(path: &Path, snapshot: Option<Snapshot>) -> Result<Self, AuditError> {
        let last = snapshot.and_then(|mut snapshot| snapshot.files.pop());
        let path = path.to_owned();
        match last {
            None => Ok(Self { path, current: None, offset: 0 }),
            Some(part) => {
                let mut follower = Self { path, current: Some((part.number, part.file)), offset: 0 };
                // A line that is being written while the snapshot is taken is not whole yet.
                let tail = part.size.saturating_sub(crate::chain::LONGEST_LINE as u64);
                let bytes = follower.read(tail, part.size)?;
                let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at as u64 + 1);
                follower.offset = tail + whole;
                Ok(follower)
            }
        }
    }

    /// The whole lines that have come since the last call; empty if there are none.
    pub fn lines(&mut self) -> Result<Vec<u8>, AuditError> {
        let lines = self.read_on()?;
        if !lines.is_empty() {
            return Ok(lines);
        }
        let Some(next) = self.next_number()? else {
            return Ok(lines);
        };
        // The file may have got its last line between the two looks.
        let lines = self.read_on()?;
        if lines.is_empty()
            && let Some(directory) = PrivateDir::open(&self.path)?
        {
            self.current = Some((next, directory.open_read(&files::name(next))?));
            self.offset = 0;
            return self.read_on();
        }
        Ok(lines)
    }

    fn next_number(&self) -> Result<Option<u64>, AuditError> {
        let Some(directory) = PrivateDir::open(&self.path)? else {
            return Ok(None);
        };
        let after = self.current.as_ref().map_or(0, |(number, _)| *number);
        Ok(files::numbers(&directory)?.into_iter().find(|&number| number > after))
    }

    fn read_on(&mut self) -> Result<Vec<u8>, AuditError> {
        let mut bytes = self.read(self.offset, self.offset.saturating_add(READ as u64))?;
        bytes.truncate(memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1));
        self.offset += bytes.len() as u64;
        Ok(bytes)
    }

    fn read(&self, from: u64, to: u64) -> Result<Vec<u8>, AuditError> {
        let Some((number, file)) = &self.current else {
            return Ok(Vec::new());
        };
        let length = usize::try_from(to.saturating_sub(from)).unwrap_or(READ);
        let mut bytes = vec![0; length];
        let mut filled = 0;
        while filled < length {
            match file.read_at(&mut bytes[filled..], from + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    let path = self.path.join(files::name(*number));
                    return Err(AuditError::File { path, doing: "read", source });
                }
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }
}
