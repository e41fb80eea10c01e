//! Whether the record is as it was written.
//!
//! A line vouches for itself with its hash, and for the line before it with `prev`; so every core checks lines
//! of its own, and only the links between them are followed in order.

use std::ops::ControlFlow;
use std::path::PathBuf;

use serde::Serialize;

use crate::chain::{Hash, Link, Sealed};
use crate::error::AuditError;
use crate::event::Interruption;
use crate::fields::{self, Fields, Summary};
use crate::snapshot::{Chunk, Snapshot};

#[derive(Debug, Serialize)]
pub struct Verification {
    pub records: u64,
    pub files: usize,
    /// Where the record ends: worth noting elsewhere.
    pub head: Option<Link>,
    /// Records that rotation has taken away, as the record itself says.
    pub removed_through: u64,
    pub findings: Vec<Finding>,
    /// What is not in order and yet no sign of a foreign hand.
    pub notes: Vec<Note>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub file: PathBuf,
    /// Counted from one; none if it is about the file.
    pub line: Option<u64>,
    #[serde(flatten)]
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum What {
    /// The line is not a record.
    NotARecord,
    /// The line does not have the hash that it carries.
    Altered {
        seq: u64,
    },
    /// Records between the line before and this one are not there.
    Removed {
        from: u64,
        through: u64,
    },
    /// The record stands after one that was written later.
    Moved {
        seq: u64,
    },
    /// There are two records of this number.
    Inserted {
        seq: u64,
    },
    /// The line is whole, but the one before it is not the one that it was written after.
    Replaced {
        seq: u64,
    },
    /// Records at the end are not there, although the head knows them.
    Truncated {
        from: u64,
        through: u64,
    },
    /// The last record is not the one that the head names.
    HeadDiffers {
        seq: u64,
    },
    HeadMissing,
    /// A writer found no head. What was cut off with it, if anything was, cannot be known.
    HeadWasMissing {
        seq: u64,
    },
    /// The place noted elsewhere is not in this record.
    NotedPlaceMissing,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "note", rename_all = "kebab-case")]
pub enum Note {
    /// A writer died within a line; the next one repairs it.
    IncompleteLine { bytes: u64 },
    /// A writer died between a record and the head; the next one makes up for it.
    HeadBehind { records: u64 },
}

/// A place in the chain that somebody noted elsewhere: its hash, or `NUMBER:HASH`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noted {
    seq: Option<u64>,
    hash: Hash,
}

impl Noted {
    pub fn parse(text: &str) -> Option<Self> {
        let (seq, hash) = match text.split_once(':') {
            Some((seq, hash)) => (Some(seq.parse().ok()?), hash),
            None => (None, text),
        };
        Some(Self { seq, hash: Hash::parse(hash.to_ascii_lowercase().as_bytes())? })
    }

    fn is(&self, link: Link) -> bool {
        link.hash == self.hash && self.seq.is_none_or(|seq| seq == link.seq)
    }
}

/// What a core found out about one line.
#[derive(Clone, Copy)]
enum Fact {
    Incomplete(u64),
    NotARecord,
    Line { intact: bool, link: Link, prev: Hash, says: Option<Says> },
}

/// What a record says about the record.
#[derive(Clone, Copy)]
enum Says {
    Removed(Link),
    HeadMissing,
}

impl Snapshot {
    pub fn verify(&self, noted: Option<Noted>) -> Result<Verification, AuditError> {
        let mut walk = Walk::new(self, noted);
        self.in_order(
            |chunk| (chunk.part, facts(chunk)),
            |(part, facts)| {
                facts.into_iter().for_each(|fact| walk.add(part, fact));
                ControlFlow::Continue(())
            },
        )?;
        Ok(walk.finish())
    }
}

fn facts(chunk: Chunk<'_>) -> Vec<Fact> {
    let lines = chunk.bytes.split_inclusive(|&byte| byte == b'\n');
    lines
        .map(|line| match line.strip_suffix(b"\n") {
            None => Fact::Incomplete(line.len() as u64),
            Some(line) => fact(line).unwrap_or(Fact::NotARecord),
        })
        .collect()
}

fn fact(line: &[u8]) -> Option<Fact> {
    let sealed = Sealed::parse(line)?;
    let summary = Summary::of(sealed.body)?;
    let link = Link { seq: summary.seq, hash: sealed.hash };
    let says = match summary.kind {
        b"record-opened" => removed(sealed.body).map(Says::Removed),
        b"record-interrupted" => head_missing(sealed.body).then_some(Says::HeadMissing),
        _ => None,
    };
    Some(Fact::Line { intact: sealed.is_intact(), link, prev: sealed.prev, says })
}

fn head_missing(body: &[u8]) -> bool {
    let cause = Fields::get(body, "cause").and_then(fields::unquoted);
    cause == Some(Interruption::HeadMissing.name().as_bytes())
}

fn removed(body: &[u8]) -> Option<Link> {
    let seq = fields::number(Fields::get(body, "removed_through")?)?;
    let hash = Hash::parse(fields::unquoted(Fields::get(body, "removed_hash")?)?)?;
    Some(Link { seq, hash })
}

/// The links, followed in order.
struct Walk<'a> {
    snapshot: &'a Snapshot,
    noted: Option<Noted>,
    noted_seen: bool,
    part: usize,
    line: u64,
    records: u64,
    /// The furthest place that was reached.
    link: Link,
    /// A second record of the same number: the next line may follow either.
    twin: Option<Hash>,
    first: Option<(u64, Hash)>,
    removed: Link,
    findings: Vec<Finding>,
    notes: Vec<Note>,
}

