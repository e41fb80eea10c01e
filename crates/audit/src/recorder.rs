//! The writer: a record is in the file before the call returns.
//!
//! All processes of a user write one chain. A chain per process was rejected: a file that is removed whole
//! would not be missed, thousands of short runs would leave thousands of files, and nothing would order them.
//! The price is a lock around each record, held for two small writes. While no other process writes, one look
//! at the length of the file tells that nothing has changed, and nothing is read.
//!
//! `write(2)` has returned when [`Recorder::record`] returns, so no death of a process loses a record. A loss
//! of power may lose the last seconds, unless [`Durability::Power`] is asked for, at the price of a disk's own
//! time per record.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use cofferdam_linux_sys::private::PrivateDir;
use rustix::fs::{Stat, fstat};

use crate::chain::{self, Link, Sealed};
use crate::error::AuditError;
use crate::event::{Event, RecordClosed, RecordOpened, RecordsUnwritten};
use crate::fields::Summary;
use crate::files;
use crate::head::{self, Head, Share};
use crate::outside::Label;
use crate::recover::{Recovered, recover};
use crate::time::Moment;

#[derive(Debug, Clone)]
pub struct Settings {
    pub on_write_failure: OnWriteFailure,
    pub durability: Durability,
    /// A file that has reached this length is followed by a new one.
    pub file_bytes: u64,
    /// So many files are kept; older ones go when a new one begins.
    pub keep_files: usize,
    /// A file whose last record is older than this goes as well, when a new one begins.
    pub keep_age: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            on_write_failure: OnWriteFailure::Refuse,
            durability: Durability::Process,
            file_bytes: 64 << 20,
            keep_files: 32,
            keep_age: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnWriteFailure {
    /// What cannot be recorded does not happen.
    Refuse,
    /// It happens; it is counted, the caller is told, and the next record that can be written says how many
    /// are missing.
    Continue,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Survives the death of every process.
    Process,
    /// Survives a loss of power.
    Power,
}

/// The proof that an event was recorded, or that the policy is to go on without. Only [`Recorder`] makes one.
#[derive(Debug)]
#[must_use = "an event that was not written has to be reported somewhere else"]
pub struct Recorded {
    written: Result<Link, AuditError>,
}

impl Recorded {
    /// Where the record stands, or why it was not written.
    pub fn place(&self) -> Result<Link, &AuditError> {
        self.written.as_ref().copied()
    }
}

/// Writes the record of one directory. Shared by all threads of a process.
#[derive(Debug)]
pub struct Recorder {
    settings: Settings,
    path: PathBuf,
    writer: Mutex<Writer>,
    /// Whether the last attempt to write failed.
    failing: AtomicBool,
    /// All that was never written because the policy is to go on without.
    lost: AtomicU64,
}

#[derive(Debug)]
struct Writer {
    directory: PrivateDir,
    head_file: File,
    file: File,
    head: Head,
    /// The head of files that are gone.
    remembered: Option<Head>,
    unwritten: u64,
    line: Vec<u8>,
    head_line: Vec<u8>,
}

impl Recorder {
    /// Opens the record below `path`, or begins one.
    pub fn open(path: &Path, settings: Settings) -> Result<Self, AuditError> {
        let writer = Writer::open(path)?;
        let (failing, lost) = (AtomicBool::new(false), AtomicU64::new(0));
        let recorder = Self { settings, path: path.to_owned(), writer: Mutex::new(writer), failing, lost };
        recorder.with_lock(|_, _| Ok(()))?;
        Ok(recorder)
    }

    /// Writes one event. With [`OnWriteFailure::Refuse`] an error means: do not do it.
    pub fn record(&self, session: Option<&Label>, event: &Event) -> Result<Recorded, AuditError> {
        let written = self.with_lock(|writer, settings| {
            writer.write_unwritten(settings)?;
            writer.write(session, event, settings)
        });
        match (written, self.settings.on_write_failure) {
            (Ok(link), _) => Ok(Recorded { written: Ok(link) }),
            (Err(error), OnWriteFailure::Refuse) => Err(error),
            (Err(error), OnWriteFailure::Continue) => {
                self.lose(1);
                Ok(Recorded { written: Err(error) })
            }
        }
    }

    /// Writes several events with one write, all or none: what a record costs is its system calls, and those who
    /// come at the same time share them.
    pub fn record_all<'e>(
        &self,
        events: impl ExactSizeIterator<Item = (Option<&'e Label>, &'e Event)>,
    ) -> Result<(), AuditError> {
        let count = events.len() as u64;
        let written = self.with_lock(|writer, settings| {
            writer.write_unwritten(settings)?;
            writer.make_room(settings)?;
            writer.write_lines(events, settings)
        });
        match (written, self.settings.on_write_failure) {
            (Ok(_), _) => Ok(()),
            (Err(error), OnWriteFailure::Refuse) => Err(error),
            (Err(_), OnWriteFailure::Continue) => {
                self.lose(count);
                Ok(())
            }
        }
    }

