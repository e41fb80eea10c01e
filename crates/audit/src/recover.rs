//! Where to go on: the head compared with what is really in the files.
//!
//! Called with the lock held, when a recorder opens and whenever the file is not as this process left it.
//!
//! * Another process wrote: its records are followed to the end.
//! * A writer died after a record and before its head: the record counts.
//! * A writer died within a line: nobody was told of it, so the part is taken away, and a record says so.
//! * Anything else (a file is gone, shorter, or different) is what a loss of power or somebody's hand leaves.
//!   The record goes on in a new file, chained to the head, and says so. Refusing to go on was rejected: it
//!   would let anybody who can touch the files stop all work, and a loss of power too. The gap stays for
//!   `verify` to find.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use cofferdam_linux_sys::private::PrivateDir;

use crate::chain::{LONGEST_LINE, Link, Sealed};
use crate::error::AuditError;
use crate::event::{Event, Interruption, Kind, RecordInterrupted, RecordRepaired};
use crate::fields::Summary;
use crate::files;
use crate::head::Head;

/// What nearly every line fits into. More is read only for one that does not: memory that was never used comes page by
/// page, and for the longest line that takes longer than all else that is done here.
const MOST_LINES: u64 = 4 << 10;

/// The file to write to, where its end is, and what has to be told first.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub file: File,
    pub head: Head,
    pub notes: Vec<Event>,
}

/// `head` is what the head's file says; without one, what this process remembers, if it wrote before.
pub(crate) fn recover(directory: &PrivateDir, head: Option<Head>) -> Result<Recovered, AuditError> {
    let numbers = files::numbers(directory)?;
    let newest = numbers.last().copied();
    match (head, newest) {
        (None, None) => {
            let file = directory.open_append(&files::name(Head::START.file))?;
            Ok(Recovered { file, head: Head::START, notes: Vec::new() })
        }
        (None, Some(newest)) => {
            let link = last_link(directory, newest)?.unwrap_or(Link::START);
            let head = Head { link, file: newest, end: 0 };
            start_anew(directory, head, (newest, Interruption::HeadMissing))
        }
        (Some(head), newest) => match follow(directory, head, &numbers)? {
            Followed::ToTheEnd(recovered) => Ok(recovered),
            Followed::Until(head, cause) => {
                start_anew(directory, head, (newest.unwrap_or(head.file).max(head.file), cause))
            }
        },
    }
}

enum Followed {
    ToTheEnd(Recovered),
    Until(Head, Interruption),
}

/// `numbers` are those of the files that are there.
fn follow(directory: &PrivateDir, mut head: Head, numbers: &[u64]) -> Result<Followed, AuditError> {
    let mut notes = Vec::new();
    loop {
        let name = files::name(head.file);
        let is_new = head.end == 0;
        if !is_new && !numbers.contains(&head.file) {
            return Ok(Followed::Until(head, Interruption::FileMissing));
        }
        let file = directory.open_append(&name)?;
        let reading = |source| AuditError::File { path: directory.path().join(&name), doing: "read", source };
        let size = file.metadata().map_err(reading)?.len();
        if size < head.end {
            return Ok(Followed::Until(head, Interruption::FileShortened));
        }
        let Some(mut closed) = closed_at(&file, head).map_err(reading)? else {
            return Ok(Followed::Until(head, Interruption::FileAltered));
        };
        let rest = read_range(&file, head.end, size).map_err(reading)?;
        for line in rest.split_inclusive(|&byte| byte == b'\n') {
            let Some(line) = line.strip_suffix(b"\n") else {
                let bytes = line.len() as u64;
                file.set_len(head.end).map_err(reading)?;
                notes.push(RecordRepaired { file: head.file, bytes }.into());
                continue;
            };
            let Some((link, kind)) = next_link(line, head.link) else {
                return Ok(Followed::Until(head, Interruption::FileAltered));
            };
            head.link = link;
            head.end += line.len() as u64 + 1;
            closed = kind == Some(Kind::RecordClosed);
        }
        if !closed {
            return Ok(Followed::ToTheEnd(Recovered { file, head, notes }));
        }
        head = Head { link: head.link, file: head.file + 1, end: 0 };
    }
}

/// Whether the line that ends where the head says is the one that closes the file; `None` if it is not the
/// line that the head means.
fn closed_at(file: &File, head: Head) -> io::Result<Option<bool>> {
    if head.end == 0 {
        return Ok(Some(false));
    }
    let mut reach = MOST_LINES;
    let line = loop {
        let from = head.end.saturating_sub(reach);
        let mut before = read_range(file, from, head.end)?;
        if before.pop() != Some(b'\n') {
            return Ok(None);
        }
        // By hand: to ask what the processor can do takes longer than to look at one line.
        match before.iter().rposition(|&byte| byte == b'\n') {
            Some(end) => break before.split_off(end + 1),
            None if from == 0 || reach == LONGEST_LINE as u64 => break before,
            None => reach = LONGEST_LINE as u64,
        }
    };
    let is_meant = Sealed::parse(&line).is_some_and(|line| line.hash == head.link.hash && line.is_intact());
    Ok(is_meant.then(|| kind(&line) == Some(Kind::RecordClosed)))
}

fn next_link(line: &[u8], after: Link) -> Option<(Link, Option<Kind>)> {
    let sealed = Sealed::parse(line)?;
    let seq = Summary::of(sealed.body)?.seq;
    let follows = sealed.prev == after.hash && seq == after.seq + 1 && sealed.is_intact();
    follows.then(|| (Link { seq, hash: sealed.hash }, kind(line)))
}

fn kind(line: &[u8]) -> Option<Kind> {
    Kind::from_name(std::str::from_utf8(Summary::of(line)?.kind).ok()?)
}

fn start_anew(
    directory: &PrivateDir,
    head: Head,
    (newest, cause): (u64, Interruption),
) -> Result<Recovered, AuditError> {
    let number = newest + 1;
    let file = directory.create_new(&files::name(number))?;
    let notes = vec![RecordInterrupted { cause, file: head.file }.into()];
    Ok(Recovered { file, head: Head { link: head.link, file: number, end: 0 }, notes })
}

/// The place of the last whole line of a file, if it is a record.
fn last_link(directory: &PrivateDir, number: u64) -> Result<Option<Link>, AuditError> {
    let name = files::name(number);
    let file = directory.open_read(&name)?;
    let reading = |source| AuditError::File { path: directory.path().join(&name), doing: "read", source };
    let size = file.metadata().map_err(reading)?.len();
    let tail = read_range(&file, size.saturating_sub(2 * LONGEST_LINE as u64), size).map_err(reading)?;
    let lines = tail.split_inclusive(|&byte| byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"));
    let mut links = lines.filter_map(|line| {
        let sealed = Sealed::parse(line)?;
        Some(Link { seq: Summary::of(sealed.body)?.seq, hash: sealed.hash })
    });
    Ok(links.next_back())
}

fn read_range(file: &File, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(to.saturating_sub(from)).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, from)?;
    Ok(bytes)
}