impl<'a> Walk<'a> {
    fn new(snapshot: &'a Snapshot, noted: Option<Noted>) -> Self {
        Self {
            snapshot,
            noted,
            noted_seen: false,
            part: 0,
            line: 0,
            records: 0,
            link: Link::START,
            twin: None,
            first: None,
            removed: Link::START,
            findings: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn add(&mut self, part: usize, fact: Fact) {
        if part != self.part {
            (self.part, self.line) = (part, 0);
        }
        self.line += 1;
        match fact {
            // Only the file that is being written may end like this; in another one a record is missing, which
            // the links show.
            Fact::Incomplete(bytes) if part + 1 == self.snapshot.files.len() => {
                self.notes.push(Note::IncompleteLine { bytes });
            }
            Fact::Incomplete(_) | Fact::NotARecord => self.find(What::NotARecord),
            Fact::Line { intact, link, prev, says } => {
                self.records += 1;
                self.follow(intact, link, prev);
                self.noted_seen |= intact && self.noted.is_some_and(|noted| noted.is(link));
                match says.filter(|_| intact) {
                    Some(Says::Removed(removed)) if removed.seq > self.removed.seq => self.removed = removed,
                    Some(Says::HeadMissing) => self.find(What::HeadWasMissing { seq: link.seq }),
                    Some(Says::Removed(_)) | None => {}
                }
            }
        }
    }

    fn follow(&mut self, intact: bool, link: Link, prev: Hash) {
        if self.first.is_none() {
            // Whether records before the first line may be missing is known at the end.
            self.first = Some((link.seq, prev));
            self.link = Link { seq: link.seq.saturating_sub(1), hash: prev };
        }
        let follows = prev == self.link.hash || self.twin == Some(prev);
        let expected = self.link.seq + 1;
        if !intact {
            self.find(What::Altered { seq: expected });
            // Its number may be what was altered; its hash is what the next line was written after.
            (self.link, self.twin) = (Link { seq: expected, hash: link.hash }, None);
            return;
        }
        if link.seq == expected && follows {
            (self.link, self.twin) = (link, None);
        } else if link.seq == expected {
            self.find(What::Replaced { seq: link.seq.saturating_sub(1) });
            (self.link, self.twin) = (link, None);
        } else if link.seq > expected {
            self.find(What::Removed { from: expected, through: link.seq - 1 });
            (self.link, self.twin) = (link, None);
        } else if link.seq == self.link.seq {
            self.find(What::Inserted { seq: link.seq });
            self.twin = Some(link.hash);
        } else {
            self.moved(link.seq);
        }
    }

    /// A record that was missed earlier and turns up now was moved, not removed.
    fn moved(&mut self, seq: u64) {
        let missed = |finding: &Finding| matches!(finding.what, What::Removed { from, through } if from <= seq && seq <= through);
        let Some(at) = self.findings.iter().position(missed) else {
            return self.find(What::Inserted { seq });
        };
        if let What::Removed { from, through } = self.findings[at].what {
            let whole = self.findings.remove(at);
            let rest =
                [(from, seq - 1), (seq + 1, through)].into_iter().filter(|(from, through)| from <= through);
            for (from, through) in rest {
                self.findings.push(Finding { what: What::Removed { from, through }, ..whole.clone() });
            }
        }
        self.find(What::Moved { seq });
    }

    fn find(&mut self, what: What) {
        let finding = self.place(Some(self.line), what);
        self.findings.push(finding);
    }

    fn place(&self, line: Option<u64>, what: What) -> Finding {
        let file = self.snapshot.files.get(self.part).map_or(&self.snapshot.path, |part| &part.path).clone();
        Finding { file, line, what }
    }

    fn finish(mut self) -> Verification {
        self.check_start();
        self.check_end();
        if self.noted.is_some_and(|noted| !self.noted_seen && !noted.is(self.removed)) {
            let finding = self.place(None, What::NotedPlaceMissing);
            self.findings.push(finding);
        }
        Verification {
            records: self.records,
            files: self.snapshot.files.len(),
            head: self.snapshot.head.map(|head| head.link),
            removed_through: self.first.map_or(0, |(seq, _)| seq.saturating_sub(1)),
            findings: self.findings,
            notes: self.notes,
        }
    }

    /// Records before the first line may be gone only if rotation says so further on. It names the last one
    /// that goes before it removes files one by one, so it may have been stopped before the last of them.
    fn check_start(&mut self) {
        let Some((seq, prev)) = self.first else { return };
        let before = seq.saturating_sub(1);
        let in_order = match before {
            0 => prev == Hash::NONE,
            _ => before < self.removed.seq || self.removed == Link { seq: before, hash: prev },
        };
        if !in_order {
            let file = self.snapshot.files.first().map(|part| part.path.clone()).unwrap_or_default();
            let what = What::Removed { from: self.removed.seq + 1, through: before };
            self.findings.insert(0, Finding { file, line: Some(1), what });
        }
    }

    fn check_end(&mut self) {
        let Some(head) = self.snapshot.head else {
            let finding = self.place(None, What::HeadMissing);
            return self.findings.push(finding);
        };
        let known = head.link.seq;
        let what = match self.link.seq.cmp(&known) {
            std::cmp::Ordering::Less => What::Truncated { from: self.link.seq + 1, through: known },
            std::cmp::Ordering::Equal if self.link.hash == head.link.hash => return,
            std::cmp::Ordering::Equal => What::HeadDiffers { seq: known },
            std::cmp::Ordering::Greater => {
                let records = self.link.seq - known;
                return self.notes.push(Note::HeadBehind { records });
            }
        };
        let finding = self.place(None, what);
        self.findings.push(finding);
    }
}