    fn lose(&self, count: u64) {
        self.writer().unwritten += count;
        self.lost.fetch_add(count, Ordering::Relaxed);
    }

    /// Whether what is recorded is being written, as far as the last attempt shows.
    pub fn is_written(&self) -> bool {
        !self.failing.load(Ordering::Relaxed)
    }

    /// How many events this recorder has never written, because the policy is to go on without.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// How many events have not been written since the last one that was.
    pub fn unwritten(&self) -> u64 {
        self.writer().unwritten
    }

    /// Makes all that was written so far survive a loss of power.
    pub fn sync(&self) -> Result<(), AuditError> {
        let writer = self.writer();
        writer
            .file
            .sync_data()
            .and_then(|()| writer.head_file.sync_data())
            .map_err(|e| writer.failed("sync", e))
    }

    /// A writer that panicked left its head as it was before the record, which is what is in the file.
    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_lock<T>(
        &self,
        work: impl FnOnce(&mut Writer, &Settings) -> Result<T, AuditError>,
    ) -> Result<T, AuditError> {
        let mut writer = self.writer();
        head::lock(&writer.head_file, Share::Alone, &self.path)?;
        let done = self.catch_up(&mut writer).and_then(|()| work(&mut writer, &self.settings));
        let unlocked = writer.head_file.unlock().map_err(|source| writer.failed("unlock", source));
        let done = done.and_then(|value| unlocked.map(|()| value));
        self.failing.store(done.is_err(), Ordering::Relaxed);
        done
    }

    fn catch_up(&self, writer: &mut Writer) -> Result<(), AuditError> {
        let stat = writer.look()?;
        if writer.is_removed(&stat)? {
            // Somebody took the files away under a running process. What it remembers goes into new ones.
            let (remembered, unwritten) = (writer.remembered.or(Some(writer.head)), writer.unwritten);
            *writer = Writer { unwritten, remembered, ..Writer::open(&self.path)? };
            head::lock(&writer.head_file, Share::Alone, &self.path)?;
        }
        writer.catch_up(&stat, &self.settings)
    }
}

impl Writer {
    /// Nothing is read yet, because that needs the lock: the file is another view of the head's until then, and
    /// no file has the length that is expected of it, so the first thing to happen is to catch up.
    fn open(path: &Path) -> Result<Self, AuditError> {
        let directory = PrivateDir::open_or_create(path)?;
        let head_file = directory.open_update(head::NAME)?;
        let file = directory.open_read(head::NAME)?;
        let head = Head { end: u64::MAX, ..Head::START };
        let (line, head_line) = (Vec::with_capacity(1024), Vec::with_capacity(256));
        Ok(Self { directory, head_file, file, head, remembered: None, unwritten: 0, line, head_line })
    }

    fn look(&self) -> Result<Stat, AuditError> {
        fstat(&self.file).map_err(|errno| self.failed("examine", errno.into()))
    }

    /// The directory goes with all its files, so the file alone tells at once. The head's own file is looked at
    /// now and then only, because what a record costs is its system calls.
    fn is_removed(&self, stat: &Stat) -> Result<bool, AuditError> {
        if stat.st_nlink == 0 || !self.head.link.seq.is_multiple_of(64) {
            return Ok(stat.st_nlink == 0);
        }
        let head = fstat(&self.head_file).map_err(|errno| self.failed("examine", errno.into()))?;
        Ok(head.st_nlink == 0)
    }

    /// Goes to the end of what other processes have written.
    fn catch_up(&mut self, stat: &Stat, settings: &Settings) -> Result<(), AuditError> {
        if u64::try_from(stat.st_size) == Ok(self.head.end) {
            return Ok(());
        }
        let stored = Head::read(&self.head_file).map_err(|source| self.failed("read", source))?;
        let Recovered { file, head, notes } = recover(&self.directory, stored.or(self.remembered))?;
        (self.file, self.head) = (file, head);
        self.begin_file(settings)?;
        self.remembered = None;
        notes.iter().try_for_each(|note| self.write_line(None, note, settings).map(drop))
    }

    fn write_unwritten(&mut self, settings: &Settings) -> Result<(), AuditError> {
        if self.unwritten > 0 {
            let event = RecordsUnwritten { count: self.unwritten };
            self.write(None, &event.into(), settings)?;
            self.unwritten = 0;
        }
        Ok(())
    }

