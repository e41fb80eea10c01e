//! The record as it is at one moment, and a way through all of it that uses every core.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use cofferdam_linux_sys::private::PrivateDir;
use memchr::{memchr, memrchr};

use crate::chain::LONGEST_LINE;
use crate::error::AuditError;
use crate::files;
use crate::head::{self, Head, Share};

/// Open files with the lengths they had while no writer was at work. What is written or taken away later
/// changes nothing here.
#[derive(Debug)]
pub struct Snapshot {
    pub(crate) path: PathBuf,
    pub(crate) files: Vec<Part>,
    pub(crate) head: Option<Head>,
}

#[derive(Debug)]
pub(crate) struct Part {
    pub number: u64,
    pub path: PathBuf,
    pub file: File,
    pub size: u64,
}

/// Whole lines of one file, in order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk<'a> {
    /// Which of the snapshot's files.
    pub part: usize,
    pub bytes: &'a [u8],
}

/// Large enough that starting one costs nothing, small enough to stay in a cache.
const CHUNK: u64 = 1 << 20;

impl Snapshot {
    /// Takes the record below `path` as it is; `None` if there is none.
    pub fn take(path: &Path) -> Result<Option<Self>, AuditError> {
        let Some(directory) = PrivateDir::open(path)? else {
            return Ok(None);
        };
        let head_file = match directory.open_read(head::NAME) {
            Err(error) if error.io_kind() == Some(io::ErrorKind::NotFound) => None,
            opened => Some(opened?),
        };
        let reading = |source| AuditError::File { path: path.to_owned(), doing: "read", source };
        let mut head = None;
        if let Some(file) = &head_file {
            head::lock(file, Share::WithReaders, path)?;
            head = Head::read(file).map_err(reading)?;
        }
        let files = Self::open_files(&directory)?;
        Ok((head.is_some() || !files.is_empty()).then_some(Self { path: path.to_owned(), files, head }))
    }

    fn open_files(directory: &PrivateDir) -> Result<Vec<Part>, AuditError> {
        let mut parts = Vec::new();
        for number in files::numbers(directory)? {
            let name = files::name(number);
            let path = directory.path().join(&name);
            let file = directory.open_read(&name)?;
            let size = file.metadata().map(|data| data.len());
            let size =
                size.map_err(|source| AuditError::File { path: path.clone(), doing: "read", source })?;
            parts.push(Part { number, path, file, size });
        }
        Ok(parts)
    }

    /// Where the record ends: what to note elsewhere.
    pub fn head(&self) -> Option<Head> {
        self.head
    }

    /// Does `work` on all chunks, on every core, and hands the results to `each` in the order of the record.
    pub(crate) fn in_order<T: Send>(
        &self,
        work: impl Fn(Chunk<'_>) -> T + Sync,
        mut each: impl FnMut(T) -> ControlFlow<()>,
    ) -> Result<(), AuditError> {
        let ranges = self.ranges();
        let next = AtomicUsize::new(0);
        let (ranges, next, work) = (&ranges, &next, &work);
        let workers = thread::available_parallelism().map_or(1, usize::from).min(ranges.len());
        // Bounded, so that no worker runs far ahead of the one that is slowest.
        let (sender, receiver) = mpsc::sync_channel(2 * workers);
        thread::scope(|scope| {
            for _ in 0..workers {
                let sender = sender.clone();
                scope.spawn(move || {
                    let mut buffer = Vec::new();
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(&(part, from, to)) = ranges.get(index) else { return };
                        let result = self.read_lines(part, (from, to), &mut buffer);
                        let result = result.map(|bytes| work(Chunk { part, bytes }));
                        if sender.send((index, result)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let (mut waiting, mut due) = (BTreeMap::new(), 0);
            for (index, result) in receiver {
                waiting.insert(index, result);
                while let Some(result) = waiting.remove(&due) {
                    due += 1;
                    if each(result?).is_break() {
                        return Ok(());
                    }
                }
            }
            Ok(())
        })
    }

    fn ranges(&self) -> Vec<(usize, u64, u64)> {
        let of_part = |(part, file): (usize, &Part)| {
            let size = file.size;
            (0..size.div_ceil(CHUNK)).map(move |n| (part, n * CHUNK, size.min((n + 1) * CHUNK)))
        };
        self.files.iter().enumerate().flat_map(of_part).collect()
    }

    /// The lines that begin in a range; the last one is read to its end, wherever that is.
    fn read_lines<'b>(
        &self,
        part: usize,
        (from, to): (u64, u64),
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], AuditError> {
        let Part { path, file, size, .. } = &self.files[part];
        let reading = |source| AuditError::File { path: path.clone(), doing: "read", source };
        // With the byte before the range, a line that begins with it is seen to begin there.
        let start = from.saturating_sub(1);
        let mut extra = LONGEST_LINE as u64;
        loop {
            let end = to.saturating_add(extra).min(*size);
            let length = usize::try_from(end - start).map_err(|error| reading(io::Error::other(error)))?;
            if buffer.len() < length {
                buffer.resize(length, 0);
            }
            file.read_exact_at(&mut buffer[..length], start).map_err(reading)?;
            let inside = usize::try_from(to - start).unwrap_or(length);
            let last_end = match memchr(b'\n', &buffer[inside - 1..length]) {
                Some(at) => inside + at,
                None if end == *size => length,
                // No line of ours is so long; whatever it is, it is read whole.
                None => {
                    extra = extra.saturating_mul(4);
                    continue;
                }
            };
            let first = if from == 0 { Some(0) } else { memchr(b'\n', &buffer[..inside]).map(|at| at + 1) };
            return Ok(first.and_then(|first| buffer[..length].get(first..last_end)).unwrap_or_default());
        }
    }
}

/// The lines of a chunk, without their line ends.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        Some(line)
    })
}

/// The line around a byte, and where the next one begins.
pub(crate) fn line_around(bytes: &[u8], at: usize) -> (&[u8], usize) {
    let start = memrchr(b'\n', &bytes[..at]).map_or(0, |before| before + 1);
    let end = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |after| at + after);
    (&bytes[start..end], end + 1)
}

impl Snapshot {
    /// The last `count` lines that `wanted` accepts, oldest first.
    pub fn last(&self, count: usize, wanted: impl Fn(&[u8]) -> bool) -> Result<Vec<Vec<u8>>, AuditError> {
        let mut found = Vec::new();
        let mut buffer = Vec::new();
        for (part, from, to) in self.ranges().into_iter().rev() {
            let chunk = self.read_lines(part, (from, to), &mut buffer)?;
            let mut here: Vec<&[u8]> = lines(chunk).filter(|line| wanted(line)).collect();
            while let Some(line) = here.pop().filter(|_| found.len() < count) {
                found.push(line.to_vec());
            }
            if found.len() >= count {
                break;
            }
        }
        found.reverse();
        Ok(found)
    }
}