    fn write(
        &mut self,
        session: Option<&Label>,
        event: &Event,
        settings: &Settings,
    ) -> Result<Link, AuditError> {
        self.make_room(settings)?;
        self.write_line(session, event, settings)
    }

    fn make_room(&mut self, settings: &Settings) -> Result<(), AuditError> {
        if self.head.end >= settings.file_bytes {
            self.rotate(settings)?;
        }
        self.begin_file(settings)
    }

    fn write_line(
        &mut self,
        session: Option<&Label>,
        event: &Event,
        settings: &Settings,
    ) -> Result<Link, AuditError> {
        self.write_lines([(session, event)], settings)
    }

    /// The records first, then the head: in the other order a death in between would look like a theft.
    fn write_lines<'e>(
        &mut self,
        events: impl IntoIterator<Item = (Option<&'e Label>, &'e Event)>,
        settings: &Settings,
    ) -> Result<Link, AuditError> {
        let mut link = self.head.link;
        self.line.clear();
        let now = Moment::now().to_text();
        for (session, event) in events {
            link =
                chain::write_line(&mut self.line, (link, &now), session, event).map_err(AuditError::Event)?;
        }
        let head = Head { link, file: self.head.file, end: self.head.end + self.line.len() as u64 };
        let written = self
            .file
            .write_all(&self.line)
            .and_then(|()| head.write(&self.head_file, &mut self.head_line))
            .and_then(|()| match settings.durability {
                Durability::Process => Ok(()),
                Durability::Power => self.file.sync_data().and_then(|()| self.head_file.sync_data()),
            });
        if let Err(source) = written {
            // A part of a line may be there. If it cannot be taken away now, the next process does it.
            let _ = self.file.set_len(self.head.end);
            let _ = self.head.write(&self.head_file, &mut self.head_line);
            return Err(self.failed("write", source));
        }
        self.head = head;
        Ok(link)
    }

    /// Closes the file with a line of its own, so that other processes see its length change.
    fn rotate(&mut self, settings: &Settings) -> Result<(), AuditError> {
        let next = self.head.file + 1;
        self.write_line(None, &RecordClosed { next_file: next }.into(), settings)?;
        self.file = self.directory.open_append(&files::name(next))?;
        self.head = Head { link: self.head.link, file: next, end: 0 };
        Ok(())
    }

    /// Writes the first line of an empty file. What rotation takes away is named there before it goes.
    fn begin_file(&mut self, settings: &Settings) -> Result<(), AuditError> {
        if self.head.end > 0 {
            return Ok(());
        }
        let (going, kept) = self.split_by_age(settings)?;
        let removed = if going.is_empty() { None } else { self.first_link(kept)? };
        let (removed_through, removed_hash) = removed.map(|link| (link.seq, link.hash)).unzip();
        self.write_line(None, &RecordOpened { removed_through, removed_hash }.into(), settings)?;
        let going = if removed.is_some() { going } else { Vec::new() };
        going.into_iter().try_for_each(|number| Ok(self.directory.remove(&files::name(number))?))
    }

    /// The files that are to go, and the first that stays.
    fn split_by_age(&self, settings: &Settings) -> Result<(Vec<u64>, u64), AuditError> {
        let numbers = files::numbers(&self.directory)?;
        let mut going = numbers.len().saturating_sub(settings.keep_files.max(2));
        if let Some(age) = settings.keep_age {
            let limit = SystemTime::now().checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH);
            while going + 1 < numbers.len() && self.last_change(numbers[going])? < limit {
                going += 1;
            }
        }
        let kept = numbers.get(going).copied().unwrap_or(self.head.file);
        Ok((numbers[..going].to_vec(), kept))
    }

    fn last_change(&self, number: u64) -> Result<SystemTime, AuditError> {
        let file = self.directory.open_read(&files::name(number))?;
        file.metadata().and_then(|data| data.modified()).map_err(|source| self.failed("examine", source))
    }

    /// The record before the first one of a file.
    fn first_link(&self, number: u64) -> Result<Option<Link>, AuditError> {
        if number == self.head.file {
            return Ok(Some(self.head.link));
        }
        let file = self.directory.open_read(&files::name(number))?;
        let mut start = Vec::new();
        file.take(chain::LONGEST_LINE as u64)
            .read_to_end(&mut start)
            .map_err(|source| self.failed("read", source))?;
        let line = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
        Ok(Sealed::parse(line).and_then(|sealed| {
            let seq = Summary::of(sealed.body)?.seq.checked_sub(1)?;
            Some(Link { seq, hash: sealed.prev })
        }))
    }

    fn failed(&self, doing: &'static str, source: io::Error) -> AuditError {
        AuditError::File { path: self.directory.path().join(files::name(self.head.file)), doing, source }
    }
}
